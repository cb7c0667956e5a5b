"""Functions of DuckDB and DataFusion: small, null, many rows."""

import ipaddress

import datafusion
import duckdb
import pyarrow as pa
import pytest

import fibula
import fibula.datafusion
import fibula.duckdb

ROUTES = {"10.0.0.0/8": "corp", "10.1.0.0/16": "lab", "2001:db8::/32": "doc"}
ROWS = ["10.1.2.3", None, "10.2.3.4", "192.0.2.1", "2001:db8::1"] * 2001
LOOKUP = ["lab", None, "corp", None, "doc"] * 2001


@pytest.mark.parametrize("kind", ["VARCHAR", "UINTEGER", "BLOB"])
def test_duckdb(kind):
    table = fibula.Table(ROUTES)
    con = duckdb.connect()
    fibula.duckdb.register(con, table, "site", type=kind)
    rows = [r for r in ROWS if kind != "UINTEGER" or r is None or ":" not in r]
    expected = [None if r is None else table.get(r) for r in rows]
    addresses = [None if r is None else ipaddress.ip_address(r) for r in rows]
    column = {
        "VARCHAR": lambda: pa.array(rows, pa.string()),
        "UINTEGER": lambda: pa.array([a and int(a) for a in addresses], pa.uint32()),
        "BLOB": lambda: pa.array([a and a.packed for a in addresses], pa.binary()),
    }[kind]()
    asked = pa.table({"a": column, "n": range(len(rows))})
    con.register("asked", asked)
    found = con.execute("SELECT site(a) FROM asked ORDER BY n").fetchall()
    assert [site for (site,) in found] == expected
    assert con.execute("SELECT site(a) FROM asked WHERE false").fetchall() == []


def test_duckdb_integers_and_errors():
    table = fibula.Table({"10.0.0.0/8": 64500, "11.0.0.0/8": 64501})
    con = duckdb.connect()
    fibula.duckdb.register(con, table, "asn")
    fibula.duckdb.register(con, table, "asn_or_null", errors="null")
    assert con.execute("SELECT asn('11.1.1.1') + 1").fetchall() == [(64502,)]
    with pytest.raises(duckdb.Error, match='"nobody" is not an IPv4 or IPv6 address'):
        con.execute("SELECT asn('nobody')").fetchall()
    assert con.execute("SELECT asn_or_null('nobody')").fetchall() == [(None,)]
    fibula.duckdb.register(con, table, "asn_clean", unmap=True, clean=True)
    assert con.execute("SELECT asn_clean('[::ffff:11.1.1.1]:53')").fetchall() == [(64501,)]
    table.insert("11.1.0.0/16", 7)
    assert con.execute("SELECT asn('11.1.1.1')").fetchall() == [(7,)]


def test_datafusion():
    table = fibula.Table(ROUTES)
    context = datafusion.SessionContext()
    context.register_udf(fibula.datafusion.udf(table, "site"))
    context.from_pydict({"src": ROWS, "n": list(range(len(ROWS)))}, name="flows")
    found = context.sql("SELECT site(src) AS site FROM flows ORDER BY n").to_pydict()
    assert found["site"] == LOOKUP
    context.register_udf(fibula.datafusion.udf(table, "clean", unmap=True, clean=True))
    found = context.sql("SELECT clean('[::ffff:10.1.2.3]:53') AS site").to_pydict()
    assert found["site"] == ["lab"]
    empty = context.sql("SELECT site(src) AS site FROM flows WHERE n < 0").to_pydict()
    assert not any(empty.values())
    with pytest.raises(Exception, match='"nobody" is not an IPv4 or IPv6 address'):
        context.sql("SELECT site('nobody')").collect()
