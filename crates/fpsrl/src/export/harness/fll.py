"""Runs exported rules over the states that come in, a line a state. What comes out is what the rules give."""
import json
import sys

try:
    import fuzzylite
    import numpy as np
except ImportError as missing:
    sys.stderr.write(f"the Python package {'pyfuzzylite' if missing.name == 'fuzzylite' else missing.name} is not installed")
    sys.exit(3)

path, interface = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
engine = fuzzylite.FllImporter().from_string(open(path, encoding="utf-8").read())
states = np.array([[float(word) for word in line.split()] for line in sys.stdin])
errors = []
if not engine.is_ready(errors):
    raise SystemExit(f"fuzzylite refuses it: {errors}")
for variable, name in enumerate(interface["names"]["states"]):
    engine.input_variable(name).value = states[:, variable]
with np.errstate(all="ignore"):
    engine.process()
outputs = [np.atleast_1d(engine.output_variable(name).value) for name in interface["names"]["actions"]]
for row in zip(*outputs):
    print(*(repr(float(value)) for value in row), 0)
from importlib.metadata import version
sys.stderr.write(f"pyfuzzylite {version('pyfuzzylite')}")
