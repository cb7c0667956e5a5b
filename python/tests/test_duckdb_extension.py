"""DuckDB's extension, in the release that Python imports; `ipaddress` is the oracle."""

import gzip
import importlib.util
import ipaddress
import os
import re
import sys
from pathlib import Path

import duckdb
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fibula

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / os.environ.get(
    "FIBULA_DUCKDB_EXTENSION", "target/duckdb/fibula.duckdb_extension"
)
ROUTES = {
    ipaddress.ip_network(prefix): value
    for prefix, value in {
        "10.0.0.0/8": "64500",
        "10.1.0.0/16": "lab",
        "10.1.2.3/32": "a next hop of more than 12 bytes",
        "203.0.113.0/24": "64503",
        "2001:db8::/32": "64504",
        "2001:db8:1::/48": "64505",
        "::ffff:10.0.0.0/104": "64506",
    }.items()
}
ADDRESSES = [
    *("10.1.2.3", "10.1.2.4", "10.2.0.0", "203.0.113.255", "203.0.114.0", "255.255.255.255"),
    *("0.0.0.0", "2001:db8:1::5", "2001:db8::", "::", "::1", "::ffff:10.9.9.9", "ffff::", "8000::"),
]
INVALID = ["", "nobody", "10.1.2", "01.2.3.4", "10.1.2.3/32", "2001:db8::g"]
ASK = "SELECT fibula_lookup($t, x), fibula_prefix($t, x), fibula_contains($t, x) FROM "
STRUCT = "STRUCT(ip_type UTINYINT, address HUGEINT, mask USMALLINT)"


def inet_extension():
    """Return the file of DuckDB's extension `inet`; None if no package has brought it."""
    package = importlib.util.find_spec("duckdb_extension_inet")
    if package is None:
        return None
    return next(Path(package.origin).parent.rglob("inet.duckdb_extension"))


INET = inet_extension()

if not EXTENSION.exists():
    pytest.skip("no extension was built (cargo xtask duckdb)", allow_module_level=True)


def load(con):
    con.execute(f"LOAD '{EXTENSION}'")
    if INET is not None:
        con.execute(f"LOAD '{INET}'")


@pytest.fixture
def con():
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as con:
        load(con)
        yield con


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "table.txt.gz", ROUTES)


def write(path, routes):
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as out:
        out.writelines(f"{prefix} {value}\n" for prefix, value in routes.items())
    return str(path)


def expected(address, routes=ROUTES):
    """Return the value, the prefix and whether there is one."""
    if address is None:
        return (None, None, None)
    longest = oracle.longest(routes, ipaddress.ip_address(address))
    return (routes.get(longest), longest, longest is not None)


def answers(con, rows, **parameters):
    """Ask the three functions about `x` of some rows, and return prefixes as networks."""
    found = con.execute(ASK + rows, parameters).fetchall()
    return [(value, prefix and ipaddress.ip_network(prefix), has) for value, prefix, has in found]


def inet(address):
    """Return an address as the extension `inet` stores it."""
    number = int(address) - (1 << 127 if address.version == 6 else 0)
    kind = {4: 1, 6: 2}[address.version]
    return f"{{'ip_type': {kind}, 'address': {number}, 'mask': {address.max_prefixlen}}}::{STRUCT}"


WRITTEN = {
    "VARCHAR": lambda address: f"'{address}'",
    "BLOB": lambda address: "'" + "".join(f"\\x{b:02X}" for b in address.packed) + "'::BLOB",
    "UINTEGER": lambda address: f"{int(address)}::UINTEGER",
    "BIGINT": lambda address: f"{int(address)}::BIGINT",
    STRUCT: inet,
}
if INET is not None:
    WRITTEN["INET"] = lambda address: f"'{address}'::INET"


def test_the_release():
    """An earlier release is on the path that the caller names, and is not hidden by another."""
    earlier = os.environ.get("PYTHONPATH")
    assert Path(duckdb.__file__).is_relative_to(earlier or sys.prefix)
    assert (INET is not None) == bool(earlier)


