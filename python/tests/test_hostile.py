"""Forked children, forged snapshots, cycles: what must neither hang, nor crash, nor stay."""

import gc
import os
import signal
import struct
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import xxhash

import fibula

FORKS = 40
PREAMBLE, TABLES = 48, 24


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_was_forked_during_a_batch_reads_and_writes():
    table = fibula.Table({f"10.{i // 256}.{i % 256}.0/24": i for i in range(20_000)})
    addresses = np.arange(2_000_000, dtype=np.uint32) + (10 << 24)
    stop = threading.Event()

    def batches():
        out = np.empty_like(addresses)
        while not stop.is_set():
            table.indices(addresses, out=out)
            table.update({"192.0.2.0/24": object()})
            table.update({f"11.{i // 256}.{i % 256}.0/24": i for i in range(1100)})

    thread = threading.Thread(target=batches)
    thread.start()
    try:
        for _ in range(FORKS):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                table.insert("1.2.3.0/24", "x")
                grandchild = os.fork()
                if grandchild == 0:
                    signal.alarm(10)
                    table.insert("1.2.4.0/24", "y")
                    right = table.indices(np.array([0x01020301], dtype=np.uint32))[0] > 0
                    os._exit(0 if right and table["1.2.4.1"] == "y" else 1)
                _, status = os.waitpid(grandchild, 0)
                os._exit(0 if status == 0 and table["1.2.3.1"] == "x" else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


def forged(path, change):
    """Write the snapshot again as `change` makes its header and sections, with right checksums."""
    file = bytearray(path.read_bytes())
    length = struct.unpack_from("=Q", file, 16)[0]
    tables, common = struct.unpack_from("=II", file, 40)
    counts = [struct.unpack_from("=QIIII", file, PREAMBLE + TABLES * at)[3] for at in range(tables)]
    sections = [PREAMBLE + TABLES * tables + 56 * at for at in range(common + sum(counts))]
    change(file, sections[common:])
    for section in sections:
        offset, size = struct.unpack_from("=QQ", file, section + 24)
        content = bytes(file[offset : offset + (size + 63) // 64 * 64])
        struct.pack_into("=Q", file, section + 40, xxhash.xxh3_64_intdigest(content))
    struct.pack_into("=Q", file, 24, xxhash.xxh3_64_intdigest(bytes(file[32:length])))
    other = path.with_suffix(".forged")
    other.write_bytes(file)
    return other


def test_a_forged_snapshot_is_a_value_error(tmp_path):
    path = tmp_path / "table.fib"
    fibula.Table({f"10.{i // 256}.{i % 256}.0/24": i % 7 for i in range(5_000)}).to_fib(path)
    assert len(fibula.open(forged(path, lambda file, sections: None))) == 5_000

    def too_many(file, sections):
        struct.pack_into("=Q", file, PREAMBLE, (1 << 63) - 1)

    with pytest.raises(ValueError, match="contradicts itself"):
        fibula.open(forged(path, too_many))

    def refuses(question, path):
        try:
            question(fibula.open(path))
        except ValueError:
            return True
        return False

    refused = 0
    addresses = np.arange(0, 1 << 32, 65_537, dtype=np.uint32)
    questions = [
        lambda table: len(table) >= 0,
        lambda table: [table.get(f"10.0.{i}.1") for i in range(256)],
        lambda table: "10.0.0.1" in table,
        lambda table: table.match("10.0.0.1"),
        lambda table: table.indices(addresses),
        lambda table: table.lookup(["10.0.0.1", "10.9.9.9"]),
        lambda table: table.values,
        lambda table: list(table.routes.items()),
    ]
    for byte in (0xFF, 0x7F, 0x01):
        for at in range(8):

            def spoiled(file, sections, at=at, byte=byte):
                offset, size = struct.unpack_from("=QQ", file, sections[at % len(sections)] + 24)
                file[offset : offset + size] = bytes([byte]) * size

            other = forged(path, spoiled)
            refused += sum(refuses(question, other) for question in questions)
    assert refused > 0


def test_a_mapped_table_that_its_values_refer_to_is_collected(tmp_path):
    path = tmp_path / "table.fib"
    fibula.Table({"10.0.0.0/8": "a", "192.0.2.0/24": "b"}).to_fib(path)

    class Value:
        table: object = None

    table = fibula.open(path, convert=lambda _: Value())
    value = table["10.0.0.1"]
    value.table = table
    copies = [table.copy() for _ in range(3)]
    assert all(copy["10.0.0.1"] is value for copy in copies)
    gone = weakref.ref(value)
    gc.collect()
    assert gone() is value
    del table, value, copies
    gc.collect()
    assert gone() is None


def test_a_second_interpreter_of_the_process_is_refused(tmp_path):
    code = """
import _xxsubinterpreters as interpreters
import fibula
second = '''
try: import fibula
except ImportError as error: assert "in one alone" in str(error), error
else: raise SystemExit("imported")
'''
interpreters.run_string(interpreters.create(), second)
"""
    if sys.version_info >= (3, 13):
        code = code.replace("_xxsubinterpreters", "_interpreters")
    # Elsewhere, so that no interpreter finds the sources here.
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=tmp_path)  # noqa: S603
