"""Columns: every kind x null x empty x sliced x chunked, with single lookups as the oracle."""

import ipaddress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import networks

import fibula

ROUTES = {"10.0.0.0/8": "corp", "10.1.0.0/16": "lab", "2001:db8::/32": "doc", "0.0.0.0/8": "zero"}
FOUR = ["10.1.2.3", "10.2.3.4", "192.0.2.1", "0.0.0.1", "10.1.255.255"]
SIX = ["2001:db8::1", "::1", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"]

TABLE = fibula.Table(ROUTES)


def expected(addresses):
    return [None if a is None else TABLE.get(a) for a in addresses]


def packed(addresses):
    return [None if a is None else ipaddress.ip_address(a).packed for a in addresses]


def numbers(addresses):
    return [None if a is None else int(ipaddress.IPv4Address(a)) for a in addresses]


ARROW = {
    "string": (FOUR + SIX, lambda a: pa.array(a, pa.string())),
    "large_string": (FOUR + SIX, lambda a: pa.array(a, pa.large_string())),
    "string_view": (FOUR + SIX, lambda a: pa.array(a, pa.string_view())),
    "uint32": (FOUR, lambda a: pa.array(numbers(a), pa.uint32())),
    "int64": (FOUR, lambda a: pa.array(numbers(a), pa.int64())),
    "uint64": (FOUR, lambda a: pa.array(numbers(a), pa.uint64())),
    "binary": (FOUR + SIX, lambda a: pa.array(packed(a), pa.binary())),
    "large_binary": (FOUR + SIX, lambda a: pa.array(packed(a), pa.large_binary())),
    "fixed 4": (FOUR, lambda a: pa.array(packed(a), pa.binary(4))),
    "fixed 16": (SIX, lambda a: pa.array(packed(a), pa.binary(16))),
    "null": ([None], lambda a: pa.array(a, pa.null())),
    "dictionary": (FOUR + SIX, lambda a: pa.array(a, pa.string()).dictionary_encode()),
}


@pytest.mark.parametrize("kind", ARROW)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("count", [0, 1, 7, 5000])
@pytest.mark.parametrize("threads", [1, 3])
def test_arrow(kind, nulls, count, threads):
    addresses, make = ARROW[kind]
    rows = [addresses[i * 7 % len(addresses)] for i in range(count)]
    if nulls:
        rows = [None if i % 3 == 1 else row for i, row in enumerate(rows)]
    array = make(rows)
    whole = TABLE.lookup(array, threads=threads)
    assert pa.types.is_dictionary(whole.type)
    assert whole.to_pylist() == expected(rows)
    assert TABLE.lookup(array[1:]).to_pylist() == expected(rows[1:])
    chunked = pa.chunked_array([array[:2], array[2:2], array[2:]], array.type)
    answers = TABLE.lookup(chunked, threads=threads)
    assert isinstance(answers, pa.ChunkedArray)
    assert answers.to_pylist() == expected(rows)
    indices = TABLE.indices(array)
    assert indices.type == pa.uint32()
    values = TABLE.values
    assert [None if i is None else values[i] for i in indices.to_pylist()] == expected(rows)


def test_arrow_of_many_rows_on_threads():
    rows = [FOUR[i % 5] for i in range(200_001)]
    assert TABLE.lookup(pa.array(rows), threads=3).to_pylist() == expected(rows)
    rows[150_000] = "nobody"
    with pytest.raises(ValueError, match='^row 150000: "nobody" is not an IPv4 or IPv6 address'):
        TABLE.lookup(pa.chunked_array([rows[:90_000], rows[90_000:]]), threads=3)
    nulled = TABLE.lookup(pa.array(rows), errors="null", threads=3)
    assert nulled[150_000].as_py() is None


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("count", [0, 7, 5000])
def test_polars(nulls, count):
    for dtype, addresses in ((pl.String, FOUR + SIX), (pl.UInt32, FOUR), (pl.Binary, FOUR + SIX)):
        rows = [addresses[i * 3 % len(addresses)] for i in range(count)]
        if nulls:
            rows = [None if i % 4 == 1 else row for i, row in enumerate(rows)]
        form = {pl.UInt32: numbers, pl.Binary: packed}.get(dtype, list)
        series = pl.Series("src", form(rows), dtype)
        answers = TABLE.lookup(series)
        assert answers.name == "src"
        assert answers.dtype == pl.String
        assert answers.to_list() == expected(rows)
        assert TABLE.lookup(series[1:]).to_list() == expected(rows[1:])
        twice = pl.concat([series, series], rechunk=False)
        assert TABLE.lookup(twice).to_list() == expected(rows * 2)
        assert TABLE.indices(series).dtype == pl.UInt32
    categories = pl.Series(FOUR * 3, dtype=pl.Categorical)
    assert TABLE.lookup(categories).to_list() == expected(FOUR * 3)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("count", [0, 7, 500])
def test_pandas(nulls, count):
    rows = [(FOUR + SIX)[i * 3 % 8] for i in range(count)]
    if nulls:
        rows = [None if i % 4 == 1 else row for i, row in enumerate(rows)]
    labels = [f"row {i}" for i in range(count)]
    for dtype in ("str", "object", "category", pd.ArrowDtype(pa.string())):
        series = pd.Series(rows, index=labels, name="src", dtype=dtype)
        answers = TABLE.lookup(series)
        assert isinstance(answers, pd.Series)
        assert (answers.name, list(answers.index)) == ("src", labels)
        assert [None if pd.isna(v) else v for v in answers] == expected(rows)
    objects = pd.Series([ipaddress.ip_address(a) for a in FOUR + SIX])
    assert [None if pd.isna(v) else v for v in TABLE.lookup(objects)] == expected(FOUR + SIX)
    integers = pd.Series(numbers(FOUR), dtype="uint32")
    assert [None if pd.isna(v) else v for v in TABLE.lookup(integers)] == expected(FOUR)
    masked = pd.Series([*numbers(FOUR), None], dtype="UInt32")
    assert [None if pd.isna(v) else v for v in TABLE.lookup(masked)] == [*expected(FOUR), None]


NUMPY = {
    "u4": (FOUR, lambda a: np.array(numbers(a), np.uint32)),
    ">u4": (FOUR, lambda a: np.array(numbers(a), ">u4")),
    "i8": (FOUR, lambda a: np.array(numbers(a), np.int64)),
    "u8": (FOUR, lambda a: np.array(numbers(a), np.uint64)),
    "S4": (FOUR, lambda a: np.array(packed(a), "S4")),
    "V4": (FOUR, lambda a: np.array(packed(a), "S4").view("V4")),
    "S16": (SIX, lambda a: np.array(packed(a), "S16")),
    "V16": (SIX, lambda a: np.array(packed(a), "S16").view("V16")),
    "U": (FOUR + SIX, np.array),
    "O": (FOUR + SIX, lambda a: np.array([*map(ipaddress.ip_address, a)], object)),
    "T": (FOUR + SIX, lambda a: np.array(a, np.dtypes.StringDType())),
}


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("count", [0, 1, 60, 20_000])
def test_numpy(kind, count):
    addresses, make = NUMPY[kind]
    rows = [addresses[i * 3 % len(addresses)] for i in range(count)]
    array = make(rows) if rows else make(addresses)[:0]
    values = np.array(TABLE.values, object)
    for part, of in ((array, rows), (array[::2], rows[::2]), (array[1:], rows[1:])):
        answers = TABLE.lookup(part)
        assert (type(answers), answers.dtype) == (np.ndarray, object)
        assert answers.tolist() == expected(of)
        indices = TABLE.indices(part, threads=2)
        assert indices.dtype == np.uint32
        assert values[indices].tolist() == expected(of)
        out = np.full(2 * len(of), 9, np.uint32)
        assert TABLE.indices(part, out=out[::2]).tolist() == indices.tolist()
        assert (out[::2].tolist(), set(out[1::2])) == (indices.tolist(), {9} if of else set())
    if count == 60:
        square = array.reshape(6, 10)
        assert TABLE.lookup(square).tolist() == TABLE.lookup(array).reshape(6, 10).tolist()
        out = np.empty(60, object)
        assert TABLE.lookup(array, out=out) is out
        assert out.tolist() == expected(rows)


def test_what_is_no_column():
    for column, error, text in (
        ("10.0.0.1", TypeError, "a column of addresses is expected, not str"),
        (5, TypeError, "not iterable"),
        (np.array([1.5]), TypeError, "float64 holds no addresses"),
        (np.array([1, -1]), ValueError, "row 1: -1 is not an IPv4 address"),
        (np.array([1 << 32]), ValueError, "row 0: 4294967296 is not"),
        (pa.array([1.5]), TypeError, "holds no addresses"),
        (pl.Series([1.5]), TypeError, "holds no addresses"),
        (pl.Series([object()]), TypeError, "a Series of objects holds no addresses"),
        (["10.0.0.1", 5], TypeError, "row 1: .*family=4"),
        (pa.array(["10.0.0.1", "10.0.0"]), ValueError, 'row 1: "10.0.0" is not'),
        (pl.Series(["10.0.0.1", "10.0.0"]), ValueError, 'row 1: "10.0.0" is not'),
        (pd.Series(["10.0.0.1", "10.0.0"]), ValueError, "row 1: .10.0.0. is not"),
        (pa.array([b"10"]), ValueError, "row 0"),
    ):
        for ask in (TABLE.lookup, TABLE.indices):
            with pytest.raises(error, match=text):
                ask(column)
    with pytest.raises(ValueError, match='errors is "raise" or "null"'):
        TABLE.lookup([], errors="ignore")
    with pytest.raises(ValueError, match="expected uint32"):
        TABLE.indices(np.zeros(3, np.uint32), out=np.zeros(2, np.uint32))
    with pytest.raises(TypeError, match="out is for NumPy"):
        TABLE.indices([], out=np.zeros(2, np.uint32))


def test_errors_may_be_null():
    rows = ["10.1.2.3", "nobody", None]
    for column in (rows, pa.array(rows), pl.Series(rows), np.array(rows, object)):
        answers = TABLE.lookup(column, errors="null")
        answers = answers.to_pylist() if isinstance(answers, pa.Array) else list(answers)
        assert answers == ["lab", None, None]
    integers = np.array([-1, numbers(FOUR)[0], 1 << 40])
    assert TABLE.lookup(integers, errors="null").tolist() == [None, "lab", None]
    assert TABLE.indices(rows, errors="null")[1:] == [0, 0]


def test_values_of_many_types():
    rows = ["10.0.0.1", "11.0.0.1", "12.0.0.1"]
    for values in ([1, 2], ["a", "b"], [{"as": 1}, {"as": 2}], [1.5, 2.5]):
        table = fibula.Table(zip(["10.0.0.0/8", "11.0.0.0/8"], values, strict=True))
        for column in (rows, np.array(rows), pl.Series(rows), pa.array(rows)):
            answers = table.lookup(column)
            if isinstance(answers, pa.DictionaryArray):
                answers = answers.to_pylist()
            assert list(answers) == [*values, None]
    mixed = fibula.Table({"10.0.0.0/8": 1, "11.0.0.0/8": "a"})
    assert mixed.lookup(np.array(rows)).tolist() == [1, "a", None]
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError)):
        mixed.lookup(pa.array(rows))
    sequences = fibula.Table({"10.0.0.0/8": [1, 2], "11.0.0.0/8": [3, 4]})
    assert sequences.lookup(np.array(rows)).tolist() == [[1, 2], [3, 4], None]