@pytest.mark.parametrize("kind", WRITTEN)
def test_every_type(con, table, kind):
    addresses = [ipaddress.ip_address(text) for text in ADDRESSES]
    if kind in {"UINTEGER", "BIGINT"}:
        addresses = [address for address in addresses if address.version == 4]
    for address in addresses:  # constants
        asked = f"(SELECT {WRITTEN[kind](address)} AS x)"
        assert answers(con, asked, t=table) == [expected(address)], address
    # Vectors: several, with nulls.
    rows = [*addresses, None] * 700
    con.execute(f"CREATE TABLE asked (n INTEGER, x {kind})")
    values = ", ".join(
        f"({n}, {'NULL' if row is None else WRITTEN[kind](row)})" for n, row in enumerate(rows)
    )
    con.execute(f"INSERT INTO asked VALUES {values}")
    found = answers(con, "asked ORDER BY n", t=table)
    assert found == [expected(row) for row in rows]
    # A part of the rows, and none.
    found = answers(con, "asked WHERE n % 3 = 1 ORDER BY n", t=table)
    assert found == [expected(row) for row in rows[1::3]]
    assert answers(con, "asked WHERE n < 0", t=table) == []
    # A dictionary and a constant.
    joined = "(SELECT x FROM asked JOIN range(3) ON true WHERE n = 1)"
    assert answers(con, joined, t=table) == [expected(rows[1])] * 3


def test_invalid_addresses_and_nulls_are_null(con, table):
    blobs = [f"'{written}'::BLOB" for written in ("", "abc", "abcde", "a" * 17)]
    texts = [f"'{text}'" for text in INVALID]
    families = [f"{{'ip_type': {kind}, 'address': 1, 'mask': 32}}::{STRUCT}" for kind in (0, 3)]
    families.append(f"{{'ip_type': 1, 'address': 4294967296, 'mask': 32}}::{STRUCT}")
    families.append(f"{{'ip_type': NULL, 'address': 1, 'mask': 32}}::{STRUCT}")
    numbers = ["-1::BIGINT", "4294967296", "NULL", *(f"NULL::{kind}" for kind in WRITTEN)]
    for written in blobs + texts + families + numbers:
        found = answers(con, f"(SELECT {written} AS x)", t=table)
        assert found == [(None, None, None)], written
    assert answers(con, "(SELECT '10.1.2.3' AS x)", t=None) == [(None, None, None)]


@settings(max_examples=40)
@given(data=st.data(), routes=st.dictionaries(oracle.networks, st.integers(1, 99), max_size=12))
def test_any_table(tmp_path_factory, data, routes):
    routes = {network: str(value) for network, value in routes.items()}
    addresses = data.draw(oracle.addresses_near(routes))
    # A table without a route has no format that could be recognised.
    routes.setdefault(ipaddress.ip_network("192.0.2.0/24"), "1")
    table = write(tmp_path_factory.mktemp("any") / "table.txt", routes)
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as con:
        load(con)
        texts = [str(address) for address in addresses]
        found = answers(con, "(SELECT unnest($x) AS x)", t=table, x=texts)
        assert found == [expected(address, routes) for address in addresses]
        found = con.execute("SELECT prefix, value FROM fibula_routes(?)", [table]).fetchall()
        assert {ipaddress.ip_network(prefix): value for prefix, value in found} == routes


def test_routes(con, table):
    found = con.execute("SELECT prefix, family, length, value FROM fibula_routes(?)", [table])
    rows = [(ipaddress.ip_network(prefix), *row) for prefix, *row in found.fetchall()]
    order = sorted(ROUTES, key=lambda n: (n.version, n.network_address, n.prefixlen))
    assert rows == [(n, n.version, n.prefixlen, ROUTES[n]) for n in order]
    count = "SELECT count(*) FROM fibula_routes(?, value := '{}')"
    for value in ("next-hop", "origin-as"):
        assert con.execute(count.format(value), [table]).fetchone() == (len(ROUTES),)
    with pytest.raises(duckdb.Error, match="--value peer has no effect on text"):
        con.execute(count.format("peer"), [table])


@pytest.mark.parametrize("family", [4, 6])
def test_snapshots(con, tmp_path, family):
    """They answer as the package does; what they were written without is missed by name."""
    table = fibula.Table(ROUTES)
    whole, compiled = str(tmp_path / "whole.fib"), str(tmp_path / "compiled.fib")
    table.to_fib(whole, family=family)
    table.to_fib(compiled, family=family, routes=False)
    texts = [text for text in ADDRESSES if ipaddress.ip_address(text).version == family]
    ask = "SELECT fibula_lookup(?, x) FROM (SELECT unnest(?) AS x)"
    for path in (whole, compiled):
        found = con.execute(ask, [path, texts]).fetchall()
        assert [value for (value,) in found] == table.lookup(texts)
    assert answers(con, "(SELECT unnest($x) AS x)", t=whole, x=texts) == list(map(expected, texts))
    count = con.execute("SELECT count(*) FROM fibula_routes(?)", [whole]).fetchone()
    assert count == (sum(network.version == family for network in ROUTES),)
    for missed in ("SELECT fibula_prefix(?, '10.1.2.3')", "SELECT * FROM fibula_routes(?)"):
        with pytest.raises(duckdb.Error, match=r"compiled\.fib.*without its routes"):
            con.execute(missed, [compiled]).fetchall()


