"""Data of any kind as columns of numbers, without a copy where that is possible.

A column goes to the extension module as its title, what its cells are, an array of ``float64``, and the words that the
numbers of a column of text stand for. Columns that are ``float64`` and contiguous already are lent, not copied. Cells
are read as the readers of files do it: a frame, and the file that it came from or is written to, give the same log.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from ._core import FRAME
from ._errors import FileError, LogError, Warning

Column = tuple[str, str, NDArray[np.float64], list[str]]
Frame = tuple[list[Column], list[str]]

#: A column that has not been looked at yet: its name, and what gives its values.
_Source = tuple[Any, Callable[[], Any]]

#: What a cell of text may say instead of nothing, in small letters.
_MISSING = frozenset(
    ["", "na", "n/a", "nan", "null", "none", "nil", "#n/a", "#nv", "-", "--", "?", "bad", "bad input", "bad value"]
    + ["i/o timeout", "no data", "nodata", "pt created", "comm fail"]
)

_LONGEST = max(map(len, _MISSING))

#: Rows that decide what a column of text holds.
_SAMPLE = 500

#: Rows whose times are converted together, so that little memory is needed besides.
_TOGETHER = 1 << 16

#: More different numbers than these are measurements rather than names of something.
_MOST_NAMES = 8


def is_path(data: Any) -> bool:
    """Whether data are a file, or files."""
    if isinstance(data, (list, tuple)):
        return len(data) > 0 and all(isinstance(one, (str, os.PathLike)) for one in data)
    return isinstance(data, (str, os.PathLike))


def paths(data: Any) -> list[str]:
    """The files that data are, as absolute paths."""
    files = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    return [_path(os.fsdecode(file)) for file in files]


def _path(file: str) -> str:
    told = _encodable(file)
    if told != file:
        raise FileError(f"{told}: the name is not text in UTF-8", remedy="rename the file", file=told)
    return str(Path(file).absolute())


def frames(data: Any, names: Optional[Iterable[str]] = None, missing: Iterable[str] = ()) -> list[Frame]:
    """The frames of data in memory: one, or several in the order of time.

    ``names`` are the columns that are read; without them, all are, and what cannot be read is left out with a warning.
    ``missing`` are words, or numbers as words, that stand for a missing value, besides the usual ones.

    >>> import numpy as np
    >>> [(columns, titles)] = frames({"level": np.array([1.0, 2.0]), "note": ["on", "off"]}, names=["level"])
    >>> [(title, kind) for title, kind, values, words in columns], titles
    ([('level', 'number')], ['level', 'note'])
    """
    reading = _Reading.of(names, missing)
    parts = list(data) if isinstance(data, (list, tuple)) and not _is_one(data, reading) else [data]
    if not parts:
        raise _refused("the log is an empty list", "give a frame, or a list of frames")
    made = []
    for part in parts:
        frame, left_out = _frame(part, reading)
        if not left_out and not any(len(values) for _, _, values, _ in frame[0]):
            raise _refused("there is no row in it", "give a table with the rows of the log")
        made.append(frame)
        for why in left_out:
            warnings.warn(f"{why}; it takes no part", Warning, stacklevel=3)
    return made


class _Reading(NamedTuple):
    """What is wanted of frames, and how their cells are read."""

    #: The columns that are wanted; ``None`` for all.
    names: Optional[frozenset[str]]
    #: Words for a missing value, besides the usual ones.
    missing: frozenset[str]
    #: Numbers for one.
    sentinels: tuple[float, ...]

    @classmethod
    def of(cls, names: Optional[Iterable[str]], missing: Iterable[str]) -> _Reading:
        words = frozenset(missing)
        numbers = tuple(sorted(float(word) for word in words if _NUMBER.fullmatch(word)))
        return cls(None if names is None else frozenset(names), words, numbers)

    def title(self, name: Any) -> str:
        """What a column is called: as in a file, without the spaces around it."""
        title = _text_of(name)
        return title if self.names is not None and title in self.names else title.strip()

    def wants(self, title: str) -> bool:
        if self.names is None or title in self.names:
            return True
        # A unit may stand behind the name: level[m], level (m).
        for opens, closes in ("[]", "()"):
            if title.endswith(closes) and title.rpartition(opens)[0].strip():
                return title.rpartition(opens)[0].strip() in self.names
        return False

    def is_missing(self, cell: Any) -> bool:
        if cell is None:
            return True
        if isinstance(cell, str):
            word = cell.strip()
            return (len(word) <= _LONGEST and word.lower() in _MISSING) or word in self.missing
        if isinstance(cell, decimal.Decimal):
            return cell.is_nan()
        # NaN, NaT and pandas' NA are none of them equal to themselves; NA does not even say so.
        try:
            return bool(cell != cell)
        except Exception:
            return type(cell).__name__ == "NAType"


def _refused(problem: str, remedy: str, title: Optional[str] = None) -> LogError:
    where = f"{FRAME}: " if title is None else f"{FRAME}, column `{_shown(title)}`: "
    return LogError(where + problem, remedy=remedy, file=FRAME, column=title)


def _shown(text: str) -> str:
    """A title or a word for a message: on one line."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _text_of(name: Any) -> str:
    """What a column is called, whatever kind of name it has."""
    if isinstance(name, bytes):
        return name.decode(errors="replace")
    if isinstance(name, tuple):
        # Of a table with several lines of names; pandas calls the empty ones so.
        parts = [_text_of(part) for part in name]
        return ".".join(part for part in parts if part and not part.startswith("Unnamed: "))
    return _encodable(str(name))