def test_values_that_change_are_seen():
    table = fibula.Table({"10.0.0.0/8": "a"})
    column = pa.array(["10.0.0.1"])
    for value in ("b", "c", "b", "d"):
        table.insert("10.0.0.0/8", value)
        assert table.lookup(column).to_pylist() == [value]
        assert table.lookup(pl.Series(["10.0.0.1"])).to_list() == [value]
        assert table.lookup(np.array(["10.0.0.1"])).tolist() == [value]


@settings(max_examples=50)
@given(
    st.dictionaries(networks, st.integers(0, 300), max_size=20),
    st.lists(st.ip_addresses() | st.none(), max_size=50),
)
def test_every_column_agrees_with_single_lookups(routes, addresses):
    table = fibula.Table(routes)
    answers = [None if a is None else table.get(a) for a in addresses]
    texts = [None if a is None else str(a) for a in addresses]
    assert table.lookup(addresses) == answers
    assert table.lookup(pa.array(texts, pa.string())).to_pylist() == answers
    assert table.lookup(pl.Series(texts, dtype=pl.String)).to_list() == answers
    six = [a for a in addresses if a is not None and a.version == 6]
    array = np.array([a.packed for a in six], "S16")
    assert table.lookup(array, unmap=False).tolist() == [table.get(a) for a in six]


