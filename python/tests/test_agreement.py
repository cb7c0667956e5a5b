"""One list of addresses and tables of every kind of value, asked of every face: equal by cells."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import datafusion
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fibula
import fibula.datafusion
import fibula.duckdb
import fibula.polars

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / os.environ.get(
    "FIBULA_DUCKDB_EXTENSION", "target/duckdb/fibula.duckdb_extension"
)
PREFIXES = ["10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32", "::ffff:10.9.0.0/112", "fe80::/10"]
ADDRESSES = [
    *("10.1.2.3", "10.2.3.4", "2001:db8::1", "192.0.2.1", "2001:db9::1", None),
    *("::ffff:10.1.2.3", "::ffff:10.9.1.1", "::ffff:192.0.2.1", "fe80::1%eth0", "fe80::1"),
    *("", " ", " 10.1.2.3", "10.1.2.3 ", "nobody", "10.1.2", "01.2.3.4", "10.1.2.3/32"),
    *("10.1.2.3:53", "[2001:db8::1]:53", "2001:db8::g", "::ffff:10.1.2.256"),
]
# The route of each address that has one, by its place.
AS_WRITTEN = {"10.1.2.3": 1, "10.2.3.4": 0, "2001:db8::1": 2, "::ffff:10.9.1.1": 3, "fe80::1": 4}
CLEANED = {
    **AS_WRITTEN,
    "::ffff:10.1.2.3": 1,
    "::ffff:10.9.1.1": 0,
    "fe80::1%eth0": 4,
    " 10.1.2.3": 1,
    "10.1.2.3 ": 1,
    "10.1.2.3/32": 1,
    "10.1.2.3:53": 1,
    "[2001:db8::1]:53": 2,
}
VALUES = {
    "text": ["corp", "lab", "AS64500", "01234", "1.10"],
    "numbers": ["64500", "64501", "64502", "64503", "64504"],
    "mixed": ["64500", "2e7", "AS64500", "007", "x"],
    "records": [
        {"asn": 1},
        {"asn": 2, "site": "lab"},
        {"site": "01234", "share": 0.5},
        {"code": "2e7", "up": True},
        {"asn": 9007199254740993},
    ],
    "lists": [[1], [1, 2], [3], [4, 5, 6], [7]],
}


def _table(folder, kind):
    """Return a file with a table of these values."""
    rows = [
        {"prefix": prefix, "value": value}
        if not isinstance(value, dict)
        else {"prefix": prefix, **{name: value.get(name) for name in _names(kind)}}
        for prefix, value in zip(PREFIXES, VALUES[kind], strict=True)
    ]
    path = folder / f"{kind}.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def _names(kind):
    return list(dict.fromkeys(name for record in VALUES[kind] for name in record))


def _cell(value):
    """Return a value as text, without what it lacks: faces differ in how they type a number."""
    if isinstance(value, dict):
        cells = {name: _cell(value[name]) for name in sorted(value)}
        return {name: cell for name, cell in cells.items() if cell is not None} or None
    if isinstance(value, list | tuple | np.ndarray):
        return [_cell(element) for element in value]
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    return str(value)


def _duckdb_extension(path, rows, how):
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as con:
        con.execute(f"LOAD '{EXTENSION}'")
        con.register("asked", pa.table({"x": pa.array(rows, pa.string()), "n": range(len(rows))}))
        x = "fibula_address('mapped', x)" if how else "x"
        found = con.sql("FROM asked ORDER BY n").project(f"fibula_lookup('{path}', {x})")
        return [value for (value,) in found.fetchall()]


def _duckdb_function(path, rows, how):
    with duckdb.connect() as con:
        table = fibula.read(path)
        fibula.duckdb.register(con, table, "answer", errors="null", **how)
        con.register("asked", pa.table({"x": pa.array(rows, pa.string()), "n": range(len(rows))}))
        found = con.execute("SELECT answer(x) FROM asked ORDER BY n").fetchall()
        return [value for (value,) in found]


def _datafusion(path, rows, how):
    context = datafusion.SessionContext()
    udf = fibula.datafusion.udf(fibula.read(path), "answer", errors="null", **how)
    context.register_udf(udf)
    context.from_arrow(
        pa.table({"x": pa.array(rows, pa.string()), "n": list(range(len(rows)))}), name="asked"
    )
    found = context.sql("SELECT answer(x) AS value FROM asked ORDER BY n").to_pydict()
    return found["value"]


def _polars_expression(path, rows, how):
    table = fibula.read(path)
    src = pl.col("src").fibula
    frame = pl.DataFrame({"src": pl.Series(rows, dtype=pl.String)})
    return frame.select(src.lookup(table, errors="null", **how)).to_series().to_list()


def _program():
    named = os.environ.get("FIBULA")
    built = (ROOT / "target" / profile / "fibula" for profile in ("release", "quick", "debug"))
    return named or next((str(path) for path in built if path.exists()), shutil.which("fibula"))


def _command(path, rows, how):
    asked = "".join(json.dumps({"src": row}) + "\n" for row in rows)
    more = ["--map-ipv4", "--clean"] if how else []
    run = subprocess.run(  # noqa: S603
        [
            *(
                _program(),
                "enrich",
                "-",
                "--data-format",
                "ndjson",
                "-o",
                "-",
                "--output-format",
                "ndjson",
            ),
            *("-c", "src", "-t", f"v={path}", *more),
        ],
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    )
    answers = []
    for line in run.stdout.splitlines():
        row = json.loads(line)
        fields = {name.removeprefix("src_v_"): value for name, value in row.items()}
        fields.pop("src")
        answers.append(fields.pop("src_v") if "src_v" in fields else fields)
    return answers


def _looked_up(column):
    def ask(path, rows, how):
        found = fibula.read(path).lookup(column(rows), errors="null", **how)
        return (
            found.to_pylist()
            if isinstance(found, pa.Array)
            else list(found.to_list() if hasattr(found, "to_list") else found)
        )

    return ask


FACES = {
    "list": _looked_up(list),
    "numpy": _looked_up(lambda rows: np.array(rows, object)),
    "pandas": _looked_up(lambda rows: pd.Series(rows, dtype=object)),
    "polars": _looked_up(lambda rows: pl.Series(rows, dtype=pl.String)),
    "polars expression": _polars_expression,
    "pyarrow": _looked_up(lambda rows: pa.array(rows, pa.string())),
    "pyarrow dictionary": _looked_up(lambda rows: pa.array(rows).dictionary_encode()),
    "duckdb function": _duckdb_function,
    "datafusion": _datafusion,
    "duckdb extension": _duckdb_extension,
    "command": _command,
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("how", [{}, {"unmap": True, "clean": True}], ids=["as written", "cleaned"])
def test_every_face_gives_the_same_cells(tmp_path, face, kind, how):
    if face == "duckdb extension" and not EXTENSION.exists():
        pytest.skip("no extension was built (cargo xtask duckdb)")
    if face == "command" and _program() is None:
        pytest.skip("no program was built")
    path = _table(tmp_path, kind)
    routes = CLEANED if how else AS_WRITTEN
    expected = [_cell(VALUES[kind][routes[a]]) if a in routes else None for a in ADDRESSES]
    answers = [_cell(answer) for answer in FACES[face](path, ADDRESSES, how)]
    if face == "duckdb extension" and kind in {"records", "lists"}:
        answers = [answer and _cell(json.loads(answer)) for answer in answers]
    assert answers == expected
