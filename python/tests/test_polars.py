"""Polars expressions, by the plugin and by `map_batches`: small, null, lazy, chunked, changing."""

import gc
import shutil
import subprocess
import threading
import weakref
from pathlib import Path

import polars as pl
import pytest

import fibula
import fibula.polars

ROUTES = {"10.0.0.0/8": "corp", "10.1.0.0/16": "lab", "2001:db8::/32": "doc"}
ROWS = ["10.1.2.3", None, "10.2.3.4", "192.0.2.1", "2001:db8::1"] * 2001
LOOKUP = ["lab", None, "corp", None, "doc"] * 2001
PREFIX = ["10.1.0.0/16", None, "10.0.0.0/8", None, "2001:db8::/32"] * 2001
CONTAINS = [True, None, True, False, True] * 2001


@pytest.fixture(params=["plugin", "map_batches"])
def path(request, monkeypatch):
    """Which of the two answers."""
    if request.param == "map_batches":
        monkeypatch.setattr(fibula.polars, "_calls_plugin", lambda: False)
    return request.param


@pytest.fixture
def src(path):
    return pl.col("src").fibula


def test_this_polars_calls_the_plugin(src, path):
    assert fibula.polars._calls_plugin() == (path == "plugin")
    plan = pl.LazyFrame({"src": ROWS}).select(src.lookup(fibula.Table(ROUTES))).explain()
    assert ("fibula_answer" in plan) == (path == "plugin"), plan


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_answers(engine, src):
    table = fibula.Table(ROUTES)
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


def test_what_is_around_and_within_addresses(src):
    table = fibula.Table(ROUTES)
    frame = pl.DataFrame({"src": ["[::ffff:10.1.2.3]:53", "2002:a02:304::1", "10.2.3.4/32"]})
    how = {"unmap": "mapped,6to4", "clean": True}
    found = frame.select(
        site=src.lookup(table, **how),
        prefix=src.prefix(table, **how),
        known=src.contains(table, **how),
        as_written=src.lookup(table, errors="null"),
    )
    assert found["site"].to_list() == ["lab", "corp", "corp"]
    assert found["prefix"].to_list() == ["10.1.0.0/16", "10.0.0.0/8", "10.0.0.0/8"]
    assert found["known"].to_list() == [True] * 3
    assert found["as_written"].to_list() == [None] * 3


def test_changes_are_seen_and_rows_named(src):
    table = fibula.Table(ROUTES)
    frame = pl.DataFrame({"src": ["10.1.2.3", "10.1.2"]})
    for ask in (src.lookup, src.prefix, src.contains):
        with pytest.raises((ValueError, pl.exceptions.PolarsError), match='row 1: "10.1.2" is not'):
            frame.select(ask(table))
        assert frame.select(ask(table, errors="null"))["src"].null_count() == 1
    first = frame.head(1)
    before = src.lookup(table)
    table.insert("10.1.2.0/24", "desk")
    assert first.select(before).item() == "desk"
    assert first.select(src.lookup(table)).item() == "desk"
    assert first.select(src.prefix(table)).item() == "10.1.2.0/24"
    del table.routes["10.1.2.0/24"]
    assert first.select(src.prefix(table)).item() == "10.1.0.0/16"


def test_every_type_of_addresses(src):
    table = fibula.Table(ROUTES)
    texts = ["10.1.2.3", None, "10.2.3.4", "192.0.2.1"]
    numbers = [0x0A010203, None, 0x0A020304, 0xC0000201]
    octets = [None if n is None else n.to_bytes(4, "big") for n in numbers]
    columns = [
        pl.Series("src", texts),
        pl.Series("src", texts, dtype=pl.Categorical),
        pl.Series("src", numbers, dtype=pl.UInt32),
        pl.Series("src", numbers, dtype=pl.Int64),
        pl.Series("src", octets, dtype=pl.Binary),
    ]
    for column in columns:
        chunked = pl.concat([column, column[1:], column[:0]], rechunk=False)
        found = chunked.to_frame().select(src.lookup(table))["src"].to_list()
        assert found == ["lab", None, "corp", None, None, "corp", None], column.dtype
        assert column[:0].to_frame().select(src.contains(table))["src"].to_list() == []
    nulls = pl.Series("src", [None, None]).to_frame()
    assert nulls.select(src.lookup(table))["src"].to_list() == [None, None]
    for wrong in ([1.5], [object()]):
        column = pl.Series("src", wrong).to_frame()
        with pytest.raises((TypeError, pl.exceptions.PolarsError), match="holds no addresses"):
            column.select(src.lookup(table))