def _encodable(text: str) -> str:
    """Text without what no file can hold: halves of signs, as broken decoding leaves them."""
    return text.encode(errors="replace").decode()


def _package(data: Any) -> str:
    """The package whose type data are, also of types that somebody has derived from it."""
    known = ("pandas", "polars", "pyarrow")
    roots = (kind.__module__.partition(".")[0] for kind in type(data).__mro__)
    return next((root for root in roots if root in known), "")


def _is_one(data: Sequence[Any], reading: _Reading) -> bool:
    """Whether a list is one frame: rows as dictionaries, or the episodes of a data set; else it is a list of frames."""
    from . import datasets

    if datasets.is_dataset(data):
        return True
    if not data or not all(isinstance(row, Mapping) for row in data):
        return False
    first: Mapping[Any, Any] = next((row for row in data if row), {})
    cells = [value for name, value in first.items() if reading.wants(reading.title(name))] or list(first.values())
    return 2 * sum(_is_listing(cell) for cell in cells) <= len(cells)


def _is_listing(values: Any) -> bool:
    return isinstance(values, (list, tuple, range)) or len(_shape(values)) > 0


def _shape(values: Any) -> tuple[int, ...]:
    shape = getattr(values, "shape", ())
    return shape if isinstance(shape, tuple) else ()


def _frame(data: Any, reading: _Reading) -> tuple[Frame, list[str]]:
    """A frame's columns and titles; and, if all columns are wanted, what is wrong with those that are left out."""
    columns: list[Column] = []
    left_out: list[str] = []
    sources = [(reading.title(name), values) for name, values in _sources(data, reading)]
    for title, values in sources:
        if not reading.wants(title):
            continue
        try:
            columns.append(_column(title, values, reading))
        except LogError as error:
            if reading.names is not None:
                raise
            left_out.append(error.message)
    columns, others = _of_one_length(columns, reading)
    titles = [title for title, _ in sources]
    if not columns and reading.names is not None:
        # Nothing fits. Whoever says so has to know that there are rows.
        columns = [(title, "number", np.zeros(rows), []) for title, rows in _first_rows(sources)]
    return (columns, titles), left_out + others


def _of_one_length(columns: list[Column], reading: _Reading) -> tuple[list[Column], list[str]]:
    lengths = [len(values) for _, _, values, _ in columns]
    if len(set(lengths)) <= 1:
        return columns, []
    if reading.names is not None:
        other = next(place for place, length in enumerate(lengths) if length != lengths[0])
        problem = f"it has {lengths[other]} rows, and `{_shown(columns[0][0])}` has {lengths[0]}"
        raise _refused(problem, "give columns of the same length", columns[other][0])
    # As long as most are, the log is.
    rows = max(lengths, key=lambda length: (lengths.count(length), length))
    kept = [column for column, length in zip(columns, lengths) if length == rows]
    others = [
        f"{FRAME}, column `{_shown(column[0])}`: it has {length} rows, and most have {rows}"
        for column, length in zip(columns, lengths)
        if length != rows
    ]
    return kept, others


