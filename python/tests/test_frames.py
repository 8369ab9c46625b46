"""Data of any kind as a log: frames of pandas, polars and Arrow, arrays, rows, and the files that they came from."""

from __future__ import annotations

import collections
import csv
import datetime
import decimal
import fractions
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fpsrl
from fpsrl._frames import frames

NAN = np.nan
BERLIN = datetime.timezone(datetime.timedelta(hours=1))
ROWS = 160


def tank(**settings: Any) -> fpsrl.Problem:
    given: dict[str, Any] = {"states": ["level"], "actions": {"valve": (0.0, 1.0)}, "reward": "-abs(level - 1)"}
    return fpsrl.Problem("tank", horizon=20, **{**given, **settings})


def columns() -> dict[str, Any]:
    """A tank that a valve fills."""
    random = np.random.default_rng(0)
    valve = np.repeat(random.uniform(0.0, 1.0, ROWS // 4), 4)
    level = np.zeros(ROWS)
    for row in range(1, ROWS):
        level[row] = 0.95 * level[row - 1] + 0.1 * valve[row - 1] + 0.001 * random.normal()
    return {"level": level, "valve": valve}


def with_cells(values: Any, **cells: Any) -> list[Any]:
    """The same column with other cells in some rows: ``_42=…``."""
    changed = list(values)
    for row, cell in cells.items():
        changed[int(row[1:])] = cell
    return changed


def read(data: Any, title: str = "x", **settings: Any) -> tuple[str, list[float], list[str]]:
    """What becomes of a column."""
    [(found, _)] = frames(data, [title], **settings)
    [(_, kind, values, words)] = found
    assert values.dtype == np.float64 and values.flags.c_contiguous and values.flags.aligned
    return kind, values.tolist(), words


def bits(log: fpsrl.Log) -> dict[str, bytes]:
    """Transitions, to be compared bit for bit."""
    return {name: values.tobytes() for name, values in log.to_dict().items()}


def refused(problem: fpsrl.Problem, data: Any) -> fpsrl.LogError:
    with pytest.raises(fpsrl.LogError) as caught:
        fpsrl.Log(problem, data)
    assert isinstance(caught.value, ValueError) and caught.value.remedy
    return caught.value


def written(path: Path, data: Any) -> Path:
    """A frame as a CSV file."""
    (data if isinstance(data, pd.DataFrame) else pd.DataFrame(data)).to_csv(path, index=False)
    return path


# What cells are.


def numpy_columns() -> list[Any]:
    day, second = np.array(["1970-01-02", "NaT"], dtype="M8[D]"), np.array([86_400, "NaT"], dtype="m8[s]")
    cases: list[Any] = [
        pytest.param(np.array([0, 1, 3], dtype=kind), "number", [0.0, 1.0, 3.0], [], id=f"numpy-{kind}")
        for kind in ("f2", "f4", "f8", ">f8", ">i4", "i1", "u8", "longdouble")
    ]
    cases += [
        pytest.param(day.astype(f"M8[{unit}]"), "time", [86_400.0, NAN], [], id=f"numpy-M8[{unit}]")
        for unit in ("D", "h", "m", "s", "ms", "us", "ns", "10ms")
    ]
    cases += [
        pytest.param(second.astype(f"m8[{unit}]"), "time", [86_400.0, NAN], [], id=f"numpy-m8[{unit}]")
        for unit in ("D", "s", "ms", "us", "ns")
    ]
    others: dict[str, Any] = {
        "bool": (np.array([True, False]), "number", [1.0, 0.0], []),
        "beyond-2^53": (np.array([2**64 - 1, 2**53 + 1], dtype="u8"), "number", [2.0**64, 2.0**53], []),
        "months": (np.array(["1970-02", "NaT"], dtype="M8[M]"), "time", [31 * 86_400.0, NAN], []),
        "years": (np.array(["1971", "9999"], dtype="M8[Y]"), "time", [365 * 86_400.0, 253_370_764_800.0], []),
        "weeks": (np.array(["1970-01-08"], dtype="M8[W]"), "time", [7 * 86_400.0], []),
        "picoseconds": (np.array([1, "NaT"], dtype="M8[ps]"), "time", [1e-12, NAN], []),
        "big-endian-times": (np.array(["1970-01-02"], dtype=">M8[s]"), "time", [86_400.0], []),
        "bytes": (np.array([b"a", b"b", b"a"]), "text", [0.0, 1.0, 0.0], ["a", "b"]),
        "text": (np.array(["b", "a", "NA"]), "text", [0.0, 1.0, NAN], ["b", "a"]),
        "complex": (np.array([1j, 2.0]), "text", [0.0, 1.0], ["1j", "(2+0j)"]),
        "strided": (np.arange(6.0)[::-2], "number", [5.0, 3.0, 1.0], []),
        "masked": (np.ma.masked_array([1.0, 2.0], [False, True]), "number", [1.0, NAN], []),
        "masked-whole": (np.ma.masked_array([1, 2], [True, False]), "number", [NAN, 2.0], []),
        "masked-words": (np.ma.masked_array(["a", "b"], [True, False]), "text", [NAN, 0.0], ["b"]),
        "masked-times": (np.ma.masked_array(np.array([1, 2], "M8[s]"), [False, True]), "time", [1.0, NAN], []),
        "unaligned": (np.frombuffer(b"?" + np.ones(2).tobytes(), offset=1), "number", [1.0, 1.0], []),
    }
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        strings = np.dtypes.StringDType()
        others["strings"] = (np.array(["b", "a"], dtype=strings), "text", [0.0, 1.0], ["b", "a"])
    return cases + [pytest.param(*case, id=f"numpy-{name}") for name, case in others.items()]


def listed_columns() -> list[Any]:
    stamp, moment = pd.Timestamp("1970-01-01T00:00:01.000000001"), datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000)
    cases: dict[str, Any] = {
        "missing": ([1, None, "na", 2.5, pd.NA, pd.NaT], "number", [1.0, NAN, NAN, 2.5, NAN, NAN], []),
        "nothing": ([None, NAN, "-"], "number", [NAN, NAN, NAN], []),
        "decimals": ([decimal.Decimal("0.3"), decimal.Decimal("sNaN")], "number", [0.3, NAN], []),
        "fractions": ([fractions.Fraction(1, 4), True], "number", [0.25, 1.0], []),
        "huge": ([10**400, -(10**400), 1], "number", [np.inf, -np.inf, 1.0], []),
        "numbers-as-text": (["1.5", " 2", "-"], "number", [1.5, 2.0, NAN], []),
        "decimal-commas": (["1,5", "2"], "number", [1.5, 2.0], []),
        "flags": (["true", "False", None], "number", [1.0, 0.0, NAN], []),
        "moments": ([moment, None, moment.replace(tzinfo=BERLIN)], "time", [1.5, NAN, -3598.5], []),
        "stamps": ([stamp, pd.NaT, np.datetime64("1970-01-02")], "time", [1.000000001, NAN, 86_400.0], []),
        "dates": ([datetime.date(1970, 1, 2), datetime.date(1969, 12, 31)], "time", [86_400.0, -86_400.0], []),
        "clocks": ([datetime.time(1, 0, 0, 500_000), datetime.time(1, tzinfo=BERLIN)], "time", [3600.5, 0.0], []),
        "spans": ([datetime.timedelta(1, 2, 3), pd.Timedelta(7, "ns")], "time", [86_402.000003, 7e-9], []),
        "times-as-text": (["1970-01-02 00:00:00", "02.01.1970 01:00", "?"], "time", [86_400.0, 90_000.0, NAN], []),
        "day-first": (["31/12/1970", "01/02/1970"], "time", [364 * 86_400.0, 31 * 86_400.0], []),
        "words": (["b ", "a", "b", "NULL", 3, 2.0], "text", [0.0, 1.0, 0.0, NAN, 2.0, 3.0], ["b", "a", "3", "2"]),
        "broken-signs": (["\ud800", "a"], "text", [0.0, 1.0], ["?", "a"]),
        "lists": ([[1], [1, 2], None, [1]], "text", [0.0, 1.0, NAN, 0.0], ["[1]", "[1, 2]"]),
        "range": (range(3), "number", [0.0, 1.0, 2.0], []),
        "deque": (collections.deque([1, 2]), "number", [1.0, 2.0], []),
        "iterator": (iter([1.0, None]), "number", [1.0, NAN], []),
        "values": ({"a": 1, "b": 2}.values(), "number", [1.0, 2.0], []),
    }
    return [pytest.param(*case, id=f"cells-{name}") for name, case in cases.items()]


def pandas_columns() -> list[Any]:
    cases: dict[str, Any] = {
        "Int64": (pd.array([1, None, 2**53 + 1], dtype="Int64"), "number", [1.0, NAN, 2.0**53], []),
        "Float64": (pd.array([1.5, None], dtype="Float64"), "number", [1.5, NAN], []),
        "boolean": (pd.array([True, None], dtype="boolean"), "number", [1.0, NAN], []),
        "string-python": (pd.array(["b", None, "a"], dtype="string[python]"), "text", [0.0, NAN, 1.0], ["b", "a"]),
        "string-pyarrow": (pd.array(["b", None, "a"], dtype="string[pyarrow]"), "text", [0.0, NAN, 1.0], ["b", "a"]),
        "default-text": (["b", None, "a"], "text", [0.0, NAN, 1.0], ["b", "a"]),
        "numbers-as-text": (pd.array(["1.5", "-"], dtype="string"), "number", [1.5, NAN], []),
        # Words count in the order of the rows, and those that no row has count not at all.
        "categories": (pd.Categorical(["b", None, "a"], ["z", "a", "b"]), "text", [0.0, NAN, 1.0], ["b", "a"]),
        "categories-of-numbers": (pd.Categorical([3.5, None, 1]), "number", [3.5, NAN, 1.0], []),
        "categories-of-times": (pd.Categorical(pd.to_datetime(["1970-01-02", None])), "time", [86_400.0, NAN], []),
        "naive": (pd.to_datetime(["1970-01-02", None]), "time", [86_400.0, NAN], []),
        # Clocks go forward at 02:00; instants go on.
        "summer-time": (
            pd.date_range("2024-03-31 01:00", periods=2, freq="60min", tz="Europe/Berlin"),
            "time",
            [1_711_843_200.0, 1_711_846_800.0],
            [],
        ),
        "timedelta": (pd.to_timedelta([1.5, None], unit="s"), "time", [1.5, NAN], []),
        "period": (pd.period_range("1970-01", periods=2, freq="M"), "time", [0.0, 31 * 86_400.0], []),
        "interval": (pd.interval_range(0, 2), "text", [0.0, 1.0], ["(0, 1]", "(1, 2]"]),
        "sparse": (pd.arrays.SparseArray([0.0, 1.0, NAN]), "number", [0.0, 1.0, NAN], []),
        "arrow-number": (pd.array([1, None], dtype=pd.ArrowDtype(pa.int64())), "number", [1.0, NAN], []),
        "arrow-text": (pd.array(["a", None], dtype=pd.ArrowDtype(pa.string())), "text", [0.0, NAN], ["a"]),
        "arrow-time": (
            pd.array([10**6, None], dtype=pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin"))),
            "time",
            [1.0, NAN],
            [],
        ),
    }
    return [pytest.param(pd.DataFrame({"x": case[0]}), *case[1:], id=f"pandas-{name}") for name, case in cases.items()]


def polars_columns() -> list[Any]:
    moment = pl.Series([datetime.datetime(1970, 1, 1, 0, 0, 1), None])
    cases: dict[str, Any] = {
        "float": (pl.Series([1.0, None, NAN]), "number", [1.0, NAN, NAN], []),
        "uint64": (pl.Series([2**64 - 1, None], dtype=pl.UInt64), "number", [2.0**64, NAN], []),
        "boolean": (pl.Series([True, None]), "number", [1.0, NAN], []),
        "decimal": (pl.Series([decimal.Decimal("0.3"), None]), "number", [0.3, NAN], []),
        "text": (pl.Series(["b", None, "a"]), "text", [0.0, NAN, 1.0], ["b", "a"]),
        "categorical": (pl.Series(["b", None, "a"], dtype=pl.Categorical), "text", [0.0, NAN, 1.0], ["b", "a"]),
        "enum": (pl.Series(["b", None], dtype=pl.Enum(["z", "b"])), "text", [0.0, NAN], ["b"]),
        "date": (pl.Series([datetime.date(1970, 1, 2), None]), "time", [86_400.0, NAN], []),
        "milliseconds": (moment.dt.cast_time_unit("ms"), "time", [1.0, NAN], []),
        "nanoseconds": (moment.dt.cast_time_unit("ns"), "time", [1.0, NAN], []),
        "zone": (moment.dt.replace_time_zone("Europe/Berlin"), "time", [-3599.0, NAN], []),
        "duration": (pl.Series([datetime.timedelta(0, 1.5), None]), "time", [1.5, NAN], []),
        "time": (pl.Series([datetime.time(1), None]), "time", [3600.0, NAN], []),
        "list": (pl.Series([[1], None]), "text", [0.0, NAN], ["[1]"]),
        "struct": (pl.Series([{"a": 1}, None]), "text", [0.0, NAN], ["{'a': 1}"]),
        "null": (pl.Series([None, None]), "number", [NAN, NAN], []),
        "binary": (pl.Series([b"a", None]), "text", [0.0, NAN], ["a"]),
    }
    return [pytest.param(pl.DataFrame({"x": case[0]}), *case[1:], id=f"polars-{name}") for name, case in cases.items()]


def arrow_columns() -> list[Any]:
    words = pa.chunked_array([pa.array(["b"]).dictionary_encode(), pa.array(["a", None, "b"]).dictionary_encode()])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), [1.0, 2.0])
    cases: dict[str, Any] = {
        "float": (pa.array([1.0, None]), "number", [1.0, NAN], []),
        "half": (pa.array(np.array([0.5], dtype="f2")), "number", [0.5], []),
        "uint64": (pa.array([2**64 - 1, None], pa.uint64()), "number", [2.0**64, NAN], []),
        "boolean": (pa.array([True, None]), "number", [1.0, NAN], []),
        "decimal": (pa.array([decimal.Decimal("0.3"), None], pa.decimal128(20, 1)), "number", [0.3, NAN], []),
        "wide-decimal": (pa.array([decimal.Decimal("0.3"), None], pa.decimal256(40, 1)), "number", [0.3, NAN], []),
        "dictionaries": (words, "text", [0.0, 1.0, NAN, 0.0], ["b", "a"]),
        "dictionary-of-numbers": (pa.array([3, None, 1]).dictionary_encode(), "number", [3.0, NAN, 1.0], []),
        "large-text": (pa.array(["b", None], pa.large_string()), "text", [0.0, NAN], ["b"]),
        "text-view": (pa.array(["b", None], pa.string_view()), "text", [0.0, NAN], ["b"]),
        "binary": (pa.array([b"b", None]), "text", [0.0, NAN], ["b"]),
        "seconds": (pa.array([1, None], pa.timestamp("s")), "time", [1.0, NAN], []),
        "zone": (pa.array([1, None], pa.timestamp("ns", "Asia/Tokyo")), "time", [1e-9, NAN], []),
        "date": (pa.array([1, None], pa.date32()), "time", [86_400.0, NAN], []),
        "clock": (pa.array([1, None], pa.time32("ms")), "time", [1e-3, NAN], []),
        "fine-clock": (pa.array([1, None], pa.time64("us")), "time", [1e-6, NAN], []),
        "duration": (pa.array([1, None], pa.duration("ms")), "time", [1e-3, NAN], []),
        "slice": (pa.chunked_array([pa.array([5, 6, 7], pa.timestamp("s"))[1:]]), "time", [6.0, 7.0], []),
        "null": (pa.array([None, None]), "number", [NAN, NAN], []),
        "list": (pa.array([[1], None]), "text", [0.0, NAN], ["[1]"]),
        "chunks": (pa.chunked_array([[1.0], [], [None, 2.0]]), "number", [1.0, NAN, 2.0], []),
        "runs": (runs, "number", [1.0, 1.0, 2.0], []),
    }
    return [pytest.param(pa.table({"x": case[0]}), *case[1:], id=f"arrow-{name}") for name, case in cases.items()]


