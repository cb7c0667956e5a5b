"""Columns of NumPy, pandas, Polars and PyArrow: what each kind goes in and comes out as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fibula._fibula import Table

    # What is made of invalid rows, the threads, and how addresses are read.
    How = dict[str, Any]
    Errors = Literal["raise", "null"]


def lookup(table: Table[Any], column: Any, out: Any, how: How) -> Any:
    """Return the values of a column; see `Table.lookup`."""
    kind = _kind(column)
    if kind == "numpy":
        if _is_object(column) and not _is_masked(column):
            values = _objects(table._lookup_objects(column.ravel(), how))
        else:
            found = indices(table, column, None, how)
            column = found
            values = table._dictionary("numpy", _objects).take(found.ravel())
        return _into(values.reshape(column.shape), out)
    _refuse_out(out)
    if kind == "pandas":
        found = indices(table, *_of_pandas(column), None, how)
        return _pandas(column, _pandas_values(table._dictionary("numpy", _objects), _filled(found)))
    if kind == "polars":
        import polars as pl

        found = pl.Series(column.name, table._indices_arrow(_of_polars(column), how))
        return table._dictionary("polars", polars_values).gather(found).alias(column.name)
    if kind == "arrow":
        import pyarrow as pa

        found = pa.chunked_array(table._indices_arrow(column, how))
        values = table._dictionary("arrow", pa.array)
        # Every index is one of `values`.
        chunks = [pa.DictionaryArray.from_arrays(c, values, safe=False) for c in found.chunks]
        return _like(column, pa.chunked_array(chunks, pa.dictionary(pa.uint32(), values.type)))
    return table._lookup_objects(column, how)


def indices(table: Table[Any], column: Any, out: Any, how: How) -> Any:
    """Return the next-hop indices of a column; see `Table.indices`."""
    kind = _kind(column)
    if kind == "numpy":
        if _is_masked(column):
            return _masked(table, column, out, how)
        return _numpy(table, column, out, how)
    _refuse_out(out)
    if kind == "pandas":
        found = indices(table, *_of_pandas(column), None, how)
        return _pandas(column, _filled(found))
    if kind == "polars":
        import polars as pl

        found = table._indices_arrow(_of_polars(column), how)
        return pl.Series(column.name, found)
    if kind == "arrow":
        import pyarrow as pa

        return _like(column, pa.chunked_array(table._indices_arrow(column, how)))
    return table._indices_objects(column, how)


def plain(table: Table[Any], column: Any, type: Any, how: How) -> Any:
    """Return the values of a column of PyArrow, each by itself: dicts as structs.

    `type` is that of the values; `how` has arguments of `Table.indices`.
    """
    # An index that loses its last route may get another value once no batch is running.
    return table._in_batch(lambda: _plain(table, column, type, how))


def _plain(table: Table[Any], column: Any, type: Any, how: How) -> Any:
    import pyarrow as pa

    found = table.indices(column, **how)
    values = table._dictionary(f"arrow {type}", lambda values: pa.array(values, type))
    if isinstance(found, pa.ChunkedArray):
        return pa.chunked_array([values.take(chunk) for chunk in found.chunks], values.type)
    return values.take(found)


def contains(table: Table[Any], series: Any, **how: Any) -> Any:
    """Return whether a route matches each address of a Polars Series."""
    import polars as pl

    return pl.Series(series.name, table._contains_arrow(_of_polars(series), how))


def _kind(column: Any) -> str:
    """Return the name of the library that a column is of, without importing it."""
    classes = [(base.__module__.partition(".")[0], base.__name__) for base in type(column).__mro__]
    names = {module for module, _ in classes}
    for name in ("numpy", "pandas", "polars"):
        if name in names:
            _refuse_other(name, {base for module, base in classes if module == name})
            return name
    if hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__"):
        return "arrow"
    if isinstance(column, str | bytes):
        msg = f"a column of addresses is expected, not {type(column).__name__}"
        raise TypeError(msg)
    return "objects"


def _refuse_other(library: str, names: set[str]) -> None:
    """Raise a TypeError that says what to pass instead of what is no column."""
    instead = {
        ("pandas", "DataFrame"): "a DataFrame has several columns: pass one, as df['src']",
        ("pandas", "Index"): "an Index is no column: pass index.to_series()",
        ("polars", "DataFrame"): "a DataFrame has several columns: pass one, as df['src']",
        ("polars", "LazyFrame"): "a LazyFrame has several columns: use fibula.polars on one",
        ("polars", "Expr"): "an expression has no rows yet: use the functions of fibula.polars",
    }
    for name in names:
        if (library, name) in instead:
            raise TypeError(instead[library, name])


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


def _is_masked(column: Any) -> bool:
    return hasattr(column, "mask") and hasattr(column, "filled")


def _masked(table: Table[Any], column: Any, out: Any, how: How) -> Any:
    """Return the indices of a masked array, 0 where it is masked."""
    import numpy as np

    mask = np.ma.getmaskarray(column)
    found = np.zeros(column.shape, np.uint32)
    try:
        found[~mask] = _numpy(table, column.data[~mask], None, how)
    except ValueError as error:
        # The row among those that are not masked.
        row, colon, what = str(error).removeprefix("row ").partition(":")
        if colon and row.isdigit():
            msg = f"row {np.flatnonzero(~mask)[int(row)]}:{what}"
            raise ValueError(msg) from None
        raise
    table._count(0, int(np.count_nonzero(mask)))
    return _into(found, out)


def _numpy(table: Table[Any], column: Any, out: Any, how: How) -> Any:
    """Return the indices of a NumPy array, 0 where there is none."""
    import numpy as np

    column = _rows(column)
    if out is None:
        out = np.empty(column.shape, np.uint32)
    elif out.shape != column.shape or out.dtype != np.uint32:
        msg = f"out is {out.dtype} of shape {out.shape}, expected uint32 of {column.shape}"
        raise ValueError(msg)
    if _is_object(column):
        found = table._indices_objects(column.ravel(), how)
        out[...] = np.reshape(found, column.shape)
        return out
    into = out if out.flags.c_contiguous else np.empty(column.shape, np.uint32)
    kind, size = column.dtype.kind, column.dtype.itemsize
    if kind in "SV" and size == 16:
        rows = np.ascontiguousarray(column).view(np.uint8).reshape(-1, 16)
        table._indices_ipv6(rows, into.reshape(-1), how)
    else:
        addresses, invalid = _ipv4(column, kind, size, how["errors"])
        if invalid is None:
            table._indices_ipv4(np.ascontiguousarray(addresses).reshape(-1), into.reshape(-1), how)
        else:
            some = np.empty(np.count_nonzero(~invalid), np.uint32)
            table._indices_ipv4(addresses[~invalid], some, how)
            table._count(int(np.count_nonzero(invalid)), 0)
            into[...] = 0
            into[~invalid] = some
    return into if into is out else _into(into, out)


def _rows(column: Any) -> Any:
    """Return an array with one element for each address."""
    import numpy as np

    dtype = column.dtype
    if dtype.names is not None or dtype.subdtype is not None:
        msg = f"an array of {dtype} holds no addresses: pass one field, or 16 bytes (V16)"
        raise TypeError(msg)
    if dtype == np.uint8 and column.ndim == 2 and column.shape[1] in (4, 16):
        return np.ascontiguousarray(column).view(f"V{column.shape[1]}").reshape(-1)
    if dtype.kind == "S" and dtype.itemsize in (4, 16):
        # Text in bytes: no 16 bytes of a real address are all letters of one.
        flat = np.ascontiguousarray(column).view(np.uint8).reshape(-1, dtype.itemsize)
        if (
            column.size
            and np.isin(flat, np.frombuffer(b"0123456789abcdefABCDEF:.\0", np.uint8)).all()
        ):
            if dtype.itemsize == 16 and (flat != 0).any(axis=1).all():
                return column.astype(str)
            if dtype.itemsize == 4 and (flat == ord(":")).any(axis=1).all():
                msg = "an array of S4 may be text or 4 bytes: pass text as str, bytes as V4"
                raise TypeError(msg)
    elif dtype.kind == "S":
        return column.astype(str)
    return column


def _ipv4(column: Any, kind: str, size: int, errors: str) -> tuple[Any, Any]:
    """Return IPv4 addresses as native integers, and which of them are none."""
    import numpy as np

    if kind in "SV" and size == 4:
        return np.ascontiguousarray(column).view(">u4").astype(np.uint32), None
    if kind == "u" and size == 4:
        return column.astype(np.uint32, copy=False), None
    if (kind in "iu" and size == 8) or (kind == "i" and size == 4):
        invalid = (column < 0) | (column >> 32 != 0) if size == 8 else column < 0
        if not invalid.any():
            return column.astype(np.uint32), None
        if errors == "raise":
            row = int(np.flatnonzero(invalid)[0])
            msg = f"row {row}: {column.ravel()[row]} is not an IPv4 address"
            raise ValueError(msg)
        return column.astype(np.uint32), invalid
    msg = (
        f"an array of {column.dtype} holds no addresses: expected uint32, text, objects, 4 or 16 "
        "bytes, or uint8 of shape (n, 4) or (n, 16)"
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


def _filled(found: Any) -> Any:
    """Return indices of any kind as an array of NumPy, 0 where there is none."""
    import numpy as np

    if hasattr(found, "fill_null"):
        found = found.fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(found, np.uint32)


def _pandas_values(values: Any, found: Any) -> Any:
    """Return the values of indices in a nullable array, by the types of all values."""
    import pandas as pd

    kinds = {type(value) for value in values[1:]}
    nullable = {int: "Int64", bool: "boolean", float: "Float64", str: "string"}
    answers = values.take(found)
    if len(kinds) == 1 and (kind := kinds.pop()) in nullable:
        try:
            return pd.array(answers, dtype=nullable[kind])
        except OverflowError:
            return answers
    return answers


def _pandas(series: Any, answers: Any) -> Any:
    """Return answers as a Series like the one asked for."""
    import pandas as pd

    return pd.Series(answers, index=series.index, name=series.name)


def _of_polars(series: Any) -> Any:
    """Return a Series that Arrow has a type for."""
    import polars as pl

    if series.dtype == pl.Object:
        msg = "a Series of objects holds no addresses: expected text, UInt32 or Binary"
        raise TypeError(msg)
    if series.dtype in (getattr(pl, name, None) for name in ("Int128", "UInt128")):
        msg = f"a Series of {series.dtype} holds no addresses: pass text, or Binary of 16 bytes"
        raise TypeError(msg)
    # Polars' own nulls have a buffer, which Arrow's have not.
    return series.cast(pl.String) if series.dtype == pl.Null else series


def polars_values(values: Sequence[Any]) -> Any:
    """Return the values as a Series."""
    import polars as pl

    return pl.Series(values, dtype=_polars_type(values), strict=True)


def _polars_type(values: Sequence[Any]) -> Any:
    """Return the type of values. Records have the fields of all, where Polars takes the first's."""
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if kinds == {dict}:
        records = [value for value in values if value is not None]
        names = dict.fromkeys(name for record in records for name in record)
        fields = {name: _polars_type([record.get(name) for record in records]) for name in names}
        return pl.Struct(fields) if fields else None
    if kinds == {list}:
        return pl.List(_polars_type([element for value in values for element in value or []]))
    if kinds == {int, float}:
        return pl.Float64
    return pl.Series(values, strict=True).dtype


def _like(column: Any, answers: Any) -> Any:
    """Return a chunked array, or one array if the column was one."""
    if not hasattr(column, "__arrow_c_array__"):
        return answers
    # One chunk would be copied.
    return answers.chunk(0) if answers.num_chunks == 1 else answers.combine_chunks()