def test_a_snapshot_answers_columns(tmp_path):
    path = tmp_path / "table.fib"
    TABLE.to_fib(path, family=4)
    opened = fibula.open(path)
    rows = [*FOUR, None, "::1"]
    assert opened.lookup(pa.array(rows)).to_pylist() == [*expected(FOUR), None, None]
    assert opened.lookup(np.array(numbers(FOUR), np.uint32)).tolist() == expected(FOUR)


def test_indices_of_pandas():
    series = pd.Series(["10.1.2.3", None, "192.0.2.1"], index=[5, 6, 7])
    found = TABLE.indices(series)
    assert (found.dtype, list(found.index)) == (np.uint32, [5, 6, 7])
    assert [TABLE.values[index] for index in found] == ["lab", None, None]


@pytest.mark.parametrize("rows", [1, 63, 64, 8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("first", [0, 3])
def test_long_columns_of_bytes_and_numbers(rows, first):
    table = fibula.Table({"10.0.0.0/8": "corp", "2001:db8::/33": "doc"})
    fours = [(10 << 24 | row * 7919) + (row % 3 == 0) * (1 << 28) for row in range(first + rows)]
    sixes = [
        0x2001_0DB8 << 96 | (row * 0x9E37_79B9 & 0xFFFF_FFFF) << 64 for row in range(first + rows)
    ]
    packed = [number.to_bytes(16, "big") for number in sixes]
    four_bytes, six_bytes = np.array(fours, np.uint32), np.frombuffer(b"".join(packed), "V16")
    expected = [None if number >> 24 != 10 else "corp" for number in fours][first:]
    column = pa.array(four_bytes).slice(first)
    assert table.lookup(column).to_pylist() == expected
    expected = [None if number >> 95 & 1 else "doc" for number in sixes][first:]
    assert table.lookup(pa.array(packed, pa.binary(16)).slice(first)).to_pylist() == expected
    values = table.values
    assert [values[index] for index in table.indices(six_bytes[first:])] == expected


def test_arrays_that_hold_addresses_in_another_way():
    rows = np.array([[10, 1, 0, 1], [192, 0, 2, 1]], np.uint8)
    assert TABLE.lookup(rows).tolist() == ["lab", None]
    six = np.frombuffer(ipaddress.ip_address("2001:db8::1").packed, np.uint8).reshape(1, 16)
    assert TABLE.lookup(six).tolist() == ["doc"]
    for text in ("S16", "S40"):
        assert TABLE.lookup(np.array([b"10.1.0.1", b"::1"], text)).tolist() == ["lab", None]
    masked = np.ma.array([0x0A010001, 0x0A010001], mask=[False, True], dtype=np.uint32)
    assert TABLE.lookup(masked).tolist() == ["lab", None]
    assert TABLE.indices(masked).tolist()[1] == 0
    for wrong in (
        np.array([10, 1, 0, 1], np.uint8),
        np.array([[10, 1, 0]], np.uint8),
        np.array([(1, 1)], dtype=[("high", "u8"), ("low", "u8")]),
        np.array([b"::1"], "S4"),
    ):
        for ask in (TABLE.lookup, TABLE.indices):
            with pytest.raises(TypeError, match="an array of"):
                ask(wrong)


def test_what_to_pass_instead():
    for wrong, instead in (
        (pd.DataFrame({"src": FOUR}), "pass one, as df"),
        (pd.Index(FOUR), "to_series"),
        (pl.DataFrame({"src": FOUR}), "pass one, as df"),
        (pl.col("src"), "fibula.polars"),
        (pl.Series([1], dtype=pl.UInt128), "Binary of 16 bytes"),
    ):
        for ask in (TABLE.lookup, TABLE.indices):
            with pytest.raises(TypeError, match=instead):
                ask(wrong)


def test_pandas_gives_nullable_types_whatever_misses():
    series = pd.Series(["10.1.2.3", "192.0.2.1"])
    for values, dtype in (
        ((1, 2**40), "Int64"),
        ((0.5, 1.5), "Float64"),
        ((True, False), "boolean"),
    ):
        table = fibula.Table({"10.0.0.0/8": values[0], "10.1.0.0/16": values[1]})
        for rows in (series, series[:1]):
            assert table.lookup(rows).dtype == dtype
        assert table.lookup(series)[0] == values[1]
    mixed = fibula.Table({"10.0.0.0/8": {"a": 1}, "10.1.0.0/16": (1, 2)})
    assert mixed.lookup(series).tolist() == [(1, 2), None]


def test_unmap():
    mapped = ["::ffff:10.1.2.3", "::ffff:192.0.2.1", "2001:db8::1"]
    expected = ["lab", None, "doc"]
    assert TABLE.lookup(mapped) == [None, None, "doc"]
    assert TABLE.lookup(mapped, unmap=True) == expected
    assert TABLE.lookup(pa.array(mapped), unmap=True).to_pylist() == expected
    assert TABLE.lookup(np.array(packed(mapped), "V16"), unmap=True).tolist() == expected
    assert TABLE.lookup(pl.Series(mapped), unmap=True).to_list() == expected


def test_columns_of_mapped_addresses_are_told_and_looked_up_as_any_other():
    mapped = ["::ffff:10.1.2.3", "::ffff:192.0.2.1", "2001:db8::1"]
    binary = pa.array(packed(mapped), pa.binary(16))
    for column in (np.array(packed(mapped), "V16"), binary, pl.Series(packed(mapped))):
        with pytest.warns(UserWarning, match="looked up as IPv6; unmap=True"):
            found = TABLE.lookup(column)
        found = found.to_pylist() if isinstance(found, pa.Array) else list(found)
        assert found == [None, None, "doc"]
    assert TABLE.lookup(binary, unmap=False).to_pylist() == [None, None, "doc"]
    few = pa.array(packed([*mapped, "::1", "::2"]), pa.binary(16))
    assert TABLE.lookup(few).to_pylist() == [None, None, "doc", None, None]


def test_kinds_of_embedded_addresses():
    rows = ["2002:a01:203::1", "64:ff9b::10.1.2.3", "2001:0:0:1::f5fe:fdfc", "2001:db8:1::10.2.0.1"]
    expected = ["lab", "lab", "lab", "corp"]
    kinds = "6to4,teredo,nat64,nat64=2001:db8:1::/96"
    for column in (rows, pa.array(rows), np.array(rows)):
        found = TABLE.lookup(column, unmap=kinds)
        assert list(found.to_pylist() if isinstance(found, pa.Array) else found) == expected
    with pytest.raises(ValueError, match="expected mapped, 6to4"):
        TABLE.lookup(rows, unmap="5to4")


def test_addresses_with_something_around_them():
    rows = [" 10.1.2.3", "10.1.2.3:443", "[2001:db8::1]:53", "2001:db8::1%eth0", "10.2.3.4/32"]
    expected = ["lab", "lab", "doc", "doc", "corp"]
    for column in (rows, np.array(rows), pa.array(rows), pl.Series(rows), pd.Series(rows)):
        found = TABLE.lookup(column, clean=True)
        assert list(found.to_pylist() if isinstance(found, pa.Array) else found) == expected
        with pytest.raises(ValueError, match="row 0"):
            TABLE.lookup(column)
        nothing = TABLE.indices(column, errors="null")
        assert not any(nothing.to_pylist() if isinstance(nothing, pa.Array) else list(nothing))


def test_the_rows_of_columns_are_counted():
    rows = ["10.1.2.3", "192.0.2.1", "10.1.2.3:53", "nobody", None, "::ffff:10.1.2.3"]
    expected = {
        "answered": 2,
        "no_answer": 1,
        "no_address": 2,
        "nulls": 1,
        "embedded": 1,
        "unclean": 1,
    }
    for column in (rows, pa.array(rows), pl.Series(rows), pa.array(rows).dictionary_encode()):
        table = fibula.Table(ROUTES)
        table.lookup(column, errors="null", unmap=True)
        assert table.report["rows"] == expected
    table = fibula.Table(ROUTES)
    table.indices(np.array([-1, numbers(FOUR)[0], 1 << 40, 1]), errors="null")
    assert table.report["rows"]["answered"] == 2
    assert table.report["rows"]["no_address"] == 2


def test_masked_rows_are_nulls():
    table = fibula.Table(ROUTES)
    rows = np.ma.array([7, 0x0A010001, -1, 0xC0000201], mask=[True, False, False, False])
    with pytest.raises(ValueError, match="^row 2: -1 is not an IPv4 address"):
        table.lookup(rows)
    assert table.lookup(rows, errors="null").tolist() == [None, "lab", None, None]
    counts = table.report["rows"]
    expected = {"answered": 1, "no_answer": 1, "no_address": 1, "nulls": 1}
    assert {name: counts[name] for name in expected} == expected
    assert table.lookup(np.ma.array(FOUR, mask=True)).tolist() == [None] * len(FOUR)
    for wrong in (
        np.ma.array([[10, 1, 0, 1]], mask=[[False] * 4], dtype=np.uint8),
        np.ma.array([10, 1], mask=[True, False], dtype=np.uint8),
    ):
        with pytest.raises(TypeError, match="an array of uint8"):
            table.lookup(wrong)
