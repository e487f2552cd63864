"""Servers of either kind that live on one directory through many deaths.

Redis runs the same loops as Forebay: if its figures were bad, the judge would be
wrong, and its times are the comparison.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.oracle import find
from tests.support.resp import RawClient, ReplyError
from tests.support.servers import ServerProcess, start_forebay, start_program

LOADING_TIMEOUT_S = 120.0


def start(
    kind: str, directory: Path, *directives: str, tracer: Sequence[str] = ()
) -> ServerProcess:
    """A server on this directory, ready or still loading; its last log is kept beside.

    ``tracer`` is a command that runs the server as its child and leaves it our child.
    """
    log = directory / "log"
    if log.exists():
        shutil.move(log, directory / "log.before")
    (directory / "sock").unlink(missing_ok=True)
    common = ("--save", "", "--enable-debug-command", "yes", *directives)
    if kind == "redis":
        return start_program(find("redis-server"), directory, *common, tracer=tracer)
    where = () if "--dir" in directives else ("--dir", str(directory))
    return start_forebay(directory, *where, *common, tracer=tracer)


def loaded_client(server: ServerProcess) -> tuple[RawClient, int]:
    """A connection to a server that has loaded its data, and how often it said -LOADING."""
    client = server.client(unix=True, timeout_s=LOADING_TIMEOUT_S)
    deadline = time.monotonic() + LOADING_TIMEOUT_S
    loading = 0
    while isinstance(reply := client("PING"), ReplyError):
        if not str(reply).startswith("LOADING") or time.monotonic() > deadline:
            raise RuntimeError(f"PING is answered -{reply}; the log:\n{server.log()}")
        loading += 1
        time.sleep(0.01)
    return client, loading


def children_of(pid: int) -> list[int]:
    """Processes that a server has forked and not yet reaped."""
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def moments(dice: random.Random, end_s: float, count: int) -> list[float]:
    """Some moments before the end, in order."""
    return sorted(dice.uniform(0.0, end_s) for _ in range(count))