def _first_rows(sources: Sequence[_Source]) -> Iterator[tuple[str, int]]:
    """The first column that has a length, with that."""
    for title, values in sources:
        try:
            rows = len(values())
        except Exception:
            continue
        yield title, rows
        return


def _sources(data: Any, reading: _Reading) -> list[_Source]:
    """The columns of whatever can be understood as some; none of them is read yet."""
    from . import datasets

    if datasets.is_dataset(data):
        return _of_mapping(datasets.columns(data))
    if isinstance(data, (list, tuple)) and data and all(isinstance(row, Mapping) for row in data):
        keys = dict.fromkeys(key for row in data for key in row)
        return [(key, functools.partial(_cells_of_rows, data, key)) for key in keys]
    if isinstance(data, Mapping):
        return _of_mapping(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return _of_mapping({name: data[name] for name in data.dtype.names})
    if isinstance(data, np.ndarray):
        raise _refused(
            f"an array of shape {data.shape} has no names for its columns",
            "give a dictionary: {'level': array[:, 0], 'valve': array[:, 1]}",
        )
    return _of_package(data, reading)


def _of_package(data: Any, reading: _Reading) -> list[_Source]:
    """The columns of a frame of somebody else's package."""
    package = _package(data)
    if package == "pandas" and hasattr(data, "columns"):
        # By place, because several columns may have the same name.
        named: list[_Source] = [(name, functools.partial(_at, data, place)) for place, name in enumerate(data.columns)]
        return _with_index(data, named)
    if package == "polars" and hasattr(data, "collect"):
        return _of_lazy(data, reading)
    if package == "polars" and hasattr(data, "get_columns"):
        return [(series.name, functools.partial(_same, series)) for series in data.get_columns()]
    if package == "pyarrow" and hasattr(data, "to_table"):
        # A data set on a disk may be larger than the memory.
        keep = [name for name in data.schema.names if reading.wants(reading.title(name))] or data.schema.names[:1]
        rest = [(name, functools.partial(_same, None)) for name in data.schema.names if name not in keep]
        return _sources(data.to_table(columns=keep), reading) + rest
    if package == "pyarrow" and hasattr(data, "column") and hasattr(data, "schema"):
        return [(name, functools.partial(data.column, place)) for place, name in enumerate(data.schema.names)]
    if hasattr(data, "__arrow_c_stream__") and not (package and hasattr(data, "dtype")):
        return _sources(_arrow_table(data), reading)
    if isinstance(data, (str, os.PathLike)):
        raise _refused("files and data in memory stand in one list", "give a list of files, or a list of frames")
    raise _refused(
        f"{type(data).__name__} is no log",
        "give a frame of pandas, polars or Arrow, a dictionary of arrays, a data set of Minari or d3rlpy, or the path "
        "of a file",
    )


def _arrow_table(data: Any) -> Any:
    try:
        import pyarrow
    except ImportError:
        problem = f"{type(data).__name__} speaks Arrow, and pyarrow is not installed"
        raise _refused(problem, "pip install pyarrow; or give a frame of pandas or polars") from None
    try:
        return pyarrow.table(data)
    except Exception as error:
        problem = f"{type(data).__name__} speaks Arrow, and gives no table: {error}"
        raise _refused(problem, "give a frame of pandas or polars, or a dictionary of arrays") from error


def _same(values: Any) -> Any:
    return values


def _at(frame: Any, place: int) -> Any:
    return frame.iloc[:, place]


def _cells_of_rows(rows: Sequence[Mapping[Any, Any]], key: Any) -> list[Any]:
    return [row.get(key) for row in rows]


def _of_lazy(frame: Any, reading: _Reading) -> list[_Source]:
    """A frame of polars that is not computed yet: only what is wanted of it is."""
    import polars.selectors

    names = frame.collect_schema().names() if hasattr(frame, "collect_schema") else frame.columns
    keep = [name for name in names if reading.wants(reading.title(name))] or names[:1]

    @functools.lru_cache(maxsize=None)
    def computed() -> Any:
        return frame.select(polars.selectors.by_name(*keep)).collect()

    def column(name: str) -> Any:
        return computed().get_column(name)

    return [(name, functools.partial(column, name)) for name in names]


#: What pandas calls the kinds of an index that is one of time.
_OF_TIME = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "period")


