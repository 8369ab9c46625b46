"""Runs an exported controller over the states that come in, a line a state."""
import importlib.util
import sys

specification = importlib.util.spec_from_file_location("controller", sys.argv[1])
module = importlib.util.module_from_spec(specification)
sys.dont_write_bytecode = True
specification.loader.exec_module(module)
controller = module.Controller()
for line in sys.stdin:
    actions, outside = controller.step(*map(float, line.split()))
    print(*(repr(float(action)) for action in actions), int(outside))
