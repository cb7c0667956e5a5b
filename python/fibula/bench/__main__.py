"""The command: draws the addresses, runs each contender in a process, prints the table."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from fibula.bench import ONE_THREAD
from fibula.bench.contenders import CONTENDERS
from fibula.bench.copies import copies, run
from fibula.bench.measure import Job, measure

_COLUMNS = ("contender", "M lookups/s", "load CPU s", "process MB")


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m fibula.bench", description=__doc__)
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="a table of one family, of AS numbers"
    )
    parser.add_argument("--count", type=int, default=1_000_000, help="addresses to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="TEXT", default="", help="contenders whose name has it")
    parser.add_argument("--slow", action="store_true", help="also those that take minutes to load")
    parser.add_argument(
        "--copies",
        type=int,
        metavar="ROWS",
        help="instead, copies of flows in Parquet with the answers beside, of IPv4 tables",
    )
    parser.add_argument(
        "--extension", metavar="FILE", default="", help="for --copies: DuckDB's extension"
    )
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--copy", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.copy:
        run(options.copy)
        return 0
    if options.job:
        print(json.dumps(measure(Job(**json.loads(options.job)))))
        return 0
    if not options.tables:
        parser.error("name a table")
    wrong = False
    for table in options.tables:
        if options.copies:
            wrong |= copies(table, options.copies, options.only, options.extension)
            continue
        print(f"\n{table}, {options.count:,} addresses drawn from its prefixes\n")
        print("| " + " | ".join(_COLUMNS) + " |\n| --- | ---: | ---: | ---: |", flush=True)
        for name in CONTENDERS:
            if options.only in name:
                job = Job(name, table, options.count, options.seed, options.slow)
                wrong |= _print_row(job)
    return int(wrong)


def _print_row(job: Job) -> bool:
    """Run a job in a process of its own and print its row; return whether its answers are wrong."""
    command = [sys.executable, "-m", "fibula.bench", "--job", json.dumps(job._asdict())]
    result = subprocess.run(  # noqa: S603
        command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        row = {"note": f"failed: {(result.stderr.strip().splitlines() or ['?'])[-1]}"}
    else:
        row = json.loads(result.stdout.splitlines()[-1])
    if "note" in row:
        print(f"| {job.contender} | {row['note']} | | |", flush=True)
    else:
        speeds = f"{row['mlps']:.2f} | {row['load_s']:.3f} | {row['rss_mb']:.0f}"
        print(f"| {job.contender} | {speeds} |", flush=True)
    return bool(row.get("wrong"))


if __name__ == "__main__":
    sys.exit(main())
