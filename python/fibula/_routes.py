"""The routes of a table, as a mapping from exactly their prefixes."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, MutableMapping, ValuesView
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    from fibula._fibula import Table

    Prefix: TypeAlias = str | IPv4Network | IPv6Network | IPv4Address | IPv6Address

V = TypeVar("V")


class Difference(NamedTuple):
    """One prefix in which two tables differ; see `Table.diff`."""

    kind: Literal["added", "removed", "changed"]
    prefix: str
    before: Any
    after: Any


class Routes(MutableMapping["Prefix", V]):
    """The routes of a table: `table.routes`.

    Keys are prefixes, as text when they come out, in order: IPv4 first, by address, then by
    length. The table may change while one walks them.

    >>> import fibula
    >>> t = fibula.Table({"10.1.0.0/16": "lab", "10.0.0.0/8": "corp"})
    >>> t.routes["10.1.0.0/16"]
    'lab'
    >>> t.routes["10.2.0.0/16"] = "office"
    >>> del t.routes["10.1.0.0/16"]
    >>> list(t.routes.items())
    [('10.0.0.0/8', 'corp'), ('10.2.0.0/16', 'office')]
    >>> "10.1.2.3/32" in t.routes
    False
    """

    __slots__ = ("_table",)

    def __init__(self, table: Table[V]) -> None:
        self._table = table

    def __getitem__(self, prefix: Prefix) -> V:
        return self._table._exact(prefix)

    def __setitem__(self, prefix: Prefix, value: V) -> None:
        self._table.insert(prefix, value)

    def __delitem__(self, prefix: Prefix) -> None:
        self._table._remove(prefix)

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[str]:
        return (prefix for prefix, _ in self._table._walk())

    def items(self) -> _Items[V]:
        """Return the routes as pairs, in order."""
        return _Items(self)

    def values(self) -> _Values[V]:
        """Return the values in order of their prefixes."""
        return _Values(self)

    def clear(self) -> None:
        """Remove all routes."""
        self._table._clear()

    def covering(self, prefix: Prefix) -> list[tuple[str, V]]:
        """Return the routes that cover a prefix or an address, itself included, longest first.

        >>> import fibula
        >>> t = fibula.Table({"10.1.0.0/16": "lab", "10.0.0.0/8": "corp"})
        >>> t.routes.covering("10.1.2.3")
        [('10.1.0.0/16', 'lab'), ('10.0.0.0/8', 'corp')]
        """
        return self._table._covering(prefix)

    def covered(self, prefix: Prefix) -> list[tuple[str, V]]:
        """Return the routes that a prefix covers, itself included, in order.

        >>> import fibula
        >>> t = fibula.Table({"10.1.0.0/16": "lab", "10.0.0.0/8": "corp"})
        >>> t.routes.covered("10.0.0.0/9")
        [('10.1.0.0/16', 'lab')]
        """
        return self._table._covered(prefix)

    def __repr__(self) -> str:
        return f"<routes of {self._table!r}>"


class _Items(ItemsView["Prefix", V]):
    """The routes as pairs, fetched many at a time."""

    _mapping: Routes[V]

    def __iter__(self) -> Iterator[tuple[str, V]]:
        return self._mapping._table._walk()


class _Values(ValuesView[V]):
    """The values, fetched many at a time."""

    _mapping: Routes[V]

    def __iter__(self) -> Iterator[V]:
        return (value for _, value in self._mapping._table._walk())
