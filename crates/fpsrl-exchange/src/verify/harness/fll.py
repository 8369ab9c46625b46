"""Runs exported rules over the states that come in, a line a state. What comes out is what the rules give.

FCL is read by fuzzylite, which takes memberships below a millionth for nothing: so it only writes what it read as FLL, with
all digits, and pyfuzzylite runs that.
"""
import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import version

try:
    import fuzzylite
    import numpy as np
except ImportError as missing:
    sys.stderr.write(f"the Python package {'pyfuzzylite' if missing.name == 'fuzzylite' else missing.name} is not installed")
    sys.exit(3)


def read_by_fuzzylite(path):
    """The rules of an FCL file as FLL, and who read them."""
    program = shutil.which("fuzzylite")
    if program is None:
        sys.stderr.write("the program fuzzylite is not on this machine")
        sys.exit(3)
    arguments = [program, "-i", path, "-if", "fcl", "-o", "read.fll", "-of", "fll", "-decimals", "40"]
    said = subprocess.run(arguments, capture_output=True, text=True, check=False)
    # It reports what is wrong and ends with 0.
    if said.returncode != 0 or "error]" in said.stdout + said.stderr:
        raise SystemExit(f"fuzzylite refuses it: {said.stdout} {said.stderr}")
    about = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version: (\S+)", about)
    return open("read.fll", encoding="utf-8").read(), f"read by fuzzylite {found.group(1) if found else ''}, run by "


path, interface = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
if interface["target"]["format"] == "fcl":
    rules, reader = read_by_fuzzylite(path)
else:
    rules, reader = open(path, encoding="utf-8").read(), ""
engine = fuzzylite.FllImporter().from_string(rules)
states = np.array([[float(word) for word in line.split()] for line in sys.stdin])
errors = []
if not engine.is_ready(errors):
    raise SystemExit(f"pyfuzzylite refuses it: {errors}")
for variable, name in enumerate(interface["names"]["states"]):
    engine.input_variable(name).value = states[:, variable]
with np.errstate(all="ignore"):
    engine.process()
outputs = [np.atleast_1d(engine.output_variable(name).value) for name in interface["names"]["actions"]]
for row in zip(*outputs):
    print(*(repr(float(value)) for value in row), 0)
sys.stderr.write(f"{reader}pyfuzzylite {version('pyfuzzylite')}")
