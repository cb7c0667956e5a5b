"""Lookups as functions of DataFusion.

>>> import datafusion, fibula, fibula.datafusion
>>> t = fibula.Table({"10.0.0.0/8": "corp", "10.1.0.0/16": "lab"})
>>> context = datafusion.SessionContext()
>>> context.register_udf(fibula.datafusion.udf(t, "site"))
>>> flows = context.from_pydict({"src": ["10.1.2.3", "192.0.2.1"]}, name="flows")
>>> context.sql("SELECT site(src) AS site FROM flows").to_pydict()
{'site': ['lab', None]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import datafusion
import pyarrow as pa

from fibula._columns import plain

if TYPE_CHECKING:
    from fibula._fibula import Table

__all__ = ["udf"]


def udf(
    table: Table[Any],
    name: str,
    *,
    type: pa.DataType | None = None,
    errors: Literal["raise", "null"] = "raise",
    unmap: bool | str | None = None,
    clean: bool = False,
) -> datafusion.ScalarUDF:
    """Return a function that looks addresses up, to be called or registered.

    `type` is that of the addresses, by default `pa.string()`; see `Table.lookup` for what it may
    be, and what `errors`, `unmap` and `clean` say. The values are of one Arrow type; a `dict` is a
    struct.
    """
    values = table._dictionary("arrow", pa.array).type

    how = {"errors": errors, "unmap": unmap, "clean": clean}

    def answer(column: pa.Array) -> pa.Array:
        return plain(table, column, values, how)

    return datafusion.udf(answer, [type or pa.string()], values, "stable", name)