@pytest.mark.parametrize(
    ("data", "kind", "values", "words"),
    numpy_columns() + listed_columns() + pandas_columns() + polars_columns() + arrow_columns(),
)
def test_cells_of_every_kind_become_numbers_times_or_words(
    data: Any, kind: str, values: list[float], words: list[str]
) -> None:
    is_frame = isinstance(data, (pd.DataFrame, pl.DataFrame, pa.Table))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(data if is_frame else {"x": data})
    assert (found[0], found[2]) == (kind, words)
    np.testing.assert_array_equal(found[1], values)


def test_a_time_without_a_zone_is_that_of_utc_wherever_the_machine_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert read({"x": [datetime.datetime(1970, 1, 2)]})[1] == [86_400.0]
        assert read({"x": ["1970-01-02 00:00"]})[1] == [86_400.0]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_times_are_the_nearest_seconds_in_every_unit() -> None:
    nanoseconds = np.random.default_rng(1).integers(0, 2**61, 2000)
    exact = [float(fractions.Fraction(int(value), 10**9)) for value in nanoseconds]
    near = np.array(read({"x": nanoseconds.astype("M8[ns]")})[1])
    # A whole second and its fraction are each exact; their sum is rounded once.
    assert np.count_nonzero(near != exact) <= 1 and np.abs(near - exact).max() <= np.spacing(2.0**31)
    microseconds = nanoseconds // 1000
    exact = [float(fractions.Fraction(int(value), 10**6)) for value in microseconds]
    assert read({"x": microseconds.astype("M8[us]")})[1] == exact