def _with_index(frame: Any, named: list[_Source]) -> list[_Source]:
    """A frame's index is a column if it has a name, or is one of time."""
    found: list[_Source] = []
    for level in range(frame.index.nlevels):
        values = frame.index.get_level_values(level)
        name = frame.index.names[level]
        if name is None and values.inferred_type in _OF_TIME:
            name = "time"
        if name is not None and all(_text_of(name) != _text_of(other) for other, _ in named):
            found.append((name, functools.partial(_same, values)))
    return found + named


def _of_mapping(data: Mapping[Any, Any]) -> list[_Source]:
    """Arrays under their names; one of two dimensions is a column for each of its own, as in files of arrays."""
    found: list[_Source] = []
    for name in data:
        values = data[name]
        if isinstance(values, (list, tuple)) and values and isinstance(values[0], (list, tuple, np.ndarray)):
            values = _nested(values)
        shape = _shape(values)
        title = _text_of(name)
        if isinstance(values, np.ndarray) and values.dtype.names and values.ndim == 1:
            found += [(f"{title}_{part}", functools.partial(_same, values[part])) for part in values.dtype.names]
        elif len(shape) == 2:
            found += [(f"{title}_{place}", functools.partial(_part, values, place)) for place in range(shape[1])]
        else:
            found.append((name, functools.partial(_same, values)))
    return found


def _nested(values: Sequence[Any]) -> Any:
    """A list of lists as an array of numbers, if it is one."""
    try:
        array = np.asarray(values)
    except ValueError:
        return values
    return array if array.dtype.kind in "fiub" else values


def _part(values: Any, place: int) -> Any:
    if _package(values) == "pandas":
        return values.iloc[:, place]
    if _package(values) == "pyarrow":
        return values.column(place)
    return (np.asanyarray(values) if isinstance(values, np.matrix) else values)[:, place]


def _column(title: str, source: Callable[[], Any], reading: _Reading) -> Column:
    try:
        values = source()
        package = _package(values)
        if package == "pandas":
            kind, numbers, words = _of_pandas(values, reading)
        elif package == "polars":
            kind, numbers, words = _of_polars(values, reading)
        elif package == "pyarrow":
            kind, numbers, words = _of_arrow(values, reading)
        else:
            kind, numbers, words = _of_any(title, values, reading)
    except (LogError, MemoryError):
        raise
    except Exception as error:
        raise _refused(f"it cannot be read: {_shown(str(error))}", "give numbers, times or words", title) from error
    return title, kind, numbers, words


#: What cells are, a number for each, and the words that numbers stand for.
_Cells = tuple[str, NDArray[np.float64], list[str]]


def _of_any(title: str, values: Any, reading: _Reading) -> _Cells:
    """What is of none of the packages: an array, something that becomes one, or a list of cells."""
    if isinstance(values, (Iterator, ValuesView)):
        values = list(values)
    if isinstance(values, (str, bytes, Mapping, set, frozenset)):
        raise _refused(f"{type(values).__name__} is no column", "give a value for each row", title)
    if isinstance(values, (list, tuple)):
        try:
            array = np.asarray(values)
        except (ValueError, OverflowError):
            return _of_listing(values, reading)
        # An array of mixed cells would make words of all of them.
        if array.ndim != 1 or array.dtype.kind not in "fiubmM":
            return _of_listing(values, reading)
    else:
        array = np.asanyarray(values)
    if array.ndim != 1:
        problem = "a single value" if array.ndim == 0 else f"an array of shape {array.shape}"
        raise _refused(f"{problem} is no column", "give a value for each row", title)
    return _of_array(array, reading)


