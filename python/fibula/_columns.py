"""Columns of NumPy, pandas, Polars and PyArrow: what each kind goes in and comes out as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fibula._fibula import Table


def lookup(table: Table[Any], column: Any, errors: str, out: Any, threads: int) -> Any:
    """Return the values of a column; see `Table.lookup`."""
    kind = _kind(column)
    if kind == "numpy":
        if _is_object(column):
            values = _objects(table._lookup_objects(column.ravel(), errors))
        else:
            found = _numpy(table, column, errors, None, threads)
            values = table._dictionary("numpy", _objects).take(found.ravel())
        return _into(values.reshape(column.shape), out)
    _refuse_out(out)
    if kind == "pandas":
        return _pandas(column, lookup(table, *_of_pandas(column), errors, None, threads))
    if kind == "polars":
        import polars as pl

        found = pl.Series(column.name, table._indices_arrow(_of_polars(column), errors, threads))
        return table._dictionary("polars", polars_values).gather(found).alias(column.name)
    if kind == "arrow":
        import pyarrow as pa

        found = pa.chunked_array(table._indices_arrow(column, errors, threads))
        values = table._dictionary("arrow", pa.array)
        # Every index is one of `values`.
        chunks = [pa.DictionaryArray.from_arrays(c, values, safe=False) for c in found.chunks]
        return _like(column, pa.chunked_array(chunks, pa.dictionary(pa.uint32(), values.type)))
    return table._lookup_objects(column, errors)


def indices(table: Table[Any], column: Any, errors: str, out: Any, threads: int) -> Any:
    """Return the next-hop indices of a column; see `Table.indices`."""
    kind = _kind(column)
    if kind == "numpy":
        return _numpy(table, column, errors, out, threads)
    _refuse_out(out)
    if kind == "pandas":
        found = indices(table, *_of_pandas(column), errors, None, threads)
        return _pandas(column, found.fill_null(0) if hasattr(found, "fill_null") else found)
    if kind == "polars":
        import polars as pl

        return pl.Series(column.name, table._indices_arrow(_of_polars(column), errors, threads))
    if kind == "arrow":
        import pyarrow as pa

        return _like(column, pa.chunked_array(table._indices_arrow(column, errors, threads)))
    return table._indices_objects(column, errors)


def contains(table: Table[Any], series: Any, errors: str, threads: int) -> Any:
    """Return whether a route matches each address of a Polars Series."""
    import polars as pl

    return pl.Series(series.name, table._contains_arrow(_of_polars(series), errors, threads))


def _kind(column: Any) -> str:
    """Return the name of the library that a column is of, without importing it."""
    names = {base.__module__.partition(".")[0] for base in type(column).__mro__}
    for name in ("numpy", "pandas", "polars"):
        if name in names:
            return name
    if hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__"):
        return "arrow"
    if isinstance(column, str | bytes):
        msg = f"a column of addresses is expected, not {type(column).__name__}"
        raise TypeError(msg)
    return "objects"


def _refuse_out(out: Any) -> None:
    if out is not None:
        msg = "out is for NumPy arrays"
        raise TypeError(msg)


def _into(values: Any, out: Any) -> Any:
    if out is None:
        return values
    out[...] = values
    return out


def _is_object(column: Any) -> bool:
    return column.dtype.kind in "OUT"


def _numpy(table: Table[Any], column: Any, errors: str, out: Any, threads: int) -> Any:
    """Return the indices of a NumPy array, 0 where there is none."""
    import numpy as np

    if out is None:
        out = np.empty(column.shape, np.uint32)
    elif out.shape != column.shape or out.dtype != np.uint32:
        msg = f"out is {out.dtype} of shape {out.shape}, expected uint32 of {column.shape}"
        raise ValueError(msg)
    if _is_object(column):
        out[...] = np.reshape(table._indices_objects(column.ravel(), errors), column.shape)
        return out
    into = out if out.flags.c_contiguous else np.empty(column.shape, np.uint32)
    kind, size = column.dtype.kind, column.dtype.itemsize
    if kind in "SV" and size == 16:
        rows = np.ascontiguousarray(column).view(np.uint8).reshape(-1, 16)
        table._indices_ipv6(rows, into.reshape(-1), threads)
    else:
        addresses, invalid = _ipv4(column, kind, size, errors)
        table._indices_ipv4(np.ascontiguousarray(addresses).reshape(-1), into.reshape(-1), threads)
        if invalid is not None:
            into[invalid] = 0
    return into if into is out else _into(into, out)


def _ipv4(column: Any, kind: str, size: int, errors: str) -> tuple[Any, Any]:
    """Return IPv4 addresses as native integers, and which of them are none."""
    import numpy as np

    if kind in "SV" and size == 4:
        return np.ascontiguousarray(column).view(">u4").astype(np.uint32), None
    if kind == "u" and size <= 4:
        return column.astype(np.uint32, copy=False), None
    if kind in "iu":
        invalid = (column < 0) | (column >> 32 != 0) if size == 8 else column < 0
        if not invalid.any():
            return column.astype(np.uint32), None
        if errors == "raise":
            row = int(np.flatnonzero(invalid)[0])
            msg = f"row {row}: {column.ravel()[row]} is not an IPv4 address"
            raise ValueError(msg)
        return column.astype(np.uint32), invalid
    msg = (
        f"an array of {column.dtype} holds no addresses: "
        "expected uint32, text, objects, or 4 or 16 bytes"
    )
    raise TypeError(msg)


def _objects(values: Sequence[Any]) -> Any:
    """Return an array of objects, also where they are sequences."""
    import numpy as np

    return np.fromiter(values, object, len(values))


def _of_pandas(series: Any) -> tuple[Any]:
    """Return what a Series is made of: NumPy's integers or Arrow's array, else its objects."""
    import numpy as np

    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu":
        return (series.to_numpy(),)
    try:
        import pyarrow as pa

        return (pa.array(series, from_pandas=True),)
    except (ImportError, ValueError, TypeError, NotImplementedError):
        missing = zip(series, series.isna(), strict=True)
        return ([None if is_missing else value for value, is_missing in missing],)


def _pandas(series: Any, answers: Any) -> Any:
    """Return answers as a Series like the one asked for."""
    import pandas as pd

    if hasattr(answers, "to_pandas"):
        values = getattr(answers.type, "value_type", answers.type)
        answers = answers.cast(values).to_pandas().array
    return pd.Series(answers, index=series.index, name=series.name)


def _of_polars(series: Any) -> Any:
    """Return a Series that Arrow has a type for."""
    import polars as pl

    if series.dtype == pl.Object:
        msg = "a Series of objects holds no addresses: expected text, UInt32 or Binary"
        raise TypeError(msg)
    # Polars' own nulls have a buffer, which Arrow's have not.
    return series.cast(pl.String) if series.dtype == pl.Null else series


def polars_values(values: Sequence[Any]) -> Any:
    """Return the values as a Series."""
    import polars as pl

    return pl.Series(values, strict=True)


def _like(column: Any, answers: Any) -> Any:
    """Return a chunked array, or one array if the column was one."""
    if not hasattr(column, "__arrow_c_array__"):
        return answers
    # One chunk would be copied.
    return answers.chunk(0) if answers.num_chunks == 1 else answers.combine_chunks()
