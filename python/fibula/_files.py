"""Tables from files."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from fibula import _fibula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fibula._fibula import Table

_SHOWN = 10


def _check(path: str | os.PathLike[str]) -> None:
    """Raise Python's own error if there is no such file."""
    with Path(path).open("rb"):
        pass


def open(
    path: str | os.PathLike[str], *, convert: Callable[[str], Any] | None = None
) -> Table[Any]:
    """Map a snapshot, which `Table.to_fib` or the command `fibula build` has written.

    It answers at once, and processes that open the same file share its memory. Values are `str`,
    or what `convert` makes of each text when it is first answered. The first change, and the
    first use of `.routes`, reads the routes into memory.

    Raises `OSError` if the file cannot be read, `ValueError` if it is no whole snapshot.
    """
    _check(path)
    return _fibula.open(os.fspath(path), convert=convert)


def read(
    source: str | os.PathLike[str] | bytes | BinaryIO,
    *,
    format: str | None = None,
    value: Literal["next_hop", "next_hops", "origin_as", "origins", "peer", "route"] = "next_hop",
    peer: str | None = None,
    keep_going: bool = False,
    mask_host_bits: bool = False,
    strict: bool = False,
    vrf: str | None = None,
    table: str | None = None,
    add_path: Literal["guess", "yes", "no"] = "guess",
    encoding: str | None = None,
    locations: str | os.PathLike[str] | None = None,
    max_memory: int | None = None,
    max_routes: int | None = None,
    prefix_column: str | None = None,
    start_column: str | None = None,
    end_column: str | None = None,
    value_column: str | Sequence[str] = (),
    delimiter: str | None = None,
    header: bool = True,
    progress: Callable[[int, int | None], object] | bool = False,
    convert: Callable[[str], Any] | None = None,
) -> Table[Any]:
    """Read a table of a file, of bytes or of an open binary file; plain, gz, bz2 or zst.

    The format is recognised by content, or named as in `fibula table stats --help`. `value` and
    `peer` choose what formats with several give; `vrf` and `table` the routes that are read. Values
    are `str`, a `dict` where they have several fields, a `list` where there are several of them, or
    what `convert` makes of each distinct text.

    The columns of CSV, NDJSON and Parquet are found by the names that such columns usually have, or
    named: `prefix_column`, or `start_column` and `end_column`, and `value_column`, one or several.
    `delimiter` and `header=False` tell of CSV what is not found, and `encoding` what is not UTF-8.
    `locations` is a CSV file with more fields of the rows, by a column that both have.

    What is left out or guessed is in the `report` of the table; `strict` makes it an error. So is
    an option that tables of the format do not heed, in the words of the command line.

    A table that takes more than `max_memory` bytes or has more than `max_routes` routes is an
    error. Where they are not given, half of the machine's memory is the limit, or what the
    environment's `FIBULA_MAX_MEMORY` says, as in `4G`.

    `progress` is called with the bytes read and the size of the file, if that is known; `True`
    draws a bar by tqdm. `keep_going` skips what is damaged, with a warning; `mask_host_bits`
    clears host bits instead of refusing them.

    Raises `OSError` if the file cannot be read, `ValueError` that names the place of the damage.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        content: str | bytes = bytes(source)
    elif hasattr(source, "read"):
        content = source.read()
        if not isinstance(content, bytes):
            msg = "an open file is read as bytes: open it in binary mode"
            raise TypeError(msg)
    else:
        _check(source)
        content = os.fspath(source)
    name = content if isinstance(content, str) else "memory"
    with _bar(name) if progress is True else nullcontext(progress or None) as report:
        read_table, damage = _fibula.read(
            content,
            format=format,
            value=value,
            peer=peer,
            keep_going=keep_going,
            mask_host_bits=mask_host_bits,
            strict=strict,
            vrf=vrf,
            table=table,
            add_path=add_path,
            encoding=encoding,
            locations=None if locations is None else os.fspath(locations),
            limits=(max_memory, max_routes),
            columns={
                "prefix": prefix_column,
                "start": start_column,
                "end": end_column,
                "values": [value_column] if isinstance(value_column, str) else list(value_column),
                "delimiter": delimiter,
                "header": header,
            },
            progress=report,
            convert=convert,
        )
    for text in damage[:_SHOWN]:
        warnings.warn(text, stacklevel=2)
    if len(damage) > _SHOWN:
        warnings.warn(f"{name}: {len(damage)} places skipped in all", stacklevel=2)
    return read_table


@contextmanager
def _bar(path: str | os.PathLike[str]) -> Iterator[Callable[[int, int | None], object]]:
    """Draw a bar by tqdm; give what moves it."""
    from tqdm.auto import tqdm

    with tqdm(unit="B", unit_scale=True, desc=os.fspath(path)) as bar:

        def report(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