def _lent(array: NDArray[Any]) -> NDArray[np.float64]:
    """The same numbers as contiguous ``float64``: the very memory where it is so already."""
    with np.errstate(all="ignore"):
        return np.require(np.asarray(array), np.float64, ["C", "A"])


def _numbers(array: NDArray[Any], reading: _Reading) -> _Cells:
    numbers = _lent(array)
    if reading.sentinels:
        absent = np.isin(numbers, reading.sentinels)
        if absent.any():
            numbers = np.where(absent, np.nan, numbers)
    return "number", numbers, []


def _of_array(array: NDArray[Any], reading: _Reading) -> _Cells:
    if isinstance(array, np.ma.MaskedArray):
        array = _unmasked(array)
    kind = array.dtype.kind
    if kind in "fiub":
        return _numbers(array, reading)
    if kind in "mM" and np.datetime_data(array.dtype)[0] != "generic":
        return "time", _seconds(array), []
    return _of_listing(array.tolist(), reading)


def _unmasked(masked: Any) -> NDArray[Any]:
    """A masked array as one with something that is missing in those places."""
    mask, data = np.ma.getmaskarray(masked), np.ma.getdata(masked)
    if not mask.any():
        return np.asarray(data)
    kind = data.dtype.kind
    filled = data.astype(np.float64 if kind in "fiub" else data.dtype if kind in "mM" else object)
    filled[mask] = np.nan if kind in "fiub" else "NaT" if kind in "mM" else None
    return np.asarray(filled)


#: How many of a unit of NumPy make a second, or how many seconds it makes.
_PARTS = {"ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
_WHOLE = {"s": 1, "m": 60, "h": 3600, "D": 86_400, "W": 604_800}


def _seconds(array: NDArray[Any]) -> NDArray[np.float64]:
    """Times as seconds since 1970, or since their beginning: the nearest number there is."""
    unit, count = np.datetime_data(array.dtype)
    if unit in ("Y", "M") and array.dtype.kind == "M":
        array, unit, count = array.astype("datetime64[D]"), "D", 1
    if unit in ("Y", "M"):
        raise TypeError("spans of months and years are of no fixed length")
    whole = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).view(np.int64)
    return _scaled(whole, _PARTS.get(unit, 1), count * _WHOLE.get(unit, 1), np.isnat(array))


