"""The CPU time of a row, split into Spark's JVM, its Python workers, and the server.

Rates depend on other programs and on waiting; CPU time depends on them much less.  It shows
how far a rate could still rise.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from bench.peers import Peer

TICKS_PER_S: int = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """Seconds of CPU time so far."""

    jvm: float
    workers: float
    server: float

    def per_row_us(self, before: Usage, rows: int) -> Usage:
        """The time used since then for each row, in microseconds."""
        return Usage(*((now - then) / rows * 1e6 for now, then in zip(self, before, strict=True)))


def usage(jvm_pid: int, server: Peer) -> Usage:
    """The JVM alone, everything that it has started, and the server."""
    own, ended, children = {}, {}, defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        pid = int(path.parent.name)
        children[int(fields[1])].append(pid)
        own[pid] = (int(fields[11]) + int(fields[12])) / TICKS_PER_S
        ended[pid] = (int(fields[13]) + int(fields[14])) / TICKS_PER_S
    workers, found = ended[jvm_pid], list(children[jvm_pid])
    while found:
        pid = found.pop()
        workers += own[pid] + ended[pid]
        found += children[pid]
    return Usage(own[jvm_pid], workers, server.cpu_s())
