"""Objects of every kind where an address, a prefix, a column or a table is expected: a right answer
or a Python error, never a panic, and the table stays as it was."""

import array
import datetime as dt
import decimal
import ipaddress
import os
import random

import numpy as np
import pyarrow as pa
import pytest

import fibula

CALLS = int(os.environ.get("FIBULA_OBJECTS", "20000"))
ROUTES = {"10.0.0.0/8": "a", "10.1.0.0/16": "b", "0.0.0.0/0": None, "2001:db8::/32": "d"}
TEXTS = ["", "10.1.2.3", "10.1.2.3/33", "::1", "::ffff:10.1.2.3", "10.0.0.0/8", "fe80::1%eth0"]
# What a caller may expect for an argument of another kind.
ERRORS = (TypeError, ValueError, KeyError, OverflowError, OSError, AttributeError)


class Hostile:
    """Every question that is put to it ends in an error of its own."""

    class OwnError(Exception):
        pass

    def _fail(self, *_):
        raise self.OwnError

    __len__ = __iter__ = __getitem__ = __index__ = __str__ = __buffer__ = __fspath__ = _fail
    __hash__ = __eq__ = __bool__ = __contains__ = __array__ = __arrow_c_array__ = _fail


class Changing:
    """A sequence that is another length each time."""

    def __init__(self, table):
        self.table = table

    def __len__(self):
        return 3

    def __iter__(self):
        for number in range(5):
            self.table.insert(f"192.0.2.{number}/32", number)
            yield f"192.0.2.{number}"


def some_object(pick, table, depth=0):
    """Return an object: often close to what is right."""
    simple = [
        lambda: None,
        lambda: pick.choice([True, False]),
        lambda: pick.choice([0, 1, -1, 2**31, 2**32, 2**64, 2**128 - 1, 2**128, -(2**70)]),
        lambda: pick.choice([0.0, -0.5, float("nan"), float("inf"), 1e300]),
        lambda: pick.choice(TEXTS),
        lambda: pick.choice(["\ud800", "10.1.2.3\0", "1" * 5000]),
        lambda: pick.randbytes(pick.choice([0, 1, 3, 4, 5, 15, 16, 17, 64])),
        lambda: bytearray(b"10.1.2.3"),
        lambda: memoryview(b"\x0a\x01\x02\x03")[:: pick.choice([1, 2, -1])],
        lambda: ipaddress.ip_address("10.1.2.3"),
        lambda: ipaddress.ip_network("10.1.0.0/16"),
        lambda: ipaddress.ip_interface("2001:db8::1/64"),
        lambda: decimal.Decimal("3.5"),
        lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        lambda: array.array(pick.choice("bBhIqd"), [1, 2, 3]),
        lambda: np.arange(4, dtype=pick.choice(["u1", "u4", "i8", "f4", ">u4", "u8"])),
        lambda: np.zeros((2, pick.choice([3, 4, 16])), dtype="u1"),
        lambda: np.array(["10.1.2.3", None], dtype=object),
        lambda: np.array(["10.1.2.3"], dtype=pick.choice(["U8", "S8", "S16"])),
        lambda: np.ma.masked_array(np.arange(3, dtype="u4"), mask=[0, 1, 0]),
        lambda: np.float64(1.5),
        lambda: np.uint32(167_838_211),
        lambda: pa.array(pick.choice([["10.1.2.3", None], [1, 2], [[1], None], [b"\x0a\1\2\3"]])),
        lambda: pa.chunked_array([["10.1.2.3"], ["::1"]]),
        lambda: pa.array(["10.1.2.3", "x"]).dictionary_encode(),
        lambda: pa.array([1, 2**32 - 1], type=pa.uint32())[pick.choice([0, 1]) :],
        lambda: pa.scalar("10.1.2.3"),
        lambda: table,
        lambda: table.routes,
        lambda: fibula.PrefixSet(["10.0.0.0/8"]),
        Hostile,
        lambda: Changing(table),
        lambda: object,
        lambda: len,
        lambda: iter(["10.1.2.3"]),
        lambda: range(3),
    ]
    made = [
        lambda: [some_object(pick, table, depth + 1) for _ in range(pick.randrange(4))],
        lambda: tuple(some_object(pick, table, depth + 1) for _ in range(pick.randrange(4))),
        lambda: {"10.0.0.0/8": some_object(pick, table, depth + 1)},
        lambda: [("10.0.0.0/8", some_object(pick, table, depth + 1))],
        lambda: [(some_object(pick, table, depth + 1), "v")],
    ]
    return pick.choice(simple + (made if depth < 3 else []))()


