"""Lookups as functions of DuckDB.

>>> import duckdb, fibula, fibula.duckdb
>>> t = fibula.Table({"10.0.0.0/8": "corp", "10.1.0.0/16": "lab"})
>>> con = duckdb.connect()
>>> fibula.duckdb.register(con, t, "site")
>>> con.sql("SELECT a, site(a) FROM (VALUES ('10.1.2.3'), ('192.0.2.1'), (NULL)) v(a)").fetchall()
[('10.1.2.3', 'lab'), ('192.0.2.1', None), (None, None)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import duckdb
import pyarrow as pa

from fibula._columns import plain

if TYPE_CHECKING:
    from fibula._fibula import Table

__all__ = ["register"]


def register(
    con: duckdb.DuckDBPyConnection,
    table: Table[Any],
    name: str,
    *,
    type: Literal["VARCHAR", "UINTEGER", "BLOB"] = "VARCHAR",
    errors: Literal["raise", "null"] = "raise",
    unmap: bool | str | None = None,
    clean: bool = False,
) -> None:
    """Make `name(address)` a function of a connection, which returns the value of a lookup.

    `type` is that of the addresses: text, IPv4 as `UINTEGER`, or 4 or 16 bytes. The values are
    all `str`, all `int`, or of another type that DuckDB and Arrow share: a `dict` is a `STRUCT`,
    a `list` a list. `errors`, `unmap` and `clean` are as in `Table.lookup`.

    The function answers from the table as it is when a query runs. Values that are added later
    must be of the same type.
    """
    values = table._dictionary("arrow", pa.array).type

    how = {"errors": errors, "unmap": unmap, "clean": clean}

    def answer(column: Any) -> Any:
        return plain(table, column, values, how)

    create: Any = con.create_function  # its types name enumerations that are not public
    create(
        name,
        answer,
        [duckdb.sqltype(type)],
        _type_of(values),
        type="arrow",
        null_handling="special",
    )


def _type_of(values: pa.DataType) -> Any:
    """Return the type that DuckDB gives to what Arrow calls `values`."""
    if pa.types.is_null(values):
        return duckdb.sqltype("VARCHAR")
    empty = pa.table({"value": pa.array([], values)})
    return duckdb.connect().from_arrow(empty).types[0]
