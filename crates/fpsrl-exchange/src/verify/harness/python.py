"""Runs an exported controller over the states that come in, a line a state; one that adds up is told first if it is reset."""
import importlib.util
import json
import sys

specification = importlib.util.spec_from_file_location("controller", sys.argv[1])
module = importlib.util.module_from_spec(specification)
sys.dont_write_bytecode = True
specification.loader.exec_module(module)
sums = json.load(open(sys.argv[2], encoding="utf-8"))["sums"]
controller = module.Controller()
for line in sys.stdin:
    numbers = [float(word) for word in line.split()]
    if sums and numbers.pop(0):
        controller.reset()
    actions, outside = controller.step(*numbers)
    print(*(repr(float(action)) for action in actions), int(outside))