QUESTIONS = {
    "table of": lambda t, a, b: fibula.Table(a),
    "[]": lambda t, a, b: t[a],
    "in": lambda t, a, b: a in t,
    "get": lambda t, a, b: t.get(a, b),
    "get, family": lambda t, a, b: t.get(a, family=b),
    "match": lambda t, a, b: t.match(a),
    "covers": lambda t, a, b: t.covers(a),
    "diff": lambda t, a, b: t.diff(a),
    "and": lambda t, a, b: t & a,
    "or": lambda t, a, b: a | t,
    "sub": lambda t, a, b: t - a,
    "lookup": lambda t, a, b: t.lookup(a),
    "lookup, out": lambda t, a, b: t.lookup(a, out=b),
    "lookup, how": lambda t, a, b: t.lookup(a, unmap=b, clean=True, errors="null"),
    "indices": lambda t, a, b: t.indices(a, errors="null"),
    "indices, out": lambda t, a, b: t.indices(a, out=b),
    "indices, threads": lambda t, a, b: t.indices(a, threads=b),
    "routes []": lambda t, a, b: t.routes[a],
    "routes get": lambda t, a, b: t.routes.get(a, b),
    "routes covering": lambda t, a, b: t.routes.covering(a),
    "routes covered": lambda t, a, b: t.routes.covered(a),
    "set of": lambda t, a, b: fibula.PrefixSet(a),
    "set ^": lambda t, a, b: fibula.PrefixSet(["10.0.0.0/9"]) ^ a,
    "set in": lambda t, a, b: a in fibula.PrefixSet(["10.0.0.0/9"]),
    "read": lambda t, a, b: fibula.read(a) if isinstance(a, bytes) else None,
    "equals": lambda t, a, b: t == a,
}
CHANGES = {
    "insert": lambda t, a, b: t.insert(a, b),
    "update": lambda t, a, b: t.update(a),
    "routes []=": lambda t, a, b: t.routes.__setitem__(a, b),
    "del": lambda t, a, b: t.routes.__delitem__(a),
    "pop": lambda t, a, b: t.routes.pop(a, b),
}


@pytest.mark.filterwarnings("ignore")
def test_objects_of_any_kind_give_an_answer_or_an_error():
    pick = random.Random(51)
    raised = answered = 0
    for call in range(CALLS):
        table = fibula.Table(ROUTES)
        name = pick.choice(list(QUESTIONS) + list(CHANGES))
        ask = QUESTIONS.get(name) or CHANGES[name]
        arguments = [some_object(pick, table) for _ in range(2)]
        before = dict(table.routes.items())
        try:
            ask(table, *arguments)
            answered += 1
        except (*ERRORS, Hostile.OwnError):
            raised += 1
        except BaseException as error:  # noqa: BLE001
            pytest.fail(f"call {call}, {name}: {type(error)}: {error}")
        after = dict(table.routes.items())
        grown = {prefix for prefix in after if prefix.startswith("192.0.2.")}
        if name in QUESTIONS:
            assert {p: v for p, v in after.items() if p not in grown} == before, (call, name)
        # Whatever happened, the table answers as its routes say.
        assert table.match("10.1.2.3")[0] in after, (call, name)
    assert min(raised, answered) > CALLS // 20, (raised, answered)
