"""Data of any kind as columns of numbers, without a copy where that is possible.

A column goes to the extension module as its title, what its cells are, an array of ``float64``, and the words that the
numbers of a column of text stand for. Columns that are ``float64`` and contiguous already are lent, not copied.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np
from numpy.typing import NDArray

from ._core import FRAME
from ._errors import LogError

Column = tuple[str, str, NDArray[np.float64], list[str]]
Frame = tuple[list[Column], list[str]]
Wanted = Callable[[str], bool]

#: What a cell of text may say instead of nothing.
_MISSING = frozenset(["", "nan", "NaN", "NA", "N/A", "n/a", "null", "NULL", "None", "-"])


def is_path(data: Any) -> bool:
    """Whether data are a file, or files."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(one, (str, os.PathLike)) for one in data)


def paths(data: Any) -> list[str]:
    """The files that data are, as absolute paths."""
    files = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    return [str(Path(os.fspath(file)).absolute()) for file in files]


def frames(data: Any, names: Optional[Iterable[str]] = None, missing: Iterable[str] = ()) -> list[Frame]:
    """The frames of data in memory: one, or several in the order of time. ``names`` are the columns that are read."""
    wanted = _wanted(names)
    parts = list(data) if isinstance(data, (list, tuple)) and not _is_rows(data) else [data]
    if not parts:
        raise LogError("the log is an empty list", remedy="give a frame, or a list of frames", file=FRAME)
    return [_frame(part, wanted, _MISSING | frozenset(missing)) for part in parts]


def _is_rows(data: Sequence[Any]) -> bool:
    return len(data) > 0 and all(isinstance(row, Mapping) and not any(np.ndim(v) for v in row.values()) for row in data)


def _wanted(names: Optional[Iterable[str]]) -> Wanted:
    if names is None:
        return lambda title: True
    known = frozenset(names)

    def is_wanted(title: str) -> bool:
        if title in known:
            return True
        # A unit may stand behind the name: level[m], level (m).
        for opens, closes in ("[]", "()"):
            if title.endswith(closes) and opens in title:
                return title[: title.rindex(opens)].strip() in known
        return False

    return is_wanted


def _frame(data: Any, wanted: Wanted, missing: frozenset[str]) -> Frame:
    columns: list[Column] = []
    titles: list[str] = []
    rows: Optional[int] = None
    for title, values in _columns(data):
        titles.append(title)
        if not wanted(title):
            continue
        column = _column(title, values, missing)
        if rows is not None and len(column[2]) != rows:
            raise LogError(
                f"{FRAME}, column `{title}`: it has {len(column[2])} rows, and `{columns[0][0]}` has {rows}",
                remedy="give columns of the same length",
                file=FRAME,
                column=title,
            )
        rows = len(column[2])
        columns.append(column)
    return columns, titles


def _columns(data: Any) -> Iterable[tuple[str, Any]]:
    """The columns of whatever can be understood as some, under their titles."""
    from . import datasets

    if datasets.is_dataset(data):
        return list(_of_mapping(datasets.columns(data)))
    if isinstance(data, (list, tuple)):
        keys = list(dict.fromkeys(key for row in data for key in row))
        return [(str(key), [row.get(key) for row in data]) for key in keys]
    if isinstance(data, Mapping):
        return list(_of_mapping(data))
    if isinstance(data, np.ndarray) and data.dtype.names:
        return [(name, data[name]) for name in data.dtype.names]
    if isinstance(data, np.ndarray):
        raise LogError(
            f"{FRAME}: an array of shape {data.shape} has no names for its columns",
            remedy="give a dictionary: {'level': array[:, 0], 'valve': array[:, 1]}",
            file=FRAME,
        )
    kind = type(data).__module__.split(".")[0]
    if kind == "pandas" and hasattr(data, "columns"):
        # By place, because several columns may have the same name.
        named = [(str(title), data.iloc[:, place]) for place, title in enumerate(data.columns)]
        return _with_index(data, named)
    if kind == "polars":
        data = data.collect() if hasattr(data, "collect") else data
        return [(series.name, series) for series in data.get_columns()]
    if kind == "pyarrow" and hasattr(data, "column_names"):
        return [(name, data.column(place)) for place, name in enumerate(data.column_names)]
    if hasattr(data, "__arrow_c_stream__"):
        try:
            import pyarrow
        except ImportError:
            raise LogError(
                f"{FRAME}: {type(data).__name__} speaks Arrow, and pyarrow is not installed",
                remedy="pip install pyarrow; or give a frame of pandas or polars",
                file=FRAME,
            ) from None
        return _columns(pyarrow.table(data))
    raise LogError(
        f"{FRAME}: {type(data).__name__} is no log",
        remedy="give a frame of pandas, polars or Arrow, a dictionary of arrays, a data set of Minari or d3rlpy, or the path "
        "of a file",
        file=FRAME,
    )


