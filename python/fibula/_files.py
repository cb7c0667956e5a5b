"""Tables from files."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fibula import _fibula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    value: Literal["next_hop", "origin_as", "peer"] = "next_hop",
    peer: str | None = None,
    keep_going: bool = False,
    mask_host_bits: bool = False,
    progress: Callable[[int, int | None], object] | bool = False,
    convert: Callable[[str], Any] | None = None,
) -> Table[Any]:
    """Read a table: MRT, text, pfx2as, `ip route`, FRR, BIRD, CSV or a snapshot; gz, bz2 or zst.

    The format is recognised by content, or named: `text`, `mrt`, `pfx2as`, `ip-route`, `frr`,
    `bird`, `csv`, `snapshot`. `value` and `peer` choose what MRT and BIRD tables give. Values are
    `str`, or what `convert` makes of each distinct text.

    `progress` is called with the bytes read and the size of the file, if that is known; `True`
    draws a bar by tqdm. `keep_going` skips what is damaged, with a warning; `mask_host_bits`
    clears host bits instead of refusing them.

    Raises `OSError` if the file cannot be read, `ValueError` that names the place of the damage.
    """
    _check(path)
    with _bar(path) if progress is True else nullcontext(progress or None) as report:
        table, damage = _fibula.read(
            os.fspath(path),
            format=format,
            value=value,
            peer=peer,
            keep_going=keep_going,
            mask_host_bits=mask_host_bits,
            progress=report,
            convert=convert,
        )
    for text in damage[:_SHOWN]:
        warnings.warn(text, stacklevel=2)
    if len(damage) > _SHOWN:
        warnings.warn(f"{path}: {len(damage)} places skipped in all", stacklevel=2)
    return table


@contextmanager
def _bar(path: str | os.PathLike[str]) -> Iterator[Callable[[int, int | None], object]]:
    """Draw a bar by tqdm; give what moves it."""
    from tqdm.auto import tqdm

    with tqdm(unit="B", unit_scale=True, desc=os.fspath(path)) as bar:

        def report(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