def test_many_routes(con, tmp_path):
    networks = list(ipaddress.ip_network("10.0.0.0/8").subnets(new_prefix=21))
    table = write(tmp_path / "table.txt", {n: i % 300 + 1 for i, n in enumerate(networks)})
    found = con.execute("SELECT prefix FROM fibula_routes(?)", [table]).fetchall()
    assert found == [(str(network),) for network in networks]
    address = "split_part(prefix, '/', 1)"
    ask = f"SELECT bool_and(fibula_prefix($t, {address}) = prefix) FROM fibula_routes($t)"
    assert con.execute(ask, {"t": table}).fetchone() == (True,)


@pytest.mark.parametrize("length", [1, 11, 12, 13, 40])
def test_values_of_any_length(con, tmp_path, length):
    table = write(tmp_path / "table.txt", {ipaddress.ip_network("10.0.0.0/8"): "v" * length})
    asked = "SELECT fibula_lookup($t, x) FROM (VALUES ('10.1.2.3'), (NULL), ('11.0.0.0')) AS t(x)"
    found = con.execute(asked, {"t": str(table)}).fetchall()
    assert found == [("v" * length,), (None,), (None,)]


def test_a_file_that_changes_is_read_again(con, tmp_path):
    path = tmp_path / "table.txt"
    ask = "SELECT fibula_lookup(?, '10.1.2.3'), fibula_prefix(?, '10.1.2.3')"
    for value, prefix in [("first", "10.0.0.0/8"), ("second one", "10.1.0.0/16")]:
        table = write(path, {prefix: value})
        for _ in range(2):
            assert con.execute(ask, [table, table]).fetchone() == (value, prefix)
    # The same length, another time.
    write(path, {"10.1.0.0/16": "second two"})
    os.utime(path, (1, 1))
    assert con.execute(ask, [table, table]).fetchone() == ("second two", "10.1.0.0/16")
    path.unlink()
    with pytest.raises(duckdb.Error, match="cannot be read"):
        con.execute(ask, [table, table])
    write(path, {"10.0.0.0/8": "back"})
    assert con.execute(ask, [table, table]).fetchone() == ("back", "10.0.0.0/8")


def test_more_tables_than_are_kept(con, tmp_path):
    names = [write(tmp_path / f"{n}.txt", {"0.0.0.0/0": f"table{n}"}) for n in range(20)]
    con.execute("CREATE TABLE names AS SELECT unnest(?) AS name", [names * 5])
    found = con.execute("SELECT name, fibula_lookup(name, '1.2.3.4') FROM names").fetchall()
    assert found == [(name, f"table{n}") for n, name in enumerate(names)] * 5


def test_several_threads(con, table):
    con.execute("SET threads = 4")
    numbers = [0x0A000000 + 7919 * n % (1 << 17) for n in range(500_000)]
    x = f"({0x0A000000} + 7919 * n % {1 << 17})::UINTEGER"
    con.execute(f"CREATE TABLE asked AS SELECT {x} AS x FROM range({len(numbers)}) AS numbers(n)")
    ask = "SELECT fibula_prefix(?, x) AS prefix, count(*) FROM asked GROUP BY prefix"
    lab = sum(number >> 16 == 0x0A01 for number in numbers)
    host = numbers.count(0x0A010203)
    wanted = {"10.0.0.0/8": len(numbers) - lab, "10.1.0.0/16": lab - host, "10.1.2.3/32": host}
    assert dict(con.execute(ask, [table]).fetchall()) == wanted
    assert all(wanted.values())


