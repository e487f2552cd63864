"""Servers of either kind that are killed and started again on one directory.

Redis runs the same loops as Forebay: bad figures for Redis would show that the judge is
wrong, and its times are the comparison.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from testkit.oracle import find
from testkit.servers import (
    ServerProcess,
    environment,
    free_port,
    start_forebay,
    start_program,
)


def start(
    kind: str, directory: Path, *directives: str, tracer: Sequence[str] = ()
) -> ServerProcess:
    """A server on this directory that has loaded its data; the last log is kept next to it.

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


def start_and_kill(kind: str, directory: Path, *directives: str, after_s: float) -> None:
    """A server that is killed while it starts: before, while or after it loads."""
    program = (
        [find("redis-server")] if kind == "redis" else [sys.executable, "-m", "forebay", "serve"]
    )
    where = ("--dir", str(directory), "--port", str(free_port()), "--save", "")
    with (directory / "log.killed").open("wb") as log:
        process = subprocess.Popen(
            [*program, *where, *directives],
            stdout=log,
            stderr=log,
            cwd=directory,
            env=environment(),
        )
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    else:
        raise RuntimeError(f"it ended by itself: {(directory / 'log.killed').read_text()}")


def children_of(pid: int) -> list[int]:
    """Processes that a server has forked and not yet reaped."""
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def moments(dice: random.Random, end_s: float, count: int) -> list[float]:
    """Some random moments before the end, in order."""
    return sorted(dice.uniform(0.0, end_s) for _ in range(count))
