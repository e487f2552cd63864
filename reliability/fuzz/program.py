"""``python -m reliability.fuzz.program KIND N SEED``: N requests in this process, one JSON line.

    lines    structured requests, in batches; line ends and faked replies among the words
    bytes    requests with wrong bytes, made from the corpus
    echoes   as lines, with a hostile word in every one: R20

The line says how many requests were made, how many replies came back, how many connections were
closed, what went wrong, and how much the memory grew in the second half.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import forebay
from reliability.fuzz.mutations import corpus, mutated
from reliability.fuzz.target import Target, request_of
from reliability.fuzz.words import LineWriter

BATCH = 50
#: This many wrong requests share a connection; an error closes it, so there are few.
WRONG_BATCH = 2
SHOWN_FAULTS = 10
HOSTILE = {"lines": 0.1, "echoes": 1.0, "bytes": 0.05}


def batches(kind: str, n: int, dice: Random) -> Iterator[tuple[bytes, int]]:
    """Bytes for one connection after the other, and the number of requests in each."""
    writer, kept = LineWriter(dice, HOSTILE[kind]), corpus()
    size = WRONG_BATCH if kind == "bytes" else BATCH
    while n > 0:
        size = min(size, n)
        n -= size
        if kind == "bytes":
            good = dice.choice(kept) if dice.random() < 0.5 else request_of([writer.line()])
            yield b"".join(mutated(dice, good, kept) for _ in range(size)), size
        else:
            yield request_of([writer.line() for _ in range(size)]), size


def resident_bytes() -> int:
    """Memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def run(kind: str, n: int, seed: int) -> dict[str, object]:
    """Send this many requests; returns the results."""
    dice = Random(seed)
    target, done, middle_bytes = Target(dice), 0, 0
    for data, size in batches(kind, n, dice):
        target.feed(data, f"seed {seed}, request {done} of {kind}: {data[:300]!r}")
        done += size
        if middle_bytes == 0 and done >= n // 2:
            middle_bytes = resident_bytes()
        if len(target.faults) >= SHOWN_FAULTS:
            break
    grown = resident_bytes() - middle_bytes
    target.close()
    return {
        "n": done,
        "replies": target.replies,
        "closed": target.closed,
        "grown_bytes": grown,
        "faults": target.faults,
        "build": forebay.build(),
    }


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
