"""The contenders: how each loads a table, and what addresses it takes."""

from __future__ import annotations

import gzip
import ipaddress
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import fibula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[[Any], Any]


class Contender(NamedTuple):
    """One way to look addresses up."""

    load: Callable[[str, int], Answer]
    form: Callable[[list[int], int], Any]
    families: tuple[int, ...] = (4, 6)
    slow: bool = False


def _texts(numbers: list[int], family: int) -> list[str]:
    kind = ipaddress.IPv4Address if family == 4 else ipaddress.IPv6Address
    return [str(kind(number)) for number in numbers]


def _arrow_texts(numbers: list[int], family: int) -> Any:
    import pyarrow as pa

    return pa.array(_texts(numbers, family))


def _numpy(numbers: list[int], family: int) -> Any:
    import numpy as np

    if family == 4:
        return np.array(numbers, np.uint32)
    return np.frombuffer(b"".join(n.to_bytes(16, "big") for n in numbers), "V16")


def _arrow(numbers: list[int], family: int) -> Any:
    import pyarrow as pa

    if family == 4:
        return pa.array(_numpy(numbers, 4))
    return pa.array([n.to_bytes(16, "big") for n in numbers], pa.binary(16))


def _each(ask: Callable[[str], Any], value: Callable[[Any], Any] | None = None) -> Answer:
    """Return what asks for one address after the other."""

    def answer(texts: list[str]) -> list[Any]:
        found = [ask(text) for text in texts]
        return found if value is None else [value(v) for v in found]

    def timed(texts: list[str]) -> None:
        for text in texts:
            ask(text)

    answer.timed = timed  # type: ignore[attr-defined]
    return answer


def _item(table: str, _: int) -> Answer:
    t = fibula.read(table)

    def timed(texts: list[str]) -> None:
        for text in texts:
            t[text]

    answer = _each(t.__getitem__)
    answer.timed = timed  # type: ignore[attr-defined]
    return answer


def _get(table: str, _: int) -> Answer:
    return _each(fibula.read(table).get)


def _elsewhere(code: str) -> None:
    """Run code in a process of its own, whose time and memory are not measured."""
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def _opened(table: str, family: int) -> Answer:
    """Map a snapshot. Another process writes it, so that only mapping it is timed."""
    with tempfile.NamedTemporaryFile(suffix=".fib") as file:
        _elsewhere(f"import fibula; fibula.read({table!r}).to_fib({file.name!r}, family={family})")
        t = fibula.open(file.name)
    return _each(t.get)


def _column(table: str, _: int) -> Answer:
    t = fibula.read(table, convert=int)

    def answer(column: Any) -> Any:
        return t.lookup(column).to_pylist()

    answer.timed = t.lookup  # type: ignore[attr-defined]
    return answer


def _indices(table: str, _: int) -> Answer:
    import numpy as np

    t = fibula.read(table, convert=int)
    values = t.values
    out = np.empty(0, np.uint32)

    def timed(column: Any) -> Any:
        nonlocal out
        if len(out) != len(column):
            out = np.zeros(len(column), np.uint32)
        return t.indices(column, out=out)

    def answer(column: Any) -> Any:
        return [values[index] for index in timed(column)]

    answer.timed = timed  # type: ignore[attr-defined]
    return answer


def lines_of(table: str) -> Any:
    """Open a table of lines, compressed or not."""
    return gzip.open(table, "rt") if table.endswith(".gz") else Path(table).open()


def _lines(table: str) -> Iterator[tuple[str, int]]:
    with lines_of(table) as lines:
        for line in lines:
            prefix, value = line.split()
            yield prefix, int(value)


def _pytricia(table: str, family: int, *, freeze: bool = False) -> Answer:
    import pytricia

    tree = pytricia.PyTricia(32 if family == 4 else 128)
    for prefix, value in _lines(table):
        tree[prefix] = value
    if freeze:
        tree.freeze()
    return _each(tree.get)


def _pytricia_frozen(table: str, family: int) -> Answer:
    return _pytricia(table, family, freeze=True)


def _pyasn(table: str, _: int) -> Answer:
    import pyasn

    with tempfile.NamedTemporaryFile("w", suffix=".dat") as file:
        # It refuses AS 0, so every number is shifted.
        file.writelines(f"{prefix}\t{value + 1}\n" for prefix, value in _lines(table))
        file.flush()
        database = pyasn.pyasn(file.name)
    return _each(database.lookup, lambda found: None if found[0] is None else found[0] - 1)


def _radix(table: str, _: int) -> Answer:
    import radix

    tree = radix.Radix()
    for prefix, value in _lines(table):
        tree.add(prefix).data["value"] = value
    return _each(tree.search_best, lambda node: None if node is None else node.data["value"])


def _subnet_tree(table: str, _: int) -> Answer:
    import SubnetTree

    tree = SubnetTree.SubnetTree()
    for prefix, value in _lines(table):
        tree[prefix] = value
    return _each(tree.__getitem__)