def test_every_kind_of_values(src):
    frame = pl.DataFrame({"src": ["10.0.0.1", "11.0.0.1", "12.0.0.1"]})
    for values in ([1, 2], [1.5, 2.5], [{"as": 1}, {"as": 2}], [[1], [2, 3]], [True, False]):
        table = fibula.Table(zip(["10.0.0.0/8", "11.0.0.0/8"], values, strict=True))
        assert frame.select(src.lookup(table))["src"].to_list() == [*values, None]
    objects = [fibula.Table(), fibula.Table(ROUTES)]
    table = fibula.Table(zip(["10.0.0.0/8", "11.0.0.0/8"], objects, strict=True))
    assert frame.select(src.lookup(table))["src"].to_list() == [*objects, None]
    huge = fibula.Table({"10.0.0.0/8": 1 << 100})
    assert frame.select(src.lookup(huge))["src"].to_list() == [1 << 100, None, None]
    mixed = fibula.Table({"10.0.0.0/8": 1, "11.0.0.0/8": "a"})
    assert frame.select(src.contains(mixed))["src"].to_list() == [True, True, False]
    with pytest.raises(TypeError):
        src.lookup(mixed)


def test_every_context(src):
    table = fibula.Table(ROUTES)
    frame = pl.DataFrame(
        {"src": ["10.1.2.3", "10.2.3.4", "2001:db8::1", "192.0.2.1"], "g": [1, 1, 2, 2]}
    )
    site = src.lookup(table)
    grouped = frame.group_by("g", maintain_order=True)
    assert grouped.agg(site)["src"].to_list() == [["lab", "corp"], ["doc", None]]
    assert grouped.agg(site.first())["src"].to_list() == ["lab", "doc"]
    assert frame.group_by(site).len().height == 4
    assert frame.select(site.count().over("g"))["src"].to_list() == [2, 2, 1, 1]
    assert frame.filter(src.contains(table))["src"].to_list() == frame["src"].to_list()[:3]
    assert frame.filter(site == "lab").height == 1
    either = pl.when(pl.col("g") == 1).then(site).otherwise(pl.lit("else"))
    assert frame.select(either).to_series().to_list() == ["lab", "corp", "else", "else"]
    alone = fibula.polars.Namespace(pl.lit("10.1.2.3")).lookup(table)
    assert pl.select(alone).item() == "lab"
    assert frame.with_columns(site=alone)["site"].to_list() == ["lab"] * 4


def test_a_plan_keeps_its_table_and_nothing_else_does(src):
    def ask():
        table = fibula.Table(ROUTES)
        query = pl.LazyFrame({"src": ["10.1.2.3"]}).select(src.lookup(table))
        return query, weakref.ref(table)

    query, table = ask()
    gc.collect()
    assert query.collect().item() == "lab"
    assert table() is not None
    del query
    gc.collect()
    assert table() is None


def test_values_of_another_type_are_an_error(src):
    table = fibula.Table({"10.0.0.0/8": 1})
    site = src.lookup(table)
    del table.routes["10.0.0.0/8"]
    table.insert("10.0.0.0/8", "one")
    with pytest.raises(pl.exceptions.PolarsError):
        pl.DataFrame({"src": ["10.0.0.1"]}).lazy().select(site).collect()


def test_it_streams(src, tmp_path):
    table = fibula.Table(ROUTES)
    for part in range(3):
        pl.DataFrame({"src": ROWS}).write_parquet(tmp_path / f"{part}.parquet")
    query = pl.scan_parquet(tmp_path / "*.parquet").with_columns(
        site=src.lookup(table), prefix=src.prefix(table), known=src.contains(table)
    )
    graph = query.show_graph(engine="streaming", plan_stage="physical", raw_output=True, show=False)
    # What cannot be streamed is a node with the name of the other engine. The legend has it, too.
    nodes = [line for line in graph.splitlines() if "legend" not in line.lower()]
    assert any("with-columns" in line for line in nodes), graph
    assert not any("in-memory" in line for line in nodes), graph
    query.sink_parquet(tmp_path / "out.parquet")
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert found["site"].to_list() == LOOKUP * 3
    assert found["prefix"].to_list() == PREFIX * 3
    assert found["known"].to_list() == CONTAINS * 3


def test_a_table_that_changes_meanwhile(src):
    table = fibula.Table(ROUTES)
    column = pl.LazyFrame({"src": ROWS})
    found, stop = [], threading.Event()

    def change():
        count = 0
        while not stop.is_set():
            table.insert("10.1.0.0/16", f"lab {count % 500}")
            count += 1

    writer = threading.Thread(target=change)
    writer.start()
    try:
        for _ in range(20):
            found += column.select(src.lookup(table)).collect()["src"].to_list()[::5]
    finally:
        stop.set()
        writer.join()
    assert all(site.startswith("lab") for site in found)


def test_memory_stays_flat(src):
    table = fibula.Table(ROUTES)
    frame = pl.DataFrame({"src": ROWS * 10})

    def resident_mb():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4 / 1024

    if not Path("/proc/self/statm").exists():
        pytest.skip("only Linux tells the memory of a process there")
    before = 0.0
    for count in range(110):
        if count == 10:
            before = resident_mb()
        frame.select(src.lookup(table), known=src.contains(table))
    # A hundred times 100,000 rows of 16 bytes would be 160 MB.
    assert resident_mb() - before < 80


