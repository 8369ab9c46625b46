"""The examples of docs/python.md run as they stand, one after the other, in one namespace.

Some need something that a reader has: a log, for instance. A remark before such an example, which no page shows, makes it:

    <!-- before
    code that runs before the example
    -->

What these remarks may use stands in `Tools`.
"""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fpsrl
from conftest import tank_log

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


class Example(NamedTuple):
    line: int
    before: str
    code: str


def examples() -> list[Example]:
    text = PAGE.read_text(encoding="utf-8")
    pattern = r"(?:<!-- before\n(?P<before>(?:(?!-->).)*)-->\n)?^```python\n(?P<code>.*?)^```$"
    return [
        Example(text.count("\n", 0, match.start("code")) + 1, match["before"] or "", match["code"])
        for match in re.finditer(pattern, text, flags=re.DOTALL | re.MULTILINE)
    ]


def tools(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """What the remarks may use."""
    import pandas as pd

    drafted = fpsrl.Problem.draft

    def small(*arguments: Any, **known: Any) -> fpsrl.Problem:
        return drafted(*arguments, **known).replace(horizon=20, members=2, epochs=5, rules=2, budget=30_000)

    module = types.ModuleType("tools")
    module.tank_log = lambda rows: pd.DataFrame(tank_log(rows))  # type: ignore[attr-defined]
    # Drafts have less work to do; everything else in the page says its small budgets itself.
    module.small_drafts = lambda: monkeypatch.setattr(fpsrl.Problem, "draft", small)  # type: ignore[attr-defined]
    return module


def test_the_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("pandas", "matplotlib", "gymnasium", "sklearn"):
        pytest.importorskip(package, reason=f"the examples of docs/python.md were not run: {package} is not installed")
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "tools", tools(monkeypatch))
    namespace: dict[str, Any] = {"__name__": "docs"}
    for example in examples():
        exec(compile(example.before, "<remark>", "exec"), namespace)
        try:
            # Lines are counted as in the page, so that a traceback points there.
            exec(compile("\n" * (example.line - 1) + example.code, str(PAGE), "exec"), namespace)
        except Exception as error:
            pytest.fail(f"docs/python.md, the example at line {example.line}: {type(error).__name__}: {error}")
    said = capsys.readouterr().out
    for told in ("promises", "IF level is around", "`inf` is not a finite number", "100 level", "transitions"):
        assert told in said
    for path in ("tank.c", "tank.h", "tank.st", "runs/tank/policy.json", "runs/tank/report.html"):
        assert (tmp_path / path).exists()


def test_the_first_example_is_short() -> None:
    first = examples()[0].code.splitlines()
    assert len([line for line in first if line.strip()]) <= 10


def test_no_example_is_overlooked() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert 2 * len(examples()) == 2 * text.count("```python") == text.count("```")


def test_what_the_page_names_is_there() -> None:
    names = set(
        re.findall(r"`(?:fpsrl\.)?((?:Problem|Policy|Run|Worlds|Log|Found)\.[a-z_]+)\b", PAGE.read_text("utf-8"))
    )
    names |= {f"{kind}Error" for kind in re.findall(r"^\| `(\w+)Error`", PAGE.read_text("utf-8"), flags=re.MULTILINE)}
    assert names
    for name in names:
        place: Any = fpsrl
        for part in name.split("."):
            place = getattr(place, part)


def test_links_of_the_page_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", PAGE.read_text(encoding="utf-8"))
    assert links and not [link for link in links if not (PAGE.parent / link).exists()]
