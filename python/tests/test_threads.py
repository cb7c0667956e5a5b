"""Lookups and changes at once, and what they leave behind."""

import gc
import resource
import sys
import threading
import time
import weakref

import datafusion
import duckdb
import pyarrow as pa

import fibula
import fibula.datafusion
import fibula.duckdb
from fibula._columns import plain

THREADS = 4
ROUNDS = 25_000


def on_threads(work):
    """Run `work(thread)` on every thread; raise the first error."""
    errors = []

    def run(thread):
        try:
            work(thread)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=run, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_a_hundred_thousand_insertions_and_lookups():
    table = fibula.Table({"10.0.0.0/8": "cover", "2001:db8::/32": "six"})

    def work(thread):
        for i in range(ROUNDS):
            prefix = f"10.{thread}.{i % 256}.0/24"
            table.insert(prefix, (thread, i))
            assert table[f"10.{thread}.{i % 256}.9"] == (thread, i)
            assert table["10.99.0.1"] == "cover"
            assert table["2001:db8::1"] == "six"
            if i % 7 == 0:
                del table.routes[prefix]
                assert table[f"10.{thread}.{i % 256}.9"] == "cover"

    on_threads(work)
    for prefix, value in list(table.routes.items()):
        assert table.routes[prefix] == value
    assert len(table) == len(list(table.routes))


def test_a_batch_sees_values_that_were_there():
    """An index that a batch has answered keeps its value until the batch has ended."""
    table = fibula.Table((f"10.0.{i}.0/24", f"old {i}") for i in range(256))
    column = pa.array(f"10.0.{i % 256}.1" for i in range(20_000))
    stop = threading.Event()

    def change():
        generation = 0
        while not stop.is_set():
            generation += 1
            for i in range(256):
                table.insert(f"10.0.{i}.0/24", f"{generation} {i}")

    writer = threading.Thread(target=change)
    writer.start()
    try:
        for _ in range(20):
            answers = table.lookup(column).to_pylist()
            assert all(a.endswith(f" {i % 256}") for i, a in enumerate(answers))
    finally:
        stop.set()
        writer.join()


def changed_meanwhile(look_up):
    """Call `look_up(table, column)` for a second while routes come and go; return wrong values.

    The second byte of an address is that of its route, and a text that begins its values.
    """
    table = fibula.Table((f"10.{i}.0.0/16", f"{i} first") for i in range(64))
    column = pa.array(f"10.{i % 64}.0.1" for i in range(4096))
    stop = threading.Event()

    def change():
        generation = 0
        while not stop.is_set():
            generation += 1
            for i in range(64):
                del table.routes[f"10.{i}.0.0/16"]
                table.insert(f"10.{(i + 7) % 64}.0.0/16", f"{(i + 7) % 64} {generation}")

    writer = threading.Thread(target=change)
    writer.start()
    wrong, end = [], time.monotonic() + 1
    try:
        while time.monotonic() < end:
            for i, answer in enumerate(look_up(table, column)):
                if answer is not None and not answer.startswith(f"{i % 64} "):
                    wrong.append((i % 64, answer))
    finally:
        stop.set()
        writer.join()
    return wrong


def test_plain_values_are_of_their_routes():
    how = {"errors": "raise"}
    assert not changed_meanwhile(lambda t, c: plain(t, c, pa.string(), how).to_pylist())


def test_duckdb_answers_values_of_their_routes():
    con = duckdb.connect()
    known = []

    def look_up(table, column):
        if not known:
            fibula.duckdb.register(con, table, "site")
            con.register("flows", pa.table({"src": column, "row": pa.array(range(len(column)))}))
            known.append(table)
        return [site for (site,) in con.sql("SELECT site(src) FROM flows ORDER BY row").fetchall()]

    assert not changed_meanwhile(look_up)


def test_datafusion_answers_values_of_their_routes():
    context = datafusion.SessionContext()
    known = []

    def look_up(table, column):
        if not known:
            context.register_udf(fibula.datafusion.udf(table, "site"))
            context.from_pydict({"src": column.to_pylist()}, name="flows")
            known.append(table)
        return context.sql("SELECT site(src) AS site FROM flows").to_pydict()["site"]

    assert not changed_meanwhile(look_up)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_a_million_calls_leave_no_memory():
    table = fibula.Table({"10.0.0.0/8": "corp", "2001:db8::/32": "doc"})
    value, address = table["10.1.2.3"], "10.1.2.3"

    def calls(count):
        for i in range(count):
            assert table[address] is value
            table.get("192.0.2.1")
            table.match("2001:db8::1")
            if i % 10 == 0:
                table.insert("192.0.2.0/24", ("new", i))
                table.routes.get("192.0.2.0/24")
                del table.routes["192.0.2.0/24"]

    calls(20_000)
    gc.collect()
    references, before, values = sys.getrefcount(value), peak(), len(table.values)
    calls(1_000_000)
    gc.collect()
    assert sys.getrefcount(value) == references
    assert len(table.values) == values
    assert peak() - before < 4096  # KiB


def test_a_value_that_another_change_of_the_batch_replaces_is_not_kept():
    class Value:
        pass

    replaced, last = Value(), Value()
    gone = weakref.ref(replaced)
    table = fibula.Table([("10.0.0.0/8", replaced), ("10.0.0.0/8", last)])
    del replaced
    assert gone() is None
    assert table["10.0.0.1"] is last
    assert len(table.values) <= 3
