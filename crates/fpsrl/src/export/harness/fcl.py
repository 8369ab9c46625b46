"""Has fuzzylite read exported rules, and runs what it read over the states that come in, a line a state.

fuzzylite itself takes memberships below a millionth for nothing; so it only reads the file, and writes it as FLL with all
digits, which pyfuzzylite runs exactly.
"""
import json
import re
import shutil
import subprocess
import sys

try:
    import fuzzylite
    import numpy as np
except ImportError as missing:
    sys.stderr.write(f"the Python package {'pyfuzzylite' if missing.name == 'fuzzylite' else missing.name} is not installed")
    sys.exit(3)
program = shutil.which("fuzzylite")
if program is None:
    sys.stderr.write("the program fuzzylite is not on this machine")
    sys.exit(3)

path, interface = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
said = subprocess.run(
    [program, "-i", path, "-if", "fcl", "-o", "read.fll", "-of", "fll", "-decimals", "40"], capture_output=True, text=True, check=False
)
# fuzzylite reports what is wrong and ends with 0.
if said.returncode != 0 or "error]" in said.stdout + said.stderr:
    raise SystemExit(f"fuzzylite refuses it: {said.stdout} {said.stderr}")
rules = open("read.fll", encoding="utf-8").read()
# Of the 40 digits that it writes behind the point, pyfuzzylite takes what a double holds.
engine = fuzzylite.FllImporter().from_string(re.sub(r"\bIF\b", "if", rules))
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
from importlib.metadata import version

first = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
found = re.search(r"version: (\S+)", first)
sys.stderr.write(f"read by fuzzylite {found.group(1) if found else ''}, run by pyfuzzylite {version('pyfuzzylite')}")
