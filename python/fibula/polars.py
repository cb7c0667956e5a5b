r"""Lookups as Polars expressions: `import fibula.polars` adds the namespace `fibula`.

>>> import fibula, fibula.polars
>>> import polars as pl
>>> t = fibula.Table({"10.0.0.0/8": "corp", "10.1.0.0/16": "lab"})
>>> flows = pl.LazyFrame({"src": ["10.1.2.3", "10.2.3.4", "192.0.2.1", None]})
>>> src = pl.col("src").fibula
>>> flows.select(src.lookup(t), prefix=src.prefix(t), known=src.contains(t)).collect().rows()
[('lab', '10.1.0.0/16', True), ('corp', '10.0.0.0/8', True), (None, None, False),
 (None, None, None)]

A column of prefixes has questions of its own:

>>> routes = pl.LazyFrame({"prefix": ["10.1.2.0/24", "0.0.0.0/1"], "origin": [64500, 64501]})
>>> prefix = pl.col("prefix").fibula
>>> routes.select(prefix.covering(t), covered=prefix.covered(t), overlaps=prefix.overlaps(t)
...     ).collect().rows()
[('10.1.0.0/16', True, True), (None, False, True)]
>>> vrps = fibula.Vrps(b"ASN,IP Prefix,Max Length\nAS64500,10.0.0.0/8,24\n")
>>> routes.select(prefix.validity(vrps, "origin")).collect().to_series().to_list()
['valid', 'not-found']

The package's library is a plugin of Polars: it answers each chunk without the interpreter, and the
plan keeps the table. Where this Polars calls no plugins of its version, or Arrow has no type for
the values, a function in Python answers the same by `map_batches`.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import fibula
from fibula import _columns, _fibula

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypedDict

    from typing_extensions import Unpack

    from fibula._fibula import PolarsHandle, Table, Vrps

    class How(TypedDict, total=False):
        """How addresses are read, as in `Table.lookup`."""

        errors: Literal["raise", "null"]
        threads: int
        unmap: bool | str
        clean: bool

    Question = Literal["lookup", "contains"]
    Errors = Literal["raise", "null"]

__all__ = ["Namespace"]

_DEFAULT: How = {"errors": "raise", "threads": 1, "unmap": False, "clean": False}
_LIBRARY = Path(_fibula.__file__)


@pl.api.register_expr_namespace("fibula")
class Namespace:
    """What a column of addresses or prefixes may be asked: `pl.col("src").fibula`.

    `errors`, `threads`, `unmap` and `clean` are as in `Table.lookup`.
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    def lookup(self, table: Table[Any], **how: Unpack[How]) -> pl.Expr:
        """Return the value of the longest prefix that matches."""
        dtype = table._dictionary("polars", _columns.polars_values).dtype
        return self._ask("lookup", table, dtype, how)

    def prefix(self, table: Table[Any], **how: Unpack[How]) -> pl.Expr:
        """Return the longest prefix that matches, as text.

        The first use after a change makes a table of the prefixes, which takes a second for a
        million.
        """
        return self._ask("lookup", table._prefixes(), pl.String, how)

    def contains(self, table: Table[Any], **how: Unpack[How]) -> pl.Expr:
        """Return whether any prefix matches; null for null, and for what is no address."""
        return self._ask("contains", table, pl.Boolean, how)

    def covering(self, table: Table[Any], *, errors: Errors = "raise") -> pl.Expr:
        """Return the longest prefix of the table that covers the column's prefix, as text.

        An address is its host prefix.
        """
        ask = functools.partial(table._covering_arrow, errors=errors)
        return self._of_prefixes(ask, pl.String)

    def covered(self, table: Table[Any], *, errors: Errors = "raise") -> pl.Expr:
        """Return whether a prefix of the table covers the column's prefix."""
        ask = functools.partial(table._covered_arrow, errors=errors)
        return self._of_prefixes(ask, pl.Boolean)

    def overlaps(self, table: Table[Any], *, errors: Errors = "raise") -> pl.Expr:
        """Return whether the table matches any address of the column's prefix."""
        ask = functools.partial(table._overlaps_arrow, errors=errors)
        return self._of_prefixes(ask, pl.Boolean)

    def validity(self, vrps: Vrps, origin: str | pl.Expr, *, errors: Errors = "raise") -> pl.Expr:
        """Return what RPKI says of the routes of these prefixes and origins, as `Vrps.validity`.

        `origin` is a column of AS numbers. Without an origin the answer is null.
        """

        def ask(routes: pl.Series) -> Any:
            prefixes, origins = routes.struct.unnest().get_columns()
            return vrps._validity_arrow(_columns._of_polars(prefixes), origins, errors)

        origins = (pl.col(origin) if isinstance(origin, str) else origin).cast(pl.UInt32)
        routes = pl.struct(self._expr, origins.alias("fibula origin"))
        return Namespace(routes)._of_prefixes(ask, pl.String)

    def _of_prefixes(self, ask: Callable[[Any], Any], dtype: Any) -> pl.Expr:
        def answers(series: pl.Series) -> pl.Series:
            return pl.Series(series.name, ask(_columns._of_polars(series)), dtype=dtype)

        return self._expr.map_batches(answers, return_dtype=dtype, is_elementwise=True)

    def _ask(self, question: Question, table: Table[Any], dtype: Any, how: How) -> pl.Expr:
        how = {**_DEFAULT, **how}
        handle = None
        if dtype != pl.Object and _calls_plugin():
            handle = _fibula.PolarsHandle.of(table, question, how)
        answers: Callable[[pl.Series], pl.Series]
        if handle is not None:
            # The plan keeps the handle as the function that it calls with the answers.
            asked, answers = _call(self._expr, handle), handle
        else:
            ask = (
                table.lookup
                if question == "lookup"
                else functools.partial(_columns.contains, table)
            )
            asked, answers = self._expr, functools.partial(ask, **how)
        return asked.map_batches(answers, return_dtype=dtype, is_elementwise=True)


def _call(expr: pl.Expr, handle: PolarsHandle) -> pl.Expr:
    from polars.plugins import register_plugin_function

    return register_plugin_function(
        plugin_path=_LIBRARY,
        function_name="fibula_answer",
        args=[expr],
        kwargs=handle.keywords,
        is_elementwise=True,
    )


@functools.cache
def _calls_plugin() -> bool:
    """Return whether this Polars calls the plugin, by trying: Polars has the versions compared."""
    handle = _fibula.PolarsHandle.of(fibula.Table({"10.0.0.0/8": 0}), "contains", _DEFAULT)
    try:
        return handle is not None and pl.select(_call(pl.lit("10.0.0.1"), handle)).item() is True
    except (ImportError, pl.exceptions.PolarsError):
        return False
