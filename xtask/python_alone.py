"""The package where nothing but NumPy is installed beside it: its examples run, and so does the command."""

import doctest
import importlib
import pkgutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import fpsrl

others = {"pandas", "polars", "pyarrow", "matplotlib", "tqdm", "gymnasium", "sklearn", "minari", "d3rlpy", "ray"}
assert not others & set(sys.modules), "importing fpsrl imports what it does not need"

needs_more = {"fpsrl.gym", "fpsrl.sklearn"}
tried = 0
for module in pkgutil.iter_modules(fpsrl.__path__, "fpsrl."):
    if module.name in needs_more | {"fpsrl._imitation", "fpsrl.__main__"}:
        continue
    failed, examples = doctest.testmod(importlib.import_module(module.name), raise_on_error=False)
    assert failed == 0, module.name
    tried += examples
failed, examples = doctest.testmod(fpsrl)
assert failed == 0 and tried + examples > 10

for name in sorted(needs_more):
    try:
        importlib.import_module(name)
    except ImportError as error:
        assert "pip install" in str(error), error
    else:
        raise AssertionError(f"{name} does without what it needs?")

try:
    fpsrl.ray.Evaluator()
except fpsrl.ClusterError as error:
    assert "fpsrl[ray]" in str(error), error
else:
    raise AssertionError("there is a Ray without Ray?")

command = Path(sysconfig.get_path("scripts")) / "fpsrl"
said = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout
assert said == f"fpsrl {fpsrl.__version__}\n", said
print(f"{tried + examples} examples and the command run beside nothing but NumPy")
