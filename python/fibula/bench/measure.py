"""One contender: loaded, compared with the oracle, timed."""

from __future__ import annotations

import gc
import ipaddress
import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fibula.bench.contenders import CONTENDERS, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

_COMPARED = 20_000
_PASSES = 3
_PAGE_KB = 4


class Job(NamedTuple):
    """What one process measures."""

    contender: str
    table: str
    addresses: int
    seed: int
    slow: bool


def measure(job: Job) -> dict[str, Any]:
    """Return speed, time to load and memory of a contender; or a note that says why not."""
    contender = CONTENDERS[job.contender]
    family = _family(job.table)
    if family not in contender.families:
        return {"note": f"not for IPv{family}"}
    if contender.slow and not job.slow:
        return {"note": "takes minutes to load: --slow"}
    start = time.process_time()
    try:
        answer = contender.load(job.table, family)
    except ImportError as missing:
        return {"note": f"not here: {missing}"}
    load_s = time.process_time() - start
    gc.collect()
    rss_mb = _resident_mb()
    routes = _routes(job.table)
    numbers = _draw(list(routes), job.addresses, job.seed)
    compared = numbers[:_COMPARED]
    right = [_oracle(routes, n, family) for n in compared]
    found = [None if v is None else int(v) for v in answer(contender.form(compared, family))]
    if found != right:
        wrong = sum(a != b for a, b in zip(found, right, strict=True))
        return {"note": f"{wrong:,} of {len(right):,} answers are wrong", "wrong": True}
    column = contender.form(numbers, family)
    run: Callable[[Any], Any] = getattr(answer, "timed", answer)
    times = []
    for _ in range(_PASSES + 1):
        start = time.process_time()
        run(column)
        times.append(time.process_time() - start)
    return {
        "mlps": job.addresses / statistics.median(times[1:]) / 1e6,
        "load_s": load_s,
        "rss_mb": rss_mb,
    }


def _family(table: str) -> int:
    with lines_of(table) as lines:
        return ipaddress.ip_network(next(lines).split()[0]).version


def _routes(table: str) -> dict[tuple[int, int], int]:
    """Return the routes by number and length of their prefix."""
    routes = {}
    with lines_of(table) as lines:
        for line in lines:
            prefix, value = line.split()
            network = ipaddress.ip_network(prefix)
            routes[int(network.network_address), network.prefixlen] = int(value)
    return routes


def _draw(prefixes: list[tuple[int, int]], count: int, seed: int) -> list[int]:
    """Return addresses: each of a prefix chosen at random, and at random in it."""
    draw = random.Random(seed)  # noqa: S311
    bits = 128 if any(first >> 32 for first, _ in prefixes) else 32
    chosen = draw.choices(prefixes, k=count)
    return [first | draw.getrandbits(128) & ((1 << bits - length) - 1) for first, length in chosen]


def _oracle(routes: dict[tuple[int, int], int], number: int, family: int) -> int | None:
    bits = 32 if family == 4 else 128
    for length in range(bits, -1, -1):
        value = routes.get((number >> bits - length << bits - length, length))
        if value is not None:
            return value
    return None


def _resident_mb() -> float:
    """Return the memory of this process, with what it maps."""
    if sys.platform != "linux":
        return float("nan")
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * _PAGE_KB / 1024