def _with_index(frame: Any, named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """A frame's index is a column if it has a name, or is one of time."""
    index = frame.index
    if getattr(index, "nlevels", 1) > 1:
        levels = [(str(name), index.get_level_values(name)) for name in index.names if name is not None]
        return levels + named
    is_time = "datetime" in str(index.dtype)
    if index.name is None and not is_time:
        return named
    title = "time" if index.name is None else str(index.name)
    return named if any(title == other for other, _ in named) else [(title, index), *named]


def _of_mapping(data: Mapping[Any, Any]) -> Iterable[tuple[str, Any]]:
    for key, values in data.items():
        title = str(key)
        if type(values).__module__.split(".")[0] in ("pandas", "polars", "pyarrow"):
            yield title, values
            continue
        array = values if isinstance(values, np.ndarray) else np.asarray(_listed(values))
        if array.ndim == 2:
            # As in files of arrays: each column of its own.
            for place in range(array.shape[1]):
                yield f"{title}_{place}", array[:, place]
        else:
            yield title, array


def _listed(values: Any) -> Any:
    return values if isinstance(values, (list, tuple, str)) or np.ndim(values) > 0 else [values]


def _column(title: str, values: Any, missing: frozenset[str]) -> Column:
    kind = type(values).__module__.split(".")[0]
    try:
        if kind == "pandas":
            return _of_pandas(title, values, missing)
        if kind == "polars":
            return _of_polars(title, values, missing)
        if kind == "pyarrow":
            return _of_arrow(title, values, missing)
        return _of_array(title, np.asarray(values), missing)
    except (TypeError, ValueError) as error:
        if isinstance(error, LogError):
            raise
        told = f"{FRAME}, column `{title}`: it cannot be read: {error}"
        raise LogError(told, remedy="give numbers, times or words", file=FRAME, column=title) from error


def _lent(array: NDArray[Any]) -> NDArray[np.float64]:
    """The same numbers as contiguous ``float64``: the very array where it is so already."""
    return np.ascontiguousarray(array, dtype=np.float64)


def _numbers(title: str, array: NDArray[Any]) -> Column:
    return title, "number", _lent(array), []


def _of_array(title: str, array: NDArray[Any], missing: frozenset[str]) -> Column:
    if isinstance(array, np.ma.MaskedArray):
        array = np.where(np.ma.getmaskarray(array), np.nan, np.ma.getdata(array).astype(np.float64))
    if array.ndim != 1:
        raise LogError(
            f"{FRAME}, column `{title}`: an array of shape {array.shape} is no column",
            remedy="give a value for each row",
            file=FRAME,
            column=title,
        )
    letter = array.dtype.kind
    if letter in "fiub":
        return _numbers(title, array)
    if letter in "mM":
        return title, "time", _seconds(array), []
    if letter == "c":
        raise LogError(
            f"{FRAME}, column `{title}`: complex numbers are no measurements",
            remedy="give their real and imaginary parts as columns",
            file=FRAME,
            column=title,
        )
    return _of_objects(title, array.tolist(), missing)


def _seconds(array: NDArray[Any]) -> NDArray[np.float64]:
    whole = array.astype("datetime64[ns]" if array.dtype.kind == "M" else "timedelta64[ns]")
    seconds = whole.astype(np.int64).astype(np.float64) * 1e-9
    seconds[np.isnat(whole)] = np.nan
    return seconds


def _of_objects(title: str, cells: Sequence[Any], missing: frozenset[str]) -> Column:
    """Cells of any kind: numbers where all of them are, else words."""
    present = [cell for cell in cells if not _is_missing(cell, missing)]
    if all(hasattr(cell, "timestamp") for cell in present) and present:
        times = [np.nan if _is_missing(cell, missing) else float(cell.timestamp()) for cell in cells]
        return title, "time", np.asarray(times, dtype=np.float64), []
    if not any(isinstance(cell, (str, bytes)) for cell in present):
        try:
            numbers = [np.nan if _is_missing(cell, missing) else float(cell) for cell in cells]
            return title, "number", np.asarray(numbers, dtype=np.float64), []
        except (TypeError, ValueError):
            pass
    places: dict[str, int] = {}
    codes = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if not _is_missing(cell, missing):
            word = cell if isinstance(cell, str) else cell.decode(errors="replace") if isinstance(cell, bytes) else str(cell)
            codes[row] = places.setdefault(word, len(places))
    return title, "text", codes, list(places)


def _is_missing(cell: Any, missing: frozenset[str]) -> bool:
    if cell is None or (isinstance(cell, str) and cell.strip() in missing):
        return True
    # NaN, NaT and pandas' NA are none of them equal to themselves; NA does not even say so.
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):
        return type(cell).__name__ == "NAType"


