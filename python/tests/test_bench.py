"""The benchmark, on few addresses: it compares answers before it prints a speed."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "table.txt"
    path.write_text("".join(f"10.{n}.0.0/16 {64500 + n}\n" for n in range(256)))
    return str(path)


def bench(*arguments):
    command = [sys.executable, "-m", "fibula.bench", *arguments]
    # Not beside the package's source, which would be imported.
    folder = Path(__file__).parent
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603


def test_lookups_have_a_speed(table):
    done = bench(table, "--count", "2000", "--only", "t[")
    assert done.returncode == 0, done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| fibula t[")]
    assert rows
    assert all(float(row[2]) > 0 for row in rows)


def test_copies_in_parquet_have_a_cost(table):
    done = bench(table, "--copies", "2000", "--only", "Polars")
    assert done.returncode == 0, done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| Polars")]
    assert len(rows) == 2
    assert all(float(row[2]) > 0 and float(row[3]) > 0 for row in rows)


def test_a_copy_with_other_answers_is_told(table, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"src": ["10.0.0.1"], "value": ["1"]}), tmp_path / "out.parquet")
    (tmp_path / "answers.json").write_text('{"64500": 1}')
    done = bench("--copy", "compare", str(tmp_path / "out.parquet"), str(tmp_path / "answers.json"))
    assert done.returncode != 0
    assert "1 answers are missing" in done.stderr
