"""Polars expressions, and functions of DuckDB and DataFusion: small, null, lazy, many rows."""

import ipaddress

import datafusion
import duckdb
import polars as pl
import pyarrow as pa
import pytest

import fibula
import fibula.datafusion
import fibula.duckdb
import fibula.polars

ROUTES = {"10.0.0.0/8": "corp", "10.1.0.0/16": "lab", "2001:db8::/32": "doc"}
ROWS = ["10.1.2.3", None, "10.2.3.4", "192.0.2.1", "2001:db8::1"] * 2001
LOOKUP = ["lab", None, "corp", None, "doc"] * 2001
PREFIX = ["10.1.0.0/16", None, "10.0.0.0/8", None, "2001:db8::/32"] * 2001
CONTAINS = [True, None, True, False, True] * 2001


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_polars(engine):
    table = fibula.Table(ROUTES)
    src = pl.col("src").fibula
    query = pl.LazyFrame({"src": ROWS, "n": range(len(ROWS))}).select(
        "n", site=src.lookup(table), prefix=src.prefix(table), known=src.contains(table)
    )
    assert query.collect_schema() == {
        "n": pl.Int64,
        "site": pl.String,
        "prefix": pl.String,
        "known": pl.Boolean,
    }
    found = query.collect(engine=engine)
    assert found["site"].to_list() == LOOKUP
    assert found["prefix"].to_list() == PREFIX
    assert found["known"].to_list() == CONTAINS
    assert found["n"].to_list() == list(range(len(ROWS)))


def test_polars_sees_changes_and_names_rows():
    table = fibula.Table(ROUTES)
    frame = pl.DataFrame({"src": ["10.1.2.3", "10.1.2"]})
    src = pl.col("src").fibula
    for ask in (src.lookup, src.prefix, src.contains):
        with pytest.raises((ValueError, pl.exceptions.PolarsError), match='row 1: "10.1.2" is not'):
            frame.select(ask(table))
        assert frame.select(ask(table, errors="null"))["src"].null_count() == 1
    table.insert("10.1.2.0/24", "desk")
    first = frame.head(1)
    assert first.select(src.lookup(table)).item() == "desk"
    assert first.select(src.prefix(table)).item() == "10.1.2.0/24"
    del table.routes["10.1.2.0/24"]
    assert first.select(src.prefix(table)).item() == "10.1.0.0/16"


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
    table.insert("11.1.0.0/16", 7)
    assert con.execute("SELECT asn('11.1.1.1')").fetchall() == [(7,)]


def test_datafusion():
    table = fibula.Table(ROUTES)
    context = datafusion.SessionContext()
    context.register_udf(fibula.datafusion.udf(table, "site"))
    context.from_pydict({"src": ROWS, "n": list(range(len(ROWS)))}, name="flows")
    found = context.sql("SELECT site(src) AS site FROM flows ORDER BY n").to_pydict()
    assert found["site"] == LOOKUP
    empty = context.sql("SELECT site(src) AS site FROM flows WHERE n < 0").to_pydict()
    assert not any(empty.values())
    with pytest.raises(Exception, match='"nobody" is not an IPv4 or IPv6 address'):
        context.sql("SELECT site('nobody')").collect()