def test_a_library_of_another_version_is_not_called(tmp_path, monkeypatch):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    source = tmp_path / "other.c"
    source.write_text(
        "unsigned _polars_plugin_get_version(void) { return 9u << 16; }\n"
        'const char *_polars_plugin_get_last_error_message(void) { return "not called"; }\n'
    )
    library = tmp_path / "other.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True)  # noqa: S603
    monkeypatch.setattr(fibula.polars, "_LIBRARY", library)
    monkeypatch.setattr(fibula.polars, "_calls_plugin", fibula.polars._calls_plugin.__wrapped__)
    assert not fibula.polars._calls_plugin()
    table = fibula.Table(ROUTES)
    query = pl.LazyFrame({"src": ROWS}).select(pl.col("src").fibula.lookup(table))
    assert "fibula_answer" not in query.explain()
    assert query.collect()["src"].to_list() == LOOKUP


PREFIXES = ["10.1.2.0/24", None, "10.0.0.0/7", "10.1.2.3", "2001:db8::/31", "2001:db8::/32"]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_prefixes(engine):
    table = fibula.Table(ROUTES)
    prefix = pl.col("prefix").fibula
    query = pl.LazyFrame({"prefix": PREFIXES * 2001}).select(
        prefix.covering(table), covered=prefix.covered(table), overlaps=prefix.overlaps(table)
    )
    schema = {"prefix": pl.String, "covered": pl.Boolean, "overlaps": pl.Boolean}
    assert query.collect_schema() == schema
    found = query.collect(engine=engine)
    expected = ["10.1.0.0/16", None, None, "10.1.0.0/16", None, "2001:db8::/32"]
    assert found["prefix"].to_list() == expected * 2001
    assert found["covered"].to_list() == [True, None, False, True, False, True] * 2001
    assert found["overlaps"].to_list() == [True, None, True, True, True, True] * 2001


def test_prefixes_of_a_table_that_changes_and_of_a_snapshot(tmp_path):
    table = fibula.Table(ROUTES)
    frame = pl.DataFrame({"prefix": ["10.1.2.0/24"]})
    covering = pl.col("prefix").fibula.covering
    ask = covering(table)
    table.insert("10.1.2.0/23", "desk")
    assert frame.select(ask).item() == "10.1.2.0/23"
    table.to_fib(tmp_path / "table.fib")
    assert frame.select(covering(fibula.open(tmp_path / "table.fib"))).item() == "10.1.2.0/23"
    table.to_fib(tmp_path / "bare.fib", routes=False)
    with pytest.raises((ValueError, pl.exceptions.PolarsError), match="routes"):
        frame.select(covering(fibula.open(tmp_path / "bare.fib")))


def test_what_is_no_prefix():
    table = fibula.Table(ROUTES)
    vrps = fibula.Vrps(b"ASN,IP Prefix,Max Length\nAS64500,10.0.0.0/8,16\n")
    frame = pl.DataFrame({"prefix": ["10.0.0.0/8", "10.1.2.3/8"], "origin": [64500, 64500]})
    prefix = pl.col("prefix").fibula
    for ask in (
        lambda **how: prefix.covering(table, **how),
        lambda **how: prefix.covered(table, **how),
        lambda **how: prefix.overlaps(table, **how),
        lambda **how: prefix.validity(vrps, "origin", **how),
    ):
        with pytest.raises((ValueError, pl.exceptions.PolarsError), match='row 1: "10.1.2.3/8" is'):
            frame.select(ask())
        assert frame.select(ask(errors="null"))["prefix"].null_count() == 1
        with pytest.raises((TypeError, pl.exceptions.PolarsError), match="expected text"):
            pl.DataFrame({"prefix": [1], "origin": [1]}).select(ask())


def test_validity():
    vrps = fibula.Vrps(b"ASN,IP Prefix,Max Length\nAS64500,10.0.0.0/8,16\n")
    rows = [
        ("10.0.0.0/8", 64500, "valid"),
        ("10.1.0.0/17", 64500, "invalid-length"),
        ("10.1.0.0/16", 64501, "invalid-as"),
        ("11.0.0.0/8", 64500, "not-found"),
        (None, 64500, None),
        ("10.0.0.0/8", None, None),
    ]
    frame = pl.DataFrame(rows, schema=["prefix", "origin", "expected"], orient="row")
    chunks = pl.concat([frame, frame], rechunk=False)
    validity = pl.col("prefix").fibula.validity
    for origin in ("origin", pl.col("origin") + 0):
        assert (
            chunks.select(validity(vrps, origin))["prefix"].to_list()
            == chunks["expected"].to_list()
        )
    assert frame.filter(validity(vrps, "origin") == "valid").height == 1


def test_records_have_the_fields_of_all(src):
    records = [{"asn": 1}, {"asn": 2, "site": "lab", "more": [{"x": 1}, {"y": "z"}]}]
    table = fibula.Table({"10.0.0.0/8": records[0], "10.1.0.0/16": records[1]})
    expected = [
        {"asn": 2, "site": "lab", "more": [{"x": 1, "y": None}, {"x": None, "y": "z"}]},
        {"asn": 1, "site": None, "more": None},
        None,
    ]
    rows = ["10.1.2.3", "10.2.3.4", "192.0.2.1"]
    assert table.lookup(pl.Series(rows)).to_list() == expected
    frame = pl.DataFrame({"src": rows})
    assert frame.select(src.lookup(table)).to_series().to_list() == expected