TEXTS = {
    "numbers": ["1", "-2.5", "+3e-2", ".5", "4.", "0.1000000000000000055511151231", "true", "FALSE", " 7 ", "nan"],
    "commas": ["1,5", "2", "-0,25", ",5", "1e3"],
    "iso": ["2024-02-29T12:30:15Z", "2024-02-29 12:30:15.1234567", "2024-02-29T12:30:15+02:00", "2024-02-29"]
    + ["2024-02-29T12:30Z", "2024-12-31 23:59:59,75", "1999-01-01T01:02:03-0530", "2024-02-31", "Bad Input"],
    "dots": ["29.02.2024 12:30:15,25", "1.3.24 7:05", "31.12.1969"],
    "american": ["12/31/2024 11:59:59 PM", "1/2/2024 12:00 AM", "02/03/24 1:30"],
    "day first": ["31/12/2024 23:59", "01/02/2024 00:00", "3/4/24 24:00"],
    "clocks": ["00:01:30.5", "7:05", "23:59:60"],
    "a stray word": ["1.5", "2.25", "sensor fault", "3.125", "4.5", "5.5", "6.5", "7.5", "8.5", "9.5", "10.5"],
    "a stray number": ["2024-01-01", "2024-01-02", "7", "2024-01-03"],
    "a stray infinity": ["1", "2", "-inf", "3"],
    "no number": ["1", "2", "0x10", "1_000", "3", "4", "5.5", "6.5", "7.5", "8.5", "9.5", "10.5", "11.5"],
    "words": ["low", "high", "3", "4"],
}