def _scaled(whole: NDArray[np.int64], parts: int, times: int, absent: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Whole numbers of parts of a second as seconds; the fraction is divided apart, since only so nothing is lost."""
    seconds = np.empty(len(whole), dtype=np.float64)
    for begin in range(0, len(whole), _TOGETHER):
        some = slice(begin, begin + _TOGETHER)
        if parts == 1:
            seconds[some] = whole[some].astype(np.float64) * times
        else:
            full, rest = np.divmod(whole[some], parts)
            seconds[some] = full * float(times) + (rest * float(times)) / parts
    seconds[absent] = np.nan
    return seconds


def _of_listing(cells: Sequence[Any], reading: _Reading) -> _Cells:
    """Cells of any kind."""
    places: dict[Any, int] = {}
    try:
        codes = np.fromiter((places.setdefault(cell, len(places)) for cell in cells), np.int64, len(cells))
    except Exception:
        # Something that cannot be told from others by its hash.
        return _of_codes(np.arange(len(cells)), list(cells), reading)
    return _of_codes(codes, list(places), reading)


def _of_codes(codes: NDArray[Any], distinct: Sequence[Any], reading: _Reading) -> _Cells:
    """Cells by their places in a list of different ones; a negative place for none.

    Most of the first rows decide what they are, as in a file of text: numbers, points in time, or words.
    """
    present = np.array([not reading.is_missing(cell) for cell in distinct] + [False])
    codes = np.where(present[codes], codes, -1).astype(np.int64)
    sample = codes[:_SAMPLE][codes[:_SAMPLE] >= 0]
    if not len(sample):
        sample = codes[codes >= 0][:_SAMPLE]
    shown = [distinct[code] for code in sample]
    sign = _decimal_sign(shown)
    if 2 * sum(_number(cell, sign) is not None for cell in shown) >= len(shown):
        return _of_most("number", codes, distinct, functools.partial(_number, sign=sign), reading)
    day_first = [sum(_moment(cell, order) is not None for cell in shown) for order in (False, True)]
    if 2 * max(day_first) >= len(shown):
        order = day_first[True] > day_first[False]
        return _of_most("time", codes, distinct, functools.partial(_moment, day_first=order), reading)
    return _of_words(codes, distinct)


def _of_most(
    kind: str,
    codes: NDArray[np.int64],
    distinct: Sequence[Any],
    number_of: Callable[[Any], Optional[float]],
    reading: _Reading,
) -> _Cells:
    """Cells of which most are numbers, or times. The first that is neither is told to whoever needs the column."""
    used = np.zeros(len(distinct) + 1, dtype=bool)
    used[codes] = True
    found = [number_of(cell) if is_used else np.nan for cell, is_used in zip(distinct, used)]
    strays = np.array([number is None for number in found] + [False])
    numbers = np.array([np.nan if number is None else number for number in found] + [np.nan])[codes]
    stray = strays[codes]
    if kind == "number":
        kind, numbers, _ = _numbers(numbers, reading)
    # A draft leaves such cells out, and an infinite number that comes first is told first.
    if not stray.any() or reading.names is None or np.isinf(numbers[: stray.argmax()]).any():
        return kind, numbers, []
    if kind == "number" and not _are_measured(numbers):
        return _of_words(codes, distinct)
    return _of_words(np.where(stray, codes, -1), distinct)


def _are_measured(numbers: NDArray[np.float64]) -> bool:
    """Whether numbers are measurements, rather than names of batches or modes, of which words may be some, too."""
    known = numbers[~np.isnan(numbers)]
    if len(np.unique(known[: 10 * _SAMPLE])) <= _MOST_NAMES:
        return False
    return bool((known != np.floor(known)).any() or 2 * np.count_nonzero(np.diff(known)) > len(known))


def _of_words(codes: NDArray[np.int64], distinct: Sequence[Any]) -> _Cells:
    """Words, numbered in the order of their first appearance."""
    used, first = np.unique(codes, return_index=True)
    places: dict[str, int] = {}
    numbers = np.full(len(distinct) + 1, np.nan)
    for code in used[np.argsort(first, kind="stable")].tolist():
        if code >= 0:
            numbers[code] = places.setdefault(_word(distinct[code]), len(places))
    return "text", numbers[codes], list(places)


def _word(cell: Any) -> str:
    """What a cell says, as a file of text has it."""
    if isinstance(cell, bytes):
        return cell.decode(errors="replace").strip()
    if isinstance(cell, (float, np.floating)) and np.isfinite(cell) and cell == np.floor(cell):
        return str(int(cell))
    return _encodable(str(cell).strip())


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WITH_COMMA = re.compile(r"[+-]?(?:\d+,?\d*|,\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,4})\2(\d{1,4})", re.ASCII)
_USUAL = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d(?:\.\d*)?)Z?", re.ASCII)
_CLOCK = re.compile(
    r"(\d{1,2}):(\d{1,2})(?::(\d+(?:[.,]\d*)?))?\s*[Zz]?\s*(?:([+-])(\d{2}):?(\d{2})?)?\s*([AaPp][Mm])?", re.ASCII
)
_1970 = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _decimal_sign(cells: Sequence[Any]) -> str:
    """The decimal sign of numbers that are written as text: a comma only if cells show it and none shows a point."""
    words = [cell.strip() for cell in cells if isinstance(cell, str)]
    commas = any("," in word and _WITH_COMMA.fullmatch(word) for word in words)
    return "," if commas and not any("." in word and _NUMBER.fullmatch(word) for word in words) else "."


def _number(cell: Any, sign: str = ".") -> Optional[float]:
    """The number that a cell is or says; none if it says something else."""
    if isinstance(cell, float):
        return float(cell)
    if isinstance(cell, (bytes, str)):
        word = (cell.decode(errors="replace") if isinstance(cell, bytes) else cell).strip()
        if (_NUMBER if sign == "." else _WITH_COMMA).fullmatch(word):
            return float(word.replace(",", "."))
        if word.lower() in ("true", "false"):
            return float(word.lower() == "true")
        return float(word) if _INFINITE.fullmatch(word) else None
    if isinstance(cell, (complex, np.complexfloating, np.datetime64, np.timedelta64)) or np.ndim(cell) > 0:
        return None
    try:
        return float(cell)
    except OverflowError:
        return float("inf") if cell > 0 else -float("inf")
    except Exception:
        return None


def _moment(cell: Any, day_first: bool = False) -> Optional[float]:
    """The point in time that a cell is or says, as seconds; without a time zone, it counts as UTC."""
    if isinstance(cell, (bytes, str)):
        return _written_moment((cell.decode(errors="replace") if isinstance(cell, bytes) else cell).strip(), day_first)
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return float(_seconds(np.asarray([cell]))[0])
    if hasattr(cell, "to_timestamp"):
        # A period of pandas is where it begins.
        cell = cell.to_timestamp()
    if isinstance(cell, datetime.datetime):
        cell = (cell if cell.tzinfo else cell.replace(tzinfo=datetime.timezone.utc)) - _1970
    if isinstance(cell, datetime.date):
        return (cell.toordinal() - _1970.toordinal()) * 86_400.0
    if isinstance(cell, datetime.time):
        of_day = 3600 * cell.hour + 60 * cell.minute + cell.second
        cell = datetime.timedelta(0, of_day, cell.microsecond) - (cell.utcoffset() or datetime.timedelta(0))
    if isinstance(cell, datetime.timedelta):
        nanoseconds = 1000 * cell.microseconds + getattr(cell, "nanoseconds", 0)
        return cell.days * 86_400.0 + cell.seconds + nanoseconds / 1e9
    return None


def _written_moment(text: str, day_first: bool) -> Optional[float]:
    """What the readers of text take for a point in time: ISO 8601, 31.12.2024 23:59, 12/31/2024 11:59 PM, 23:59:59."""
    usual = _USUAL.fullmatch(text)
    if usual:
        # Most times are written so, and it is the quicker way.
        of_date, hours, minutes, of_minute = usual.groups()
        day, hour, minute, second = _days(of_date, day_first), int(hours), int(minutes), float(of_minute)
        if day is None or hour >= 25 or minute >= 60 or second >= 61.0:
            return None
        return day * 86_400.0 + (3_600.0 * hour + 60.0 * minute + second)
    place = min((text.find(sign) for sign in "T " if sign in text), default=-1)
    date, clock = (text[:place], text[place + 1 :]) if place >= 0 else ("", text) if ":" in text else (text, "")
    days = _days(date, day_first) if date else 0
    seconds = _clock_seconds(clock.strip()) if clock.strip() else 0.0
    if not text or days is None or seconds is None:
        return None
    return days * 86_400.0 + seconds


@functools.lru_cache(maxsize=4096)
def _days(date: str, day_first: bool) -> Optional[int]:
    """Days since 1970-01-01."""
    found = _DATE.fullmatch(date)
    if not found:
        return None
    first, second, third = int(found[1]), int(found[3]), int(found[4])
    if len(found[1]) == 4:
        year, month, day = first, second, third
    else:
        day, month, year = (first, second, third) if found[2] == "." or day_first else (second, first, third)
    year += 2000 if year < 100 else 0
    if not (1 <= month <= 12 and 1 <= day <= 31 and 1 <= year <= 9999):
        return None
    return datetime.date(year, month, 1).toordinal() + day - 1 - _1970.toordinal()


def _clock_seconds(clock: str) -> Optional[float]:
    """Seconds of a time of day, less those of its offset from UTC."""
    found = _CLOCK.fullmatch(clock)
    if not found:
        return None
    hours, minutes, seconds = float(found[1]), float(found[2]), float((found[3] or "0").replace(",", "."))
    if hours >= 25.0 or minutes >= 60.0 or seconds >= 61.0:
        return None
    if found[7]:
        hours = hours % 12.0 + (12.0 if found[7].lower() == "pm" else 0.0)
    offset = 3_600.0 * float(found[5] or 0) + 60.0 * float(found[6] or 0)
    return 3_600.0 * hours + 60.0 * minutes + seconds - (-offset if found[4] == "-" else offset)


def _of_pandas(values: Any, reading: _Reading) -> _Cells:
    import pandas as pd

    dtype = values.dtype
    if isinstance(dtype, np.dtype):
        return _of_array(values.to_numpy(), reading)
    is_index: bool = isinstance(values, pd.Index)
    if isinstance(dtype, pd.CategoricalDtype):
        codes = values.codes if hasattr(values, "codes") else values.cat.codes
        return _of_codes(np.asarray(codes, dtype=np.int64), dtype.categories.tolist(), reading)
    if isinstance(dtype, pd.DatetimeTZDtype):
        # As points in time, which are those of UTC.
        times: Any = values if is_index else values.dt
        utc = times.tz_convert(None)
        return "time", _seconds(utc.to_numpy()), []
    if isinstance(dtype, pd.PeriodDtype):
        periods: Any = values if is_index else values.dt
        begins = periods.to_timestamp()
        return "time", _seconds(begins.to_numpy()), []
    if isinstance(dtype, pd.SparseDtype):
        return _of_array(np.asarray(values), reading)
    if isinstance(dtype, getattr(pd, "ArrowDtype", ())):
        return _of_arrow(values.array.__arrow_array__(), reading)
    if isinstance(dtype, pd.StringDtype):
        codes, words = pd.factorize(values)
        return _of_codes(np.asarray(codes, dtype=np.int64), list(words), reading)
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        # Types that know of missing values.
        return _numbers(values.to_numpy(dtype=np.float64, na_value=np.nan), reading)
    return _of_listing(values.astype(object).tolist(), reading)


def _of_polars(series: Any, reading: _Reading) -> _Cells:
    import polars as pl

    dtype = series.dtype
    if dtype == pl.Float64 and series.null_count() == 0:
        # The very memory of the frame, where it is in one piece.
        return _numbers(series.to_numpy(), reading)
    if dtype == pl.Decimal:
        # The cells say exactly what they are; a cast may not.
        return _of_listing(series.to_list(), reading)
    if dtype.is_numeric() or dtype == pl.Boolean:
        return _numbers(series.cast(pl.Float64).to_numpy(), reading)
    if dtype in (pl.Date, pl.Datetime, pl.Duration, pl.Time):
        absent = series.is_null().to_numpy()
        whole = series.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
        unit = {pl.Date: "D", pl.Time: "ns"}.get(dtype.base_type()) or str(getattr(dtype, "time_unit", "us"))
        return "time", _scaled(whole, _PARTS.get(unit, 1), _WHOLE.get(unit, 1), absent), []
    if dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.Utf8)
    return _of_listing(series.to_list(), reading)


def _of_arrow(values: Any, reading: _Reading) -> _Cells:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        storage = [chunk.storage for chunk in getattr(values, "chunks", [values])]
        return _of_arrow(pa.chunked_array(storage, type=kind.storage_type), reading)
    if pa.types.is_run_end_encoded(kind):
        return _of_arrow(pc.call_function("run_end_decode", [values]), reading)
    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks == 0:
            return "number", np.empty(0), []
        if pa.types.is_dictionary(kind):
            values = values.unify_dictionaries()
        values = values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        # Cells without a value are NaN as soon as they are numbers with a fraction.
        whole = values if kind == pa.float64() else pc.cast(values, pa.float64(), safe=False)
        return _numbers(whole.to_numpy(zero_copy_only=False), reading)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        unit = "D" if kind == pa.date32() else "ms" if kind == pa.date64() else kind.unit
        narrow = pa.int32() if kind.bit_width == 32 else pa.int64()
        whole = pc.fill_null(pc.cast(values.view(narrow), pa.int64()), 0).to_numpy(zero_copy_only=False)
        absent = values.is_null().to_numpy(zero_copy_only=False)
        return "time", _scaled(whole, _PARTS.get(unit, 1), _WHOLE.get(unit, 1), absent), []
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values, kind = values.dictionary_encode(), None
    if kind is None or pa.types.is_dictionary(kind):
        codes = pc.fill_null(pc.cast(values.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
        return _of_codes(codes, values.dictionary.to_pylist(), reading)
    return _of_listing(values.to_pylist(), reading)