def test_errors_name_the_file_and_the_place(con, table, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("10.0.0.0/8 1\n10.0.0.0/33 2\n")
    for path, message in [
        (tmp_path / "missing", "missing: cannot be read"),
        (bad, r"bad\.txt, line 2: prefix length 33"),
        (tmp_path, "is a directory"),
    ]:
        for query in (
            "SELECT fibula_lookup(?, '10.1.2.3')",
            "SELECT fibula_prefix(?, x) FROM (VALUES ('10.1.2.3'), (NULL)) v(x)",
            "SELECT fibula_contains(?, 7::UINTEGER)",
            "SELECT * FROM fibula_routes(?)",
        ):
            with pytest.raises(duckdb.Error, match=message):
                con.execute(query, [str(path)]).fetchall()
    with pytest.raises(duckdb.Error, match="expected one of next-hop, next-hops, origin-as"):
        con.execute("SELECT * FROM fibula_routes(?, value := 'color')", [table])
    with pytest.raises(duckdb.Error, match="the path of the table is null"):
        con.execute("SELECT * FROM fibula_routes(NULL)")
    with pytest.raises(duckdb.Error, match="No function matches"):
        con.execute("SELECT fibula_lookup(?, 1.5)", [table])


def test_the_page(con, tmp_path, monkeypatch):
    """The statements of the page run in order, and give the rows that it shows."""
    (tmp_path / "target").symlink_to(ROOT / "target")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/duckdb.md").read_text()
    blocks = re.findall(r"```sql\n(.*?)```(?:\s*```text\n(.*?)```)?", page, re.DOTALL)
    assert len(blocks) > 2
    for statements, shown in blocks:
        found = con.execute(statements)
        if shown:
            names = [column[0] for column in found.description]
            rows = [
                ["NULL" if cell is None else str(cell) for cell in row] for row in found.fetchall()
            ]
            lines = [[cell.strip() for cell in line.split("|")] for line in shown.splitlines()]
            assert [names, *rows] == lines


def prefixes(value):
    """Return a network and some that cover it or are in it, as text."""
    network = ipaddress.ip_network(value)
    return [str(network), *(str(network.supernet(n)) for n in (1, 5) if network.prefixlen > 5)]


def cover(prefix, routes):
    """Return the longest route that covers a prefix."""
    network = ipaddress.ip_network(prefix)
    covers = [r for r in routes if r.version == network.version and network.subnet_of(r)]
    return max(covers, key=lambda route: route.prefixlen, default=None)


def test_prefixes(con, table):
    rows = [prefix for address in ADDRESSES for prefix in prefixes(address)]
    rows += [prefix for route in ROUTES for prefix in prefixes(route)]
    con.execute("CREATE TABLE asked AS SELECT unnest($rows) AS x", {"rows": rows})
    questions = "fibula_covering($t, x), fibula_covered($t, x), fibula_overlaps($t, x)"
    ask = f"SELECT x, {questions} FROM asked"
    for prefix, covering, covered, overlaps in con.execute(ask, {"t": table}).fetchall():
        longest = cover(prefix, ROUTES)
        assert (covering and ipaddress.ip_network(covering)) == longest, prefix
        assert covered == (longest is not None), prefix
        network = ipaddress.ip_network(prefix)
        assert overlaps == any(r.version == network.version and network.overlaps(r) for r in ROUTES)
    ask = f"SELECT {questions} FROM (SELECT unnest($rows) AS x)"
    for row in con.execute(ask, {"t": table, "rows": [None, "", "10.1.2.3/8", "a/8"]}).fetchall():
        assert row == (None, None, None)


def test_origins(con, tmp_path):
    vrps = tmp_path / "vrps.csv"
    vrps.write_text("ASN,IP Prefix,Max Length\nAS64500,10.0.0.0/8,16\nAS64502,2001:db8::/32,48\n")
    oracle_of = fibula.Vrps(vrps)
    rows = [
        *(("10.0.0.0/8", 64500), ("10.1.0.0/17", 64500), ("10.1.0.0/16", 64501)),
        *(("11.0.0.0/8", 64500), ("2001:db8:1::/48", 64502), ("2001:db8:1::/49", 64502)),
    ]
    con.execute("CREATE TABLE routes(prefix VARCHAR, origin UINTEGER)")
    con.executemany("INSERT INTO routes VALUES (?, ?)", rows)
    ask = "SELECT prefix, origin, fibula_rov($v, prefix, origin) FROM routes"
    for prefix, origin, validity in con.execute(ask, {"v": str(vrps)}).fetchall():
        assert validity == oracle_of.validity(prefix, origin), (prefix, origin)
    for route in ("NULL, 1", "'10.0.0.0/8', NULL", "'10.0.0.0/8', -1", "'x', 1"):
        assert con.execute(f"SELECT fibula_rov('{vrps}', {route})").fetchone() == (None,)
    with pytest.raises(duckdb.Error, match="none.csv"):
        con.execute("SELECT fibula_rov('none.csv', '10.0.0.0/8', 1)")