@pytest.mark.parametrize("cells", TEXTS.values(), ids=TEXTS)
def test_text_is_read_as_from_a_file_of_text(cells: list[str], tmp_path: Path) -> None:
    problem = fpsrl.Problem("x", horizon=5, states=["x"], actions={"u": (0.0, 1.0)}, reward="0 * x")
    texts = (cells * ROWS)[:ROWS]
    data = {"x": texts, "u": np.arange(ROWS) % 2}
    with open(tmp_path / "log.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(data)
        writer.writerows(zip(*data.values()))

    def outcome(log: Any) -> Any:
        try:
            return bits(fpsrl.Log(problem, log))
        except fpsrl.LogError as error:
            row = error.row if error.line is None else error.line - 2
            assert row is not None
            return row, error.column, error.message.rpartition("`: ")[2].split(" is ")[0]

    expected = outcome(tmp_path / "log.csv")
    assert outcome(data) == expected
    assert outcome(pd.DataFrame(data)) == outcome(pl.DataFrame(data)) == outcome(pa.table(data)) == expected


def test_words_and_numbers_that_the_problem_names_count_as_missing() -> None:
    [(found, _)] = frames({"x": [1.0, -999.0], "y": ["ERR", "on"]}, ["x", "y"], ["ERR", "-999"])
    assert np.isnan(found[0][2][1]) and np.isnan(found[1][2][0]) and found[1][3] == ["on"]
    data = columns()
    data["level"] = np.array(with_cells(data["level"], _9=-999.0))
    kept = data["level"].copy()
    report = fpsrl.Log(tank(data={"missing": ["-999.0"]}), data).report
    assert report is not None and report["import"]["missing"] == 2
    assert (data["level"] == kept).all()


# The same log, however it is given.


class Recorded:
    """A log with a mode, times with a gap, and missing cells, in every form that it can have."""

    def __init__(self, directory: Path, *, jitter: bool) -> None:
        rows = 600
        random = np.random.default_rng(2)
        valve = np.repeat(np.round(random.uniform(0.0, 1.0, rows // 6), 3), 6)
        modes = np.array(["filling", "holding"])[np.arange(rows) // 75 % 2].tolist()
        level = np.zeros(rows)
        for row in range(1, rows):
            inflow = 0.12 if modes[row] == "filling" else 0.1
            level[row] = 0.95 * level[row - 1] + inflow * valve[row - 1] + 0.001 * random.normal()
        microseconds = 100_000 * np.arange(rows) + (random.integers(-20_000, 20_000, rows) if jitter else 0)
        microseconds[300:] += 40_000_000
        begin = datetime.datetime(2024, 3, 31, 0, 59, 50)
        times = with_cells((begin + datetime.timedelta(0, 0, int(after)) for after in microseconds), _77=None)
        level[37] = NAN
        notes = [f"note {row}" for row in range(rows)]
        self.columns = {
            "time": times,
            "level[m]": level,
            "valve": valve,
            "mode": with_cells(modes, _61=None),
            "note": notes,
        }
        self.csv, self.parquet = directory / "log.csv", directory / "log.parquet"
        with open(self.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            for row in zip(*self.columns.values()):
                writer.writerow(["" if cell is None or cell != cell else str(cell) for cell in row])
        self.table = pa.table({**self.columns, "level[m]": pa.array(level, from_pandas=True)})
        pq.write_table(self.table, self.parquet)

    def forms(self) -> dict[str, Any]:
        frame = pd.DataFrame(self.columns)
        frame["time"] = pd.to_datetime(frame["time"])
        zone = frame["time"].dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
        lazy = pl.from_arrow(self.table).lazy()  # type: ignore[union-attr]
        return {
            "pandas": frame,
            # As words, since not every pandas reads numbers to the last bit.
            "pandas from the file": pd.read_csv(self.csv, dtype=str),
            "pandas by an index of time": frame.set_index("time"),
            "pandas with a zone": frame.assign(time=zone),
            "pandas with categories": frame.assign(mode=frame["mode"].astype("category")),
            "pandas of objects": frame.astype(object),
            "pandas that knows of missing cells": frame.convert_dtypes(),
            "pandas on Arrow": self.table.to_pandas(types_mapper=pd.ArrowDtype),
            "polars": lazy.collect(),
            "polars, not computed yet": lazy,
            "polars from the file": pl.read_csv(self.csv),
            "Arrow": self.table,
            "Arrow in batches": pa.Table.from_batches(self.table.to_batches(max_chunksize=97)),
            "Arrow as a stream": self.table.to_reader(max_chunksize=97),
            "a dictionary": self.columns,
            "a dictionary of arrays": {name: frame[name].to_numpy() for name in frame},
            "rows": [dict(zip(self.columns, row)) for row in zip(*self.columns.values())],
            "a structured array": frame.assign(time=frame["time"].astype("M8[ns]")).to_records(index=False),
        }


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("log"), jitter=False)


def with_mode(**data: Any) -> fpsrl.Problem:
    return tank(inputs=[{"name": "mode", "values": ["filling", "holding"]}], data={"time": "time", **data})


def test_a_log_gives_the_same_transitions_in_every_form(recorded: Recorded) -> None:
    problem = with_mode()
    log = fpsrl.Log(problem, recorded.csv)
    expected = bits(log)
    assert log.report is not None
    facts = {name: log.report["import"][name] for name in ("rows", "missing", "gaps", "interval", "kept")}
    assert facts["rows"] == 600 and facts["missing"] == 5 and facts["gaps"] == 2 and len(log) == 592
    for name, form in {"Parquet": recorded.parquet, **recorded.forms()}.items():
        log = fpsrl.Log(problem, form)
        assert bits(log) == expected, name
        assert log.report is not None and {key: log.report["import"][key] for key in facts} == facts, name


def test_a_log_that_is_put_onto_a_grid_is_the_same_in_every_form(tmp_path: Path) -> None:
    # There, the last bit of each time counts.
    uneven = Recorded(tmp_path, jitter=True)
    problem = with_mode(resample=True)
    expected = bits(fpsrl.Log(problem, uneven.csv))
    for name, form in uneven.forms().items():
        assert bits(fpsrl.Log(problem, form)) == expected, name


def test_a_log_gives_the_same_draft_in_every_form(recorded: Recorded) -> None:
    from_file = fpsrl.Problem.draft(recorded.csv)
    assert from_file.text is not None
    for expected in ("`level[m]` is a state", "`valve` is an action", "`mode` is a mode", "2 gaps in time"):
        assert any(expected in line for line in from_file.found), expected
    for name, form in {"Parquet": recorded.parquet, **recorded.forms()}.items():
        draft = fpsrl.Problem.draft(form, name="log")
        assert (draft.found, draft.unknown) == (from_file.found, from_file.unknown), name
        here, there = (str(problem.text).splitlines() for problem in (draft, from_file))
        differ = [line for line, other in zip(here, there) if line != other]
        # Where it came from is all that differs.
        assert len(here) == len(there) and len(differ) == 2 and differ[1].startswith("file = "), name


def test_a_draft_of_a_frame_can_be_used_on_the_frame(recorded: Recorded) -> None:
    frame = recorded.forms()["polars"]
    draft = fpsrl.Problem.draft(frame, name="tank").replace(reward="-abs(level - 1)")
    assert draft.name == "tank" and draft.units["level"] == "m"
    assert bits(fpsrl.Log(draft, frame)) == bits(fpsrl.Log(draft, recorded.csv))


def test_the_state_of_the_data_is_that_of_the_file(recorded: Recorded) -> None:
    reports = [with_mode().check(data) for data in (recorded.csv, recorded.forms()["pandas"])]
    assert [report["import"]["files"][0].pop("path") for report in reports] == [str(recorded.csv), "<frame>"]
    assert reports[0] == reports[1]


def test_several_frames_are_read_as_several_files_are(tmp_path: Path) -> None:
    first, second = pd.DataFrame(columns()), pd.DataFrame(columns())[::-1]
    files = [written(tmp_path / "a.csv", first), written(tmp_path / "b.csv", second)]
    expected = fpsrl.Log(tank(), files)
    assert len(expected) == 2 * (ROWS - 1) and len(set(expected.to_dict()["episode"])) == 2
    parts: list[Any] = [first, second]
    for given in (parts, tuple(parts), [first, pl.from_pandas(second)], [columns(), second.to_dict("records")]):
        assert bits(fpsrl.Log(tank(), given)) == bits(expected)


# What is a column, and what it is called.


def test_columns_are_found_by_their_names_with_and_without_a_unit() -> None:
    data = {"level[m]": [1.0], "flow (m3/h)": [2.0], "level": [3.0], "levels[m]": [4.0], "[m]": [5.0]}
    [(found, titles)] = frames(data, ["level", "flow"])
    assert [title for title, *_ in found] == ["level[m]", "flow (m3/h)", "level"]
    assert titles == list(data)
    # The one that is called exactly so goes before the one with a unit.
    log = fpsrl.Log(tank(), {"level[cm]": np.zeros(ROWS), **columns()})
    assert bits(log) == bits(fpsrl.Log(tank(), columns()))


@pytest.mark.parametrize(
    ("name", "title"),
    [
        (0, "0"),
        (1.5, "1.5"),
        (b"level", "level"),
        (" level ", "level"),
        (("TIC101", "PV"), "TIC101.PV"),
        (("level", ""), "level"),
        (("level", "Unnamed: 0_level_1"), "level"),
        ("le\nvel", "le\nvel"),
    ],
)
def test_names_that_are_no_text_become_text(name: Any, title: str) -> None:
    [(found, titles)] = frames({name: [1.0], "other": [2.0]}, [title])
    assert [one for one, *_ in found] == [title] and titles == [title, "other"]
    assert frames({"level\udcff": [1.0]}, ["level?"])[0][1] == ["level?"]
    by_pandas = pd.DataFrame([[1.0, 2.0]])
    by_pandas.columns = pd.Index([name, "other"], tupleize_cols=False)
    assert [one for one, *_ in frames(by_pandas, [title])[0][0]] == [title]


def test_a_frame_with_several_lines_of_names_has_joined_ones() -> None:
    data = columns()
    frame = pd.DataFrame({("tank", "level"): data["level"], ("tank", "valve"): data["valve"]})
    assert isinstance(frame.columns, pd.MultiIndex)
    problem = tank(
        states=[{"name": "level", "column": "tank.level"}],
        actions=[{"name": "valve", "column": "tank.valve", "limits": [0.0, 1.0]}],
    )
    assert bits(fpsrl.Log(problem, frame)) == bits(fpsrl.Log(tank(), data))


def test_an_index_is_a_column_if_it_has_a_name_or_is_one_of_time() -> None:
    times = pd.date_range("1970-01-01", periods=2, freq="D")
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=times)

    def found(frame: Any) -> Any:
        return {title: values.tolist() for title, _, values, _ in frames(frame)[0][0]}

    days = [0.0, 86_400.0]
    assert found(frame) == {"time": days, "x": [1.0, 2.0]}
    of_objects = pd.Index([moment.to_pydatetime() for moment in times], dtype=object)
    zone = times.tz_localize("Asia/Tokyo") + pd.Timedelta(hours=9)
    for index in (zone, times.to_period("D"), times - times[0], of_objects):
        other = frame.copy()
        other.index = index
        assert found(other) == found(frame)
    assert found(frame.rename_axis("when")) == {"when": days, "x": [1.0, 2.0]}
    assert found(frame.rename_axis("x")) == {"x": [1.0, 2.0]}
    assert found(frame.assign(time=[5.0, 6.0])) == {"x": [1.0, 2.0], "time": [5.0, 6.0]}
    assert found(frame.reset_index(drop=True)) == {"x": [1.0, 2.0]}
    both = frame.set_index([pd.Index(["a", "b"], name="batch"), times, pd.Index([7, 8])])
    assert found(both) == {"batch": [0.0, 1.0], "time": days, "x": [1.0, 2.0]}


def test_arrays_of_two_dimensions_are_columns_as_in_files_of_arrays(tmp_path: Path) -> None:
    data = columns()
    arrays = {"observations": np.stack([data["level"], data["level"] ** 2], axis=1), "actions": data["valve"][:, None]}
    np.savez(tmp_path / "log.npz", **arrays)
    problem = tank(
        states=[{"name": "level", "column": "observations_0"}, {"name": "square", "column": "observations_1"}],
        actions=[{"name": "valve", "column": "actions_0", "limits": [0.0, 1.0]}],
    )
    expected = bits(fpsrl.Log(problem, tmp_path / "log.npz"))
    with np.load(tmp_path / "log.npz") as archive:
        assert bits(fpsrl.Log(problem, archive)) == expected
    lists = {name: array.tolist() for name, array in arrays.items()}
    given: list[Any] = [arrays, lists, {name: pd.DataFrame(array) for name, array in arrays.items()}]
    given.append({name: np.asfortranarray(array)[::1] for name, array in arrays.items()})
    fields = [("observations", "f8", (2,)), ("actions", "f8", (1,))]
    given.append(np.rec.fromarrays(list(arrays.values()), dtype=fields))
    for form in given:
        assert bits(fpsrl.Log(problem, form)) == expected


def test_types_that_others_derive_or_that_speak_arrow_are_frames_too() -> None:
    class Frame(pd.DataFrame):  # type: ignore[misc]
        pass

    class Speaks:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pa.table({"x": [1.0, 2.0]}).__arrow_c_stream__(requested_schema)

    for data in (Frame({"x": [1.0, 2.0]}), Speaks(), pa.record_batch({"x": [1.0, 2.0]})):
        assert read(data) == ("number", [1.0, 2.0], [])


def test_what_speaks_arrow_asks_for_pyarrow_where_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Speaks:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise AssertionError("nobody could read it")

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(fpsrl.LogError, match="Speaks speaks Arrow, and pyarrow is not installed") as caught:
        frames(Speaks())
    assert "pip install pyarrow" in str(caught.value.remedy)


# What is lent, and what is left alone.


def test_columns_of_float64_are_lent_and_not_copied(tmp_path: Path) -> None:
    data = {name: np.arange(1000.0) + place for place, name in enumerate("abc")}
    frame, polar, table = pd.DataFrame(data), pl.DataFrame(data), pa.table(data)
    mapped = {name: np.memmap(tmp_path / name, np.float64, "w+", shape=1000) for name in data}
    cases: list[tuple[Any, Any]] = [
        (data, lambda name: data[name]),
        (mapped, lambda name: mapped[name]),
        ({name: np.ma.masked_array(values) for name, values in data.items()}, lambda name: data[name]),
        (frame, lambda name: frame[name].to_numpy()),
        (polar, lambda name: polar[name].to_numpy(allow_copy=False)),
        (polar.lazy(), lambda name: polar[name].to_numpy(allow_copy=False)),
        (table, lambda name: table[name].chunk(0).to_numpy()),
        (table.to_pandas(types_mapper=pd.ArrowDtype), lambda name: table[name].chunk(0).to_numpy()),
        ([frame, polar], lambda name: frame[name].to_numpy()),
    ]
    for given, source in cases:
        found = frames(given, list(data))[0][0]
        assert len(found) == 3
        for title, _, values, _ in found:
            assert np.shares_memory(values, source(title)), type(given)
    whole = np.asfortranarray(np.stack(list(data.values()), axis=1))
    assert all(np.shares_memory(values, whole) for _, _, values, _ in frames({"x": whole})[0][0])


def test_the_users_data_stay_as_they_are() -> None:
    frame = pd.DataFrame(columns())
    frame["valve"] = with_cells(frame["valve"], _5=NAN)
    frame["mode"] = pd.Categorical(with_cells(["on"] * 80 + ["off"] * 80, _7=None))
    frame["angle"] = np.linspace(-720.0, 720.0, ROWS)
    frame["time"] = pd.date_range("2024", periods=ROWS, freq="s", tz="Europe/Berlin")
    kept = frame.copy(deep=True)
    problem = tank(
        states=["level", {"name": "angle", "angle": "degrees"}],
        inputs=[{"name": "mode", "values": ["on", "off"]}],
        data={"time": "time", "missing": ["0.5"]},
    )
    fpsrl.Log(problem, frame)
    fpsrl.Problem.draft(frame)
    pd.testing.assert_frame_equal(frame, kept)
    fixed = {name: values.copy() for name, values in columns().items()}
    for values in fixed.values():
        values.flags.writeable = False
    infinite = {**fixed, "level": np.where(np.arange(ROWS) == 9, np.inf, fixed["level"])}
    infinite["level"].flags.writeable = False
    fpsrl.Log(tank(), fixed)
    refused(tank(), infinite)
    assert infinite["level"][9] == np.inf


class Untouchable:
    """A column that nobody may look at."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("it was looked at")

    def __len__(self) -> int:
        raise RuntimeError("it was counted")


def test_a_column_that_nobody_needs_is_never_looked_at() -> None:
    data = columns()
    expected = bits(fpsrl.Log(tank(), data))
    strange = {
        "untouchable": Untouchable(),
        "cube": np.zeros((ROWS, 2, 2)),
        "short": [1.0],
        "word": "tank",
        "nothing": None,
        "inner": {"a": 1},
        "complex": np.ones(ROWS) * 1j,
    }
    assert bits(fpsrl.Log(tank(), {**strange, **data})) == expected
    assert bits(fpsrl.Log(tank(), [{**strange, **data}])) == expected

    def fails(_: Any) -> Any:
        raise RuntimeError("it was computed")

    lazy = pl.DataFrame(data).lazy()
    lazy = lazy.with_columns(pl.col("level").map_batches(fails, return_dtype=pl.Float64).alias("^costly.*$"))
    assert bits(fpsrl.Log(tank(), lazy)) == expected


def test_many_columns_that_nobody_needs_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = pd.DataFrame({f"note{place}": np.full(ROWS, "note", dtype=object) for place in range(200)})
    frame = pd.concat([pd.DataFrame(columns()), notes], axis=1)
    looked: list[int] = []

    def at(frame: Any, place: int) -> Any:
        looked.append(place)
        return frame.iloc[:, place]

    monkeypatch.setattr("fpsrl._frames._at", at)
    fpsrl.Log(tank(), frame)
    assert looked == [0, 1]


# What is wrong with a log.


def faults() -> dict[str, tuple[dict[str, Any], dict[str, Any], Optional[int], Optional[str], str]]:
    """Data, settings, row, column, and what is said of them."""
    level, valve = columns().values()
    mode = {"inputs": [{"name": "mode", "values": ["on", "off"]}]}
    end = {"data": {"terminal": "end"}}
    return {
        "an infinite action": (
            {"level": level, "valve": with_cells(valve, _42=np.inf)},
            {},
            42,
            "valve",
            "`inf` is not a finite number",
        ),
        "a word among numbers": (
            {"level": with_cells(level, _100="sensor fault"), "valve": valve},
            {},
            100,
            "level",
            "`sensor fault` is not a number",
        ),
        "a word among whole numbers": (
            {"level": with_cells((1000 * level).astype(int), _100="fault"), "valve": valve},
            {},
            100,
            "level",
            "`fault` is not a number",
        ),
        "an infinity before a word": (
            {"level": with_cells(level, _50=-np.inf, _60="fault"), "valve": valve},
            {},
            50,
            "level",
            "`-inf` is not a finite number",
        ),
        "words": ({"level": ["low", "high"] * (ROWS // 2), "valve": valve}, {}, 0, "level", "`low` is not a number"),
        "complex numbers": ({"level": level + 1j, "valve": valve}, {}, 0, "level", "`1j` is not a number"),
        "a word with a line break": (
            {"level": with_cells(level, _3="a\nb"), "valve": valve},
            {},
            3,
            "level",
            r"`a\nb` is not a number",
        ),
        "a missing column": ({"levle": level, "valve": valve}, {}, None, None, "there is no column called `level`"),
        "no column that fits": ({"a": level, "b": valve}, {}, None, None, "there is no column called `level`"),
        "no row of no column that fits": ({"a": [], "b": []}, {}, None, None, "there is no row"),
        "a column with a unit": ({"Level[m]": level, "valve": valve}, {}, None, None, "no column called `level`"),
        "one action": ({"level": level, "valve": 0 * valve + 0.5}, {}, None, "valve", "the action has one value"),
        "few rows": ({"level": level[:20], "valve": valve[:20]}, {}, None, None, "it gives 19 transitions from 20"),
        "no row": ({"level": level[:0], "valve": valve[:0]}, {}, None, None, "there is no row"),
        "no flag": (
            {"level": level, "valve": valve, "end": with_cells(0 * level, _2=0.6)},
            end,
            2,
            "end",
            "`0.6` is neither 0 nor 1",
        ),
        "an unknown mode": (
            {"level": level, "valve": valve, "mode": with_cells(["on"] * ROWS, _4="auto")},
            mode,
            4,
            "mode",
            "`auto` is none of the values of the mode `mode`",
        ),
    }


@pytest.mark.parametrize("name", faults())
def test_a_fault_of_a_frame_is_told_as_that_of_a_file(name: str, tmp_path: Path) -> None:
    data, settings, row, column, told = faults()[name]
    problem = tank(**settings)
    of_file = refused(problem, written(tmp_path / "log.csv", data))
    assert of_file.line == (None if row is None else row + 2)
    for form in (data, pd.DataFrame(data)):
        error = refused(problem, form)
        assert told in error.message and told in of_file.message
        assert (error.file, error.row, error.column, error.line) == ("<frame>", row, column, None)
        assert error.column == of_file.column
        assert error.message.startswith("<frame>")


def test_missing_columns_are_answered_with_the_nearest_name() -> None:
    data = columns()
    error = refused(tank(), {"time": data["level"], "levle[m]": data["level"], "valve": data["valve"]})
    assert "is it the column `levle[m]`?" in str(error.remedy)
    error = refused(tank(), {"pressure": data["level"], "force": data["valve"]})
    assert "pressure, force" in str(error.remedy)


def test_two_columns_of_one_name_are_refused_only_where_they_are_needed() -> None:
    data = columns()
    frame = pd.DataFrame(np.stack([data["level"], data["level"], data["valve"]], axis=1))
    frame.columns = pd.Index(["level", "level", "valve"])
    assert "two columns called `level`" in refused(tank(), frame).message
    assert "two columns called `level`" in refused(tank(), {**data, " level": data["level"]}).message
    table = pa.Table.from_arrays([pa.array(data[name]) for name in ("level", "level", "valve")], list(frame.columns))
    assert "two columns called `level`" in refused(tank(), table).message
    frame.columns = pd.Index(["other", "level", "valve"])
    frame.insert(0, "other", 1.0, allow_duplicates=True)
    assert bits(fpsrl.Log(tank(), frame)) == bits(fpsrl.Log(tank(), data))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"level": np.zeros((ROWS, 2, 2))}, "column `level`: an array of shape (160, 2, 2) is no column"),
        ({"level": 3.0}, "column `level`: a single value is no column"),
        ({"level": "full"}, "column `level`: str is no column"),
        ({"level": {1.0, 2.0}}, "column `level`: set is no column"),
        ({"level": Untouchable()}, "column `level`: it cannot be read: it was looked at"),
        ({"level": np.array([1, 2], "m8[M]")}, "column `level`: it cannot be read: spans of months"),
        ({"valve": np.zeros(7)}, "column `valve`: it has 7 rows, and `level` has 160"),
    ],
)
def test_what_is_no_column_is_named(change: dict[str, Any], told: str) -> None:
    error = refused(tank(), {**columns(), **change})
    assert told in error.message
    assert (error.file, error.column) == ("<frame>", next(iter(change)))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (7, "int is no log"),
        (np.zeros((3, 2)), "an array of shape (3, 2) has no names for its columns"),
        (np.array(1.0), "an array of shape () has no names"),
        ([], "the log is an empty list"),
        ([[1, 2], [3, 4]], "list is no log"),
        ([None], "NoneType is no log"),
        (["log.csv", {"x": [1.0]}], "files and data in memory stand in one list"),
        (pd.Series([1.0], name="level"), "Series is no log"),
        (pl.Series("level", [1.0]), "Series is no log"),
        (pa.chunked_array([[1.0]]), "ChunkedArray speaks Arrow, and gives no table"),
        ({}, "there is no row in it"),
        (pd.DataFrame(), "there is no row in it"),
        (pl.DataFrame(), "there is no row in it"),
        (pa.table({}), "there is no row in it"),
        (pa.table({name: pa.chunked_array([], pa.float64()) for name in ("level", "valve")}), "there is no row in it"),
    ],
)
def test_what_is_no_log_is_refused(data: Any, told: str) -> None:
    error = refused(tank(), data)
    assert told in error.message and error.file == "<frame>"


def test_a_file_whose_name_is_no_text_is_refused() -> None:
    for use in (lambda file: fpsrl.Log(tank(), file), fpsrl.Problem.draft):
        with pytest.raises(fpsrl.FileError, match=r"log\?.csv: the name is not text in UTF-8"):
            use("log\udcff.csv")


def test_labels_may_be_numbers_and_words() -> None:
    data = {**columns(), "batch": [1] * 60 + [2] * 50 + ["2a"] * 25 + ["2b"] * 25}
    log = fpsrl.Log(tank(data={"episode": "batch"}), data)
    assert len(set(log.to_dict()["episode"])) == 4 and len(log) == ROWS - 4
    modes = {**columns(), "mode": ([1] * 60 + [2] * 50 + ["auto"] * 50)}
    problem = tank(inputs=[{"name": "mode", "values": ["1", "2", "auto"]}])
    assert sorted(set(fpsrl.Log(problem, modes).to_dict()["mode"])) == [0.0, 1.0, 2.0]


# What is told.


def test_a_draft_leaves_out_what_it_cannot_read_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    data = {**columns(), "cube": np.zeros((ROWS, 2, 2)), "plant": "tank", "short\nname": [1.0], "x": Untouchable()}
    with pytest.warns(fpsrl.Warning) as told:
        draft = fpsrl.Problem.draft(data)
    assert [str(one.message) for one in told] == [
        "<frame>, column `cube`: an array of shape (160, 2, 2) is no column; it takes no part",
        "<frame>, column `plant`: str is no column; it takes no part",
        "<frame>, column `x`: it cannot be read: it was looked at; it takes no part",
        r"<frame>, column `short\nname`: it has 1 rows, and most have 160; it takes no part",
    ]
    # Whoever called is shown, not the package.
    assert {one.filename for one in told} == {__file__}
    assert any("`level` is a state" in line for line in draft.found)
    assert any("`valve` is an action" in line for line in draft.found)
    assert capfd.readouterr() == ("", "")


def test_a_draft_of_nothing_says_that_there_is_nothing() -> None:
    nothing: list[Any] = [{}, pd.DataFrame({"level": [], "valve": []}), [columns(), {"level": [], "valve": []}]]
    for data in nothing:
        with pytest.raises(fpsrl.LogError, match="<frame>: there is no row in it"):
            fpsrl.Problem.draft(data)


def test_what_may_decide_everything_is_a_warning_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    data = columns()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fpsrl.Log(tank(), data)
        tank().check(data)
    with pytest.warns(fpsrl.Warning, match="rows have `valve` outside of its limits") as told:
        fpsrl.Log(tank(), {**data, "valve": 2.0 * data["valve"]})
    assert told[0].category is fpsrl.Warning
    assert capfd.readouterr() == ("", "")