def write_mmdb(table: str, family: int, path: str) -> None:
    """Write a table as a database of MaxMind's format. That takes minutes for a million routes."""
    import mmdb_writer
    import netaddr

    writer = mmdb_writer.MMDBWriter(ip_version=family, ipv4_compatible=False)
    routes = sorted(_lines(table), key=lambda route: int(route[0].partition("/")[2]))
    for prefix, value in routes:
        writer.insert_network(netaddr.IPSet([prefix]), value)
    writer.to_db_file(path)


def _maxminddb(table: str, family: int) -> Answer:
    """Open a database. Another process writes it, so that only opening it is timed."""
    import maxminddb
    import mmdb_writer  # noqa: F401

    with tempfile.NamedTemporaryFile(suffix=".mmdb") as file:
        _elsewhere(
            f"from fibula.bench.contenders import write_mmdb; "
            f"write_mmdb({table!r}, {family}, {file.name!r})"
        )
        database = maxminddb.open_database(file.name, maxminddb.MODE_MMAP_EXT)
    return _each(database.get)


def _intervals(table: str) -> tuple[list[int], list[int | None]]:
    """Return where each interval of equal answers begins, and its answer; IPv4."""
    starts: list[int] = [0]
    values: list[int | None] = [None]
    above: list[tuple[int, int | None]] = [(1 << 32, None)]

    def begin(start: int, value: int | None) -> None:
        if starts[-1] == start:
            values[-1] = value
        else:
            starts.append(start)
            values.append(value)

    routes = sorted((ipaddress.IPv4Network(prefix), value) for prefix, value in _lines(table))
    for network, value in routes:
        first = int(network.network_address)
        while above[-1][0] <= first:
            end, _ = above.pop()
            begin(end, above[-1][1])
        begin(first, value)
        above.append((first + network.num_addresses, value))
    while len(above) > 1:
        end, _ = above.pop()
        if end < 1 << 32:
            begin(end, above[-1][1])
    return starts, values


def _searchsorted(table: str, _: int) -> Answer:
    import numpy as np

    starts, values = _intervals(table)
    begins = np.array(starts, np.uint32)
    answers = np.array([-1 if value is None else value for value in values])

    def timed(column: Any) -> Any:
        return answers[np.searchsorted(begins, column, "right") - 1]

    def answer(column: Any) -> Any:
        return [None if value < 0 else value for value in timed(column).tolist()]

    answer.timed = timed  # type: ignore[attr-defined]
    return answer


def _duckdb(table: str, _: int) -> Answer:
    import duckdb
    import pyarrow as pa

    con = duckdb.connect(config={"threads": 1})
    starts, values = _intervals(table)
    ranges = pa.table(
        {"start": pa.array(starts, pa.uint32()), "value": pa.array(values, pa.int64())}
    )
    con.register("given", ranges)
    con.execute("CREATE TABLE ranges AS FROM given")

    def ask(rows: Any, order: str) -> Any:
        con.register("asked", rows)
        join = "asked ASOF JOIN ranges ON asked.a >= ranges.start"
        return con.execute(f"SELECT value FROM {join} {order}")  # noqa: S608

    def timed(column: Any) -> Any:
        return ask(pa.table({"a": column}), "").to_arrow_table()

    def answer(column: Any) -> Any:
        rows = pa.table({"a": column, "row": pa.array(range(len(column)))})
        return [value for (value,) in ask(rows, "ORDER BY row").fetchall()]

    answer.timed = timed  # type: ignore[attr-defined]
    return answer


def _polars(table: str, _: int) -> Answer:
    import polars as pl

    starts, values = _intervals(table)
    ranges = pl.DataFrame(
        {"a": starts, "value": values}, schema={"a": pl.UInt32, "value": pl.Int64}
    ).set_sorted("a")

    def timed(column: Any) -> Any:
        asked = pl.DataFrame({"a": pl.Series(column)}).with_row_index("row").sort("a")
        return asked.join_asof(ranges, on="a").sort("row")["value"]

    def answer(column: Any) -> Any:
        return timed(column).to_list()

    answer.timed = timed  # type: ignore[attr-defined]
    return answer


CONTENDERS = {
    "fibula t[text]": Contender(_item, _texts),
    "fibula t.get(text)": Contender(_get, _texts),
    "fibula t.get(text), opened": Contender(_opened, _texts),
    "fibula lookup, Arrow text": Contender(_column, _arrow_texts),
    "fibula lookup, Arrow u32 or 16 bytes": Contender(_column, _arrow),
    "fibula indices, NumPy u32 or 16 bytes, out=": Contender(_indices, _numpy),
    "pytricia": Contender(_pytricia, _texts),
    "pytricia, frozen": Contender(_pytricia_frozen, _texts),
    "pyasn": Contender(_pyasn, _texts),
    "py-radix": Contender(_radix, _texts),
    "SubnetTree": Contender(_subnet_tree, _texts),
    "maxminddb": Contender(_maxminddb, _texts, slow=True),
    "NumPy searchsorted": Contender(_searchsorted, _numpy, (4,)),
    "DuckDB ASOF join": Contender(_duckdb, _arrow, (4,)),
    "Polars sort, join_asof": Contender(_polars, _arrow, (4,)),
}
