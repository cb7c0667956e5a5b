"""Copies of flows in Parquet: plain, and with what a table answers for the source addresses."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import fibula
from fibula.bench import ONE_THREAD

if TYPE_CHECKING:
    from collections.abc import Callable

_BATCH_ROWS = 1_000_000
_PASSES = 3
_PR_SET_CHILD_SUBREAPER = 36


class Copy(NamedTuple):
    """What one process does; without a snapshot it copies the flows as they are."""

    tool: str
    flows: str
    out: str
    snapshot: str
    extension: str


def _duckdb(copy: Copy) -> None:
    import duckdb

    import fibula.duckdb

    con = duckdb.connect(config={"threads": 1})
    if copy.snapshot:
        fibula.duckdb.register(con, fibula.open(copy.snapshot), "origin")
    _copy_in_duckdb(con, copy, "origin(src)")


def _duckdb_extension(copy: Copy) -> None:
    import duckdb

    if not copy.extension:
        message = "no --extension"
        raise ImportError(message)
    con = duckdb.connect(config={"threads": 1, "allow_unsigned_extensions": "true"})
    con.execute(f"LOAD '{copy.extension}'")
    _copy_in_duckdb(con, copy, f"fibula_lookup('{copy.snapshot}', src)")


def _copy_in_duckdb(con: Any, copy: Copy, answer: str) -> None:
    columns = f"*, {answer} AS value" if copy.snapshot else "*"
    options = "FORMAT parquet, COMPRESSION snappy"
    con.execute(f"COPY (SELECT {columns} FROM '{copy.flows}') TO '{copy.out}' ({options})")  # noqa: S608


def _polars(copy: Copy) -> None:
    import polars as pl

    import fibula.polars

    flows = pl.scan_parquet(copy.flows)
    if copy.snapshot:
        answer = fibula.polars.Namespace(pl.col("src")).lookup(fibula.open(copy.snapshot))
        flows = flows.with_columns(answer.cast(pl.String).alias("value"))
    flows.sink_parquet(copy.out, compression="snappy")


def _polars_map_batches(copy: Copy) -> None:
    import fibula.polars

    # As where Polars calls no plugins of the package's version.
    fibula.polars._calls_plugin = lambda: False  # type: ignore[assignment]
    _polars(copy)


def _spark(copy: Copy) -> None:
    from pyspark.sql import SparkSession

    import fibula.spark

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.log.level", "ERROR").getOrCreate()
    flows = spark.read.parquet(copy.flows)
    if copy.snapshot:
        fibula.spark.add(spark, copy.snapshot)
        flows = flows.withColumn("value", fibula.spark.udf(copy.snapshot)("src"))
    flows.write.parquet(copy.out)
    spark.stop()


def _enrich(copy: Copy) -> None:
    """Run the command line's `fibula enrich`. Its plain copy is PyArrow's."""
    if not copy.snapshot:
        import pyarrow.parquet as pq

        with (
            pq.ParquetFile(copy.flows) as flows,
            pq.ParquetWriter(copy.out, flows.schema_arrow, compression="snappy") as out,
        ):
            for batch in flows.iter_batches(_BATCH_ROWS, use_threads=False):
                out.write_batch(batch)
        return
    program = shutil.which("fibula")
    if program is None:
        message = "no `fibula` on the PATH"
        raise ImportError(message)
    arguments = ["-c", "src", "-t", copy.snapshot, "--threads", "1", "--compression", "snappy"]
    subprocess.run([program, "enrich", *arguments, "-o", copy.out, copy.flows], check=True)  # noqa: S603


TOOLS: dict[str, Callable[[Copy], None]] = {
    "DuckDB, fibula.duckdb": _duckdb,
    "DuckDB, the extension": _duckdb_extension,
    "Polars, the plugin": _polars,
    "Polars, map_batches": _polars_map_batches,
    "fibula enrich": _enrich,
    "Spark": _spark,
}


def run(step: list[str]) -> None:
    """Do what one process does."""
    match step:
        case ["write", table, rows, *paths]:
            _write(table, int(rows), *paths)
        case ["compare", out, answers]:
            _compare(out, answers)
        case _:
            copy = Copy(*step)
            TOOLS[copy.tool](copy)


def copies(table: str, rows: int, only: str, extension: str) -> bool:
    """Print a row for each tool; return whether answers were wrong."""
    _adopt_orphans()
    print(f"\n{table}, {rows:,} flows in Parquet, addresses drawn from its prefixes\n")
    columns = ("plain CPU s", "enriched CPU s", "ratio", "ns a row more", "plain MB", "enriched MB")
    print("| tool | " + " | ".join(columns) + " |\n| --- |" + " ---: |" * 6, flush=True)
    wrong = False
    with tempfile.TemporaryDirectory() as folder:
        names = ("flows.parquet", "out.parquet", "table.fib", "answers.json")
        flows, out, snapshot, answers = (str(Path(folder) / name) for name in names)
        written = _process(["write", table, str(rows), snapshot, flows, answers])
        if written.failed:
            print(f"| {written.failed} | | | | | | |", flush=True)
            return True
        for tool in TOOLS:
            if only in tool:
                wrong |= _print_row(Copy(tool, flows, out, snapshot, extension), rows, answers)
    return wrong


def _print_row(enriched: Copy, rows: int, answers: str) -> bool:
    both = (enriched._replace(snapshot=""), enriched)
    runs: list[list[_Done]] = [[], []]
    for _ in range(_PASSES):  # one after the other, so that both meet the same machine
        for copy, each in zip(both, runs, strict=True):
            _remove(copy.out)
            done = _process(list(copy))
            if done.failed:
                print(f"| {copy.tool} | {done.failed} | | | | | |", flush=True)
                return False
            each.append(done)
    compared = _process(["compare", enriched.out, answers])
    if compared.failed:
        print(f"| {enriched.tool} | {compared.failed} | | | | | |", flush=True)
        return True
    before, after = (statistics.median(done.cpu_s for done in each) for each in runs)
    plain_mb, enriched_mb = (max(done.peak_mb for done in each) for each in runs)
    cost = f"{after / before:.2f} | {(after - before) / rows * 1e9:.0f}"
    memory = f"{plain_mb:.0f} | {enriched_mb:.0f}"
    print(f"| {enriched.tool} | {before:.2f} | {after:.2f} | {cost} | {memory} |", flush=True)
    return False


class _Done(NamedTuple):
    """The CPU seconds of some processes, the greatest memory of one, and why they failed."""

    cpu_s: float
    peak_mb: float
    failed: str


def _process(step: list[str]) -> _Done:
    """Do a step in a process of its own. Its memory would count what this one has."""
    command = [sys.executable, "-m", "fibula.bench", "--copy", *step]
    one_thread = {**os.environ, **ONE_THREAD}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=one_thread)  # noqa: S603
        cpu_s, peak_kb, status = 0.0, 0, 0
        while True:
            try:
                pid, ended, used = os.wait4(-1, 0)
            except ChildProcessError:
                break
            cpu_s += used.ru_utime + used.ru_stime
            peak_kb = max(peak_kb, used.ru_maxrss)
            if pid == process.pid:
                status = process.returncode = os.waitstatus_to_exitcode(ended)
        log.seek(0)
        lines = log.read().strip().splitlines() or ["?"]
    return _Done(cpu_s, peak_kb / 1024, f"failed: {lines[-1]}" if status != 0 else "")


def _adopt_orphans() -> None:
    """Let this process wait for what its children leave behind, as Spark's Java does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _write(table: str, rows: int, snapshot: str, flows: str, answers: str) -> None:
    """Write the table, the flows, and how often each value is the answer for a source."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    read = fibula.read(table)
    read.to_fib(snapshot)
    prefixes = [prefix.split("/") for prefix in read.routes if ":" not in prefix]
    firsts = np.array([_number(first) for first, _ in prefixes], np.uint32)
    hosts = np.array([(1 << 32 - int(length)) - 1 for _, length in prefixes], np.uint32)
    draw = np.random.default_rng(1)

    def addresses(count: int) -> Any:
        chosen = draw.integers(0, len(firsts), count)
        numbers = firsts[chosen] | hosts[chosen] & draw.integers(0, 1 << 32, count, np.uint32)
        octets = [pa.array(numbers >> shift & 255).cast(pa.string()) for shift in (24, 16, 8, 0)]
        return pc.binary_join_element_wise(*octets, ".")

    counts: Counter[str] = Counter()
    writer = None
    for first in range(0, rows, _BATCH_ROWS):
        count = min(_BATCH_ROWS, rows - first)
        batch = pa.table(
            {
                "time": pa.array(np.arange(first, first + count)).cast(pa.timestamp("ms")),
                "src": addresses(count),
                "dst": addresses(count),
                "port": draw.integers(0, 1 << 16, count, np.int32),
                "packets": draw.geometric(0.1, count),
                "bytes": draw.geometric(0.001, count),
            }
        )
        counts += _count(read.lookup(batch["src"]))
        writer = writer or pq.ParquetWriter(flows, batch.schema, compression="snappy")
        writer.write_table(batch)
    if writer is not None:
        writer.close()
    Path(answers).write_text(json.dumps(counts))


def _number(address: str) -> int:
    return int.from_bytes(bytes(int(octet) for octet in address.split(".")), "big")


def _count(column: Any) -> Counter[str]:
    pairs = column.value_counts().to_pylist()
    return Counter({str(pair["values"]): pair["counts"] for pair in pairs})


def _compare(out: str, answers: str) -> None:
    """Compare what was written with the answers; rows may be in another order."""
    import pyarrow.parquet as pq

    wanted = json.loads(Path(answers).read_text())
    found = _count(pq.read_table(out).columns[-1])
    if found != wanted:
        wrong = sum((Counter(wanted) - found).values())
        message = f"{wrong:,} answers are missing"
        raise ValueError(message)


def _remove(path: str) -> None:
    if Path(path).is_dir():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)
