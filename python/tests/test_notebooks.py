"""Notebooks run from an empty directory, and are committed with what they show."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"

#: What each needs beyond NumPy.
NEEDS = {
    "own_log": ["pandas", "matplotlib"],
    "minari": ["gymnasium", "minari", "h5py", "matplotlib"],
    "expert_rules": ["pandas", "matplotlib"],
    "stable_baselines3": ["gymnasium", "stable_baselines3", "pandas", "matplotlib"],
}


def written(name: str) -> dict[str, Any]:
    return dict(json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")))


def test_every_notebook_is_known_here() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_a_notebook_is_committed_as_it_was_run(name: str) -> None:
    cells = [cell for cell in written(name)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert [output for output in outputs if "image/png" in output.get("data", {})]
    assert (NOTEBOOKS / f"{name}.ipynb").stat().st_size < 300_000


@pytest.mark.parametrize("name", NEEDS)
def test_a_notebook_runs_from_beginning_to_end(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ["nbclient", "ipykernel", *NEEDS[name]]:
        if package == "stable_baselines3":
            # It is there, and cannot be imported, where torch is missing: then its reason is said.
            try:
                importlib.import_module(package)
            except ImportError as error:
                pytest.skip(f"{name}.ipynb was not run: stable-baselines3 cannot be imported: {error}")
        else:
            pytest.importorskip(package, reason=f"{name}.ipynb was not run: {package} is not installed")
    import nbformat
    from nbclient import NotebookClient

    # The kernel draws into the notebook, whatever the tests draw into, and finds the package that is tested.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    root = Path(importlib.import_module("fpsrl").__file__ or "").parents[1]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    told = "".join(output.get("text", "") for output in outputs)
    assert "IF " in told and "THEN " in told
    before = [output for cell in written(name)["cells"] for output in cell.get("outputs", [])]
    assert pictures(outputs) == pictures(before)


def pictures(outputs: list[Any]) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs)
