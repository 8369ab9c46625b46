"""The example in README.md is short, and runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fpsrl
from conftest import tank_log

README = Path(__file__).parents[2] / "README.md"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    log = tank_log(600)
    rows = zip(*(column.tolist() for column in log.values()))
    (tmp_path / "log.csv").write_text("\n".join(["time,level,valve", *(",".join(map(repr, row)) for row in rows)]))
    monkeypatch.chdir(tmp_path)
    drafted = fpsrl.Problem.draft

    def small(*arguments: object, **known: object) -> fpsrl.Problem:
        """The draft with less work to do."""
        draft = drafted(*arguments, **known)  # type: ignore[arg-type]
        return draft.replace(horizon=20, members=2, epochs=5, rules=2, budget=30_000)

    monkeypatch.setattr(fpsrl.Problem, "draft", small)
    exec(compile(example, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "valve" in said and "promises" in said and "IF level" in said
    assert (tmp_path / "controller.c").exists() and (tmp_path / "runs/tank/report.html").exists()
