"""Lookups as Polars expressions: `import fibula.polars` adds the namespace `fibula`.

>>> import fibula, fibula.polars
>>> import polars as pl
>>> t = fibula.Table({"10.0.0.0/8": "corp", "10.1.0.0/16": "lab"})
>>> flows = pl.LazyFrame({"src": ["10.1.2.3", "10.2.3.4", "192.0.2.1", None]})
>>> src = pl.col("src").fibula
>>> flows.select(src.lookup(t), prefix=src.prefix(t), known=src.contains(t)).collect().rows()
[('lab', '10.1.0.0/16', True), ('corp', '10.0.0.0/8', True), (None, None, False),
 (None, None, None)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from fibula import _columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from fibula._fibula import Table

    Errors = Literal["raise", "null"]

__all__ = ["Namespace"]


@pl.api.register_expr_namespace("fibula")
class Namespace:
    """What a column of addresses may be asked: `pl.col("src").fibula`."""

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    def lookup(self, table: Table[Any], *, errors: Errors = "raise", threads: int = 1) -> pl.Expr:
        """Return the value of the longest prefix that matches; see `Table.lookup`."""
        dtype = table._dictionary("polars", _columns.polars_values).dtype
        return self._map(lambda series: table.lookup(series, errors=errors, threads=threads), dtype)

    def prefix(self, table: Table[Any], *, errors: Errors = "raise", threads: int = 1) -> pl.Expr:
        """Return the longest prefix that matches, as text.

        The first use after a change makes a table of the prefixes, which takes a second for a
        million.
        """
        prefixes = table._prefixes()
        return self._map(
            lambda series: prefixes.lookup(series, errors=errors, threads=threads), pl.String
        )

    def contains(self, table: Table[Any], *, errors: Errors = "raise", threads: int = 1) -> pl.Expr:
        """Return whether any prefix matches; null for null, and for what is no address."""
        return self._map(
            lambda series: _columns.contains(table, series, errors, threads), pl.Boolean
        )

    def _map(self, answer: Callable[[pl.Series], pl.Series], dtype: Any) -> pl.Expr:
        return self._expr.map_batches(answer, return_dtype=dtype, is_elementwise=True)