def _of_pandas(title: str, series: Any, missing: frozenset[str]) -> Column:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_codes(title, series.codes if hasattr(series, "codes") else series.cat.codes, dtype.categories, missing)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        if getattr(dtype, "tz", None) is not None:
            series = series.tz_convert("UTC") if isinstance(series, pd.Index) else series.dt.tz_convert("UTC")
            series = series.tz_localize(None) if isinstance(series, pd.Index) else series.dt.tz_localize(None)
        return title, "time", _seconds(series.to_numpy()), []
    if pd.api.types.is_timedelta64_dtype(dtype):
        return title, "time", _seconds(series.to_numpy()), []
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        if isinstance(dtype, np.dtype):
            return _of_array(title, series.to_numpy(), missing)
        # Types that know of missing values.
        return _numbers(title, series.to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_object_dtype(dtype):
        return _of_objects(title, series.tolist(), missing)
    if pd.api.types.is_string_dtype(dtype):
        codes, words = pd.factorize(series)
        return _of_codes(title, codes, words, missing)
    return _of_objects(title, series.astype(object).tolist(), missing)


def _of_codes(title: str, codes: Any, words: Any, missing: frozenset[str]) -> Column:
    """Numbers that stand for words; a negative one for none. Categories that are numbers are numbers."""
    codes = np.asarray(codes, dtype=np.float64).copy()
    codes[codes < 0] = np.nan
    listed = [word if isinstance(word, str) else word for word in list(words)]
    if listed and not any(isinstance(word, str) for word in listed):
        try:
            of = np.asarray([float(word) for word in listed])
        except (TypeError, ValueError):
            pass
        else:
            known = ~np.isnan(codes)
            codes[known] = of[codes[known].astype(np.int64)]
            return title, "number", codes, []
    texts = [str(word) for word in listed]
    for place, text in enumerate(texts):
        if text.strip() in missing:
            codes[codes == place] = np.nan
    return title, "text", codes, texts


def _of_polars(title: str, series: Any, missing: frozenset[str]) -> Column:
    import polars as pl

    dtype = series.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        if dtype == pl.Float64 and series.null_count() == 0:
            # The very memory of the frame, where it is in one piece.
            return _numbers(title, series.to_numpy())
        return _numbers(title, series.cast(pl.Float64).to_numpy())
    if dtype == pl.Date:
        series, dtype = series.cast(pl.Datetime("us")), pl.Datetime("us")
    if isinstance(dtype, (pl.Datetime, pl.Duration)) or dtype in (pl.Datetime, pl.Duration):
        unit = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}[getattr(dtype, "time_unit", None) or "us"]
        seconds = series.cast(pl.Int64).cast(pl.Float64).to_numpy() * unit
        return title, "time", _lent(seconds), []
    if dtype == pl.Time:
        return title, "time", _lent(series.cast(pl.Int64).cast(pl.Float64).to_numpy() * 1e-9), []
    if dtype in (pl.Categorical, pl.Enum) or isinstance(dtype, (pl.Categorical, pl.Enum)):
        series, dtype = series.cast(pl.String), pl.String
    return _of_objects(title, series.to_list(), missing)


def _of_arrow(title: str, values: Any, missing: frozenset[str]) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], type=values.type)
    kind = values.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        if values.null_count == 0 and not pa.types.is_boolean(kind):
            return _numbers(title, values.to_numpy(zero_copy_only=False))
        filled = pc.fill_null(pc.cast(values, pa.float64(), safe=False), float("nan"))
        return _numbers(title, filled.to_numpy(zero_copy_only=False))
    if pa.types.is_decimal(kind):
        filled = pc.fill_null(pc.cast(values, pa.float64()), float("nan"))
        return _numbers(title, filled.to_numpy(zero_copy_only=False))
    if pa.types.is_temporal(kind):
        if pa.types.is_time(kind):
            unit = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
            whole = pc.cast(values, pa.int32() if kind.bit_width == 32 else pa.int64())
            filled = pc.fill_null(pc.cast(whole, pa.float64(), safe=False), float("nan"))
            return title, "time", _lent(filled.to_numpy(zero_copy_only=False) * unit), []
        return title, "time", _seconds(values.to_numpy(zero_copy_only=False)), []
    if pa.types.is_dictionary(kind):
        codes = pc.fill_null(pc.cast(values.indices, pa.float64()), -1.0).to_numpy(zero_copy_only=False)
        return _of_codes(title, codes, values.dictionary.to_pylist(), missing)
    return _of_objects(title, values.to_pylist(), missing)
