"""Tables from files and snapshots."""

import gzip
import ipaddress
import os
import pickle
import random
from pathlib import Path

import polars as pl
import pytest

import fibula

TEXT = "10.0.0.0/8 64500\n10.1.0.0/16 64501\n2001:db8::/32 64502\n"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text(TEXT)
    return path


def test_read(text):
    table = fibula.read(text)
    assert (table["10.1.2.3"], table["2001:db8::1"]) == ("64501", "64502")
    numbers = fibula.read(str(text), convert=int)
    assert numbers["10.1.2.3"] == 64501
    compressed = text.with_suffix(".gz")
    compressed.write_bytes(gzip.compress(TEXT.encode()))
    assert fibula.read(compressed) == table


def test_every_option_is_passed(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("prefix,value\n10.0.0.1/8,x\nnonsense,y\n")
    with pytest.raises(ValueError, match="line 2.*host bits"):
        fibula.read(path)
    with pytest.raises(ValueError, match="line 3"):
        fibula.read(path, mask_host_bits=True)
    with pytest.warns(UserWarning, match=r"line 3.*\(skipped\)"):
        table = fibula.read(path, mask_host_bits=True, keep_going=True)
    assert dict(table.routes.items()) == {"10.0.0.0/8": "x"}
    with pytest.raises(ValueError, match="table"):
        fibula.read(path, format="mrt")
    with pytest.raises(ValueError, match="(?i)parquet"):
        fibula.read(path, format="parquet")
    with pytest.raises(ValueError, match='not "hop"'):
        fibula.read(path, value="hop")


def test_a_file_that_is_not_there_is_python_s_own_error(tmp_path):
    for ask in (fibula.read, fibula.open):
        with pytest.raises(FileNotFoundError):
            ask(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        fibula.read(tmp_path)


def test_progress(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("".join(f"10.{i >> 8}.{i & 255}.0/24 {i}\n" for i in range(65536)))
    calls = []
    fibula.read(path, progress=lambda done, total: calls.append((done, total)))
    size = os.path.getsize(path)  # noqa: PTH202
    assert calls[-1] == (size, size)
    assert calls == sorted(calls)
    assert len(calls) < 20

    def fail(done, total):
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fibula.read(path, progress=fail)
    pytest.importorskip("tqdm")
    assert len(fibula.read(path, progress=True)) == 65536


@pytest.mark.parametrize("family", [4, 6, None])
@pytest.mark.parametrize("routes", [True, False])
def test_a_snapshot_answers_as_its_table(text, tmp_path, family, routes):
    table = fibula.read(text)
    path = tmp_path / "table.fib"
    table.to_fib(path, family=family, routes=routes)
    opened = fibula.open(path, convert=int)
    is_in = {4: lambda text: ":" not in text, 6: lambda text: ":" in text}.get(family, bool)
    of_family = {p: int(v) for p, v in table.routes.items() if is_in(p)}
    assert len(opened) == len(of_family)
    for address in ("10.1.2.3", "10.2.3.4", "192.0.2.1", "2001:db8::1", "::"):
        value = table.get(address)
        is_here = value is not None and is_in(address)
        assert opened.get(address) == (int(value) if is_here else None)
        assert (address in opened) == is_here
    twin = pickle.loads(pickle.dumps(opened))
    assert twin.get("10.1.2.3") == opened.get("10.1.2.3")
    if routes:
        assert opened.match("10.1.2.3") == (("10.1.0.0/16", 64501) if family != 6 else None)
        assert dict(opened.routes.items()) == of_family
        opened.insert("192.0.2.0/24", 7)
        assert opened["192.0.2.1"] == 7
        assert twin.get("192.0.2.1") is None
    else:
        for ask in (
            lambda: opened.match("10.1.2.3"),
            lambda: list(opened.routes),
            lambda: opened.routes.covering("10.0.0.0/8"),
            lambda: opened.insert("192.0.2.0/24", 7),
            opened.aggregate,
        ):
            with pytest.raises(ValueError, match="holds no routes, only lookups"):
                ask()
        assert len(opened.copy()) == len(opened)


def test_what_a_snapshot_cannot_hold(tmp_path):
    path = tmp_path / "table.fib"
    with pytest.raises(TypeError, match=r"the value of 10\.1\.0\.0/16 is set"):
        fibula.Table({"10.0.0.0/8": "a", "10.1.0.0/16": set()}).to_fib(path)
    assert not path.exists()
    with pytest.raises(OSError, match="none"):
        fibula.Table({"10.0.0.0/8": "a"}).to_fib(tmp_path / "none" / "table.fib")


@pytest.mark.parametrize(
    "value", ["AS64500", "64500", "192.0.2.1 dev eth0", " x ", "é", "+5", "dev", "a,b"]
)
def test_every_text_comes_back_from_a_snapshot(value, tmp_path):
    path = tmp_path / "table.fib"
    table = fibula.Table({"10.0.0.0/8": value, "11.0.0.0/8": "other"})
    table.to_fib(path)
    assert fibula.open(path)["10.1.2.3"] == value
    assert fibula.open(path) == table


def test_a_damaged_snapshot_is_refused(tmp_path):
    path = tmp_path / "table.fib"
    fibula.Table({"10.0.0.0/8": "a"}).to_fib(path)
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    for content in (whole[:-1], bytes(damaged), b"", b"text"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"table\.fib"):
            fibula.open(path)


def test_a_callback_that_fails_is_raised(text, tmp_path):
    path = tmp_path / "table.fib"
    fibula.Table({"10.0.0.0/8": "a"}).to_fib(path)
    opened = fibula.open(path, convert=int)
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            opened["10.1.2.3"]
    with pytest.raises(ZeroDivisionError):
        fibula.read(text, convert=lambda _: 1 // 0)


@pytest.mark.parametrize(
    "name", ["ipv4-202401-tier1-joinedasn.tsv.gz", "ipv6-20260511-ris-as3333-joinedasn.tsv.gz"]
)
def test_a_real_table(data, tmp_path, name):
    table = fibula.read(data / name, convert=int)
    with gzip.open(data / name, "rt") as lines:
        truth = {p: int(v) for p, v in (line.split() for line in lines)}
    assert len(table) == len(truth)
    rng = random.Random(7)
    path = tmp_path / "table.fib"
    table.to_fib(path)
    opened = fibula.open(path, convert=int)
    for prefix in rng.sample(list(truth), 500):
        network = ipaddress.ip_network(prefix)
        address = network[rng.randrange(network.num_addresses)]
        length = network.max_prefixlen
        covers = (
            str(ipaddress.ip_network((address, n), strict=False)) for n in range(length, -1, -1)
        )
        best = next(cover for cover in covers if cover in truth)
        assert table.match(address) == (best, truth[best])
        assert table[address] == opened[str(address)] == truth[best]


def test_fields_are_dicts_and_typed_columns(tmp_path):
    text = b"network,country,asn\n10.0.0.0/8,BE,64500\n2001:db8::/32,,64501\n"
    table = fibula.read(text)
    assert table["10.1.2.3"] == {"country": "BE", "asn": 64500}
    assert table["2001:db8::1"] == {"country": None, "asn": 64501}
    path = tmp_path / "table.fib"
    table.to_fib(path)
    assert fibula.open(path)["10.1.2.3"] == {"country": "BE", "asn": 64500}
    answers = table.lookup(pl.Series(["10.1.2.3", "192.0.2.1"]))
    assert answers.struct.field("asn").to_list() == [64500, None]
    path = tmp_path / "table.csv"
    path.write_bytes(text)
    with path.open("rb") as file:
        assert fibula.read(file, value_column="asn")["10.1.2.3"] == "64500"


def test_the_report_says_what_was_left_out():
    text = b"10.0.0.0/8 via 192.0.2.1 dev eth0\n10.0.0.0/8 tos 0x10 via 192.0.2.9 dev eth1\n"
    report = fibula.read(text).report
    assert (report["kept"], report["left_out"]) == (1, {"conditional route": 1})
    assert report["notes"] == ["left out: conditional route, 1 time, first at line 2"]
    assert list(fibula.Table({}).report) == ["rows"]
    with pytest.raises(ValueError, match="line 2: conditional route, which --strict refuses"):
        fibula.read(text, strict=True)
    with pytest.raises(ValueError, match="there are main"):
        fibula.read(text, table="7")


def test_text_of_another_encoding():
    text = "prefix,city\n10.0.0.0/8,Zürich\n"
    for encoding in ("latin-1", "windows-1252"):
        assert fibula.read(text.encode(encoding), encoding=encoding)["10.1.2.3"] == "Zürich"
    assert fibula.read(text.encode("utf-16"))["10.1.2.3"] == "Zürich"
    with pytest.raises(ValueError, match="UTF-8"):
        fibula.read(text.encode("latin-1"))
    with pytest.raises(ValueError, match='no encoding "latin"'):
        fibula.read(text.encode(), encoding="latin")


def test_the_version_is_that_of_the_crates():
    text = (Path(__file__).parents[2] / "Cargo.toml").read_text()
    assert f'version = "{fibula.__version__}"' in text


def test_locations_are_joined(tmp_path):
    (tmp_path / "GeoLite2-City-Blocks-IPv4.csv").write_text(
        "network,geoname_id,radius\n10.0.0.0/8,7,50\n"
    )
    (tmp_path / "GeoLite2-City-Locations-en.csv").write_text("geoname_id,city_name\n7,Ghent\n")
    expected = {"geoname_id": 7, "radius": 50, "city_name": "Ghent"}
    table = fibula.read(tmp_path / "GeoLite2-City-Blocks-IPv4.csv")
    assert table["10.1.2.3"] == expected
    assert "beside it" in table.report["notes"][0]
    blocks = b"network,geoname_id,radius\n10.0.0.0/8,7,50\n"
    locations = tmp_path / "GeoLite2-City-Locations-en.csv"
    assert fibula.read(blocks, locations=locations)["10.1.2.3"] == expected


def test_all_origins_and_the_whole_route():
    text = (
        b"TABLE_DUMP2|1|B|192.0.2.7|64500|10.0.0.0/8|64500 65001|IGP|192.0.2.7|0|0|"
        b"64500:1 no-export|NAG||\n"
        b"TABLE_DUMP2|1|B|192.0.2.8|64501|10.0.0.0/8|64501 1 {65002,65003}|IGP|192.0.2.8|0|0|"
        b"|NAG||\n"
    )
    assert fibula.read(text, value="origins")["10.1.2.3"] == [65001, [65002, 65003]]
    assert fibula.read(text, value="route")["10.1.2.3"] == {
        "next_hop": "192.0.2.7",
        "origin_as": 65001,
        "peer": "192.0.2.7",
        "as_path": [64500, 65001],
        "communities": ["64500:1", "no-export"],
    }
    with pytest.raises(ValueError, match="value is one of next_hop"):
        fibula.read(text, value="hop")


def test_values_of_several_fields_are_structs_in_sql():
    import datafusion
    import duckdb

    import fibula.datafusion
    import fibula.duckdb

    table = fibula.read(b"network,country,asn\n10.0.0.0/8,BE,64500\n2001:db8::/32,,64501\n")
    con = duckdb.connect()
    fibula.duckdb.register(con, table, "geo", errors="null")
    query = (
        "SELECT geo(a).country, geo(a).asn FROM (VALUES ('10.1.2.3'), ('::'), ('x'), (NULL)) v(a)"
    )
    assert con.sql(query).fetchall() == [("BE", 64500), *[(None, None)] * 3]
    context = datafusion.SessionContext()
    context.register_udf(fibula.datafusion.udf(table, "geo"))
    query = "SELECT geo('10.1.2.3')['asn'] AS asn, geo('192.0.2.1') AS none"
    assert context.sql(query).to_pydict() == {"asn": [64500], "none": [None]}
