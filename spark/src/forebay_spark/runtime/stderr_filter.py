"""The stderr of the JVM and its workers, without useless lines.

The JVM inherits our stderr when it starts.  For that moment stderr is a pipe; a thread
passes its lines on, except

- the lines in ``CHATTER``, which every start prints,
- the traceback of a worker whose reader has stopped early (``show`` stops after 20 rows); workers
  that end together, as they do when a session stops, mix their lines,
- the frames of a traceback that ends in one of our own errors: the caller gets those,
- the frames of the JVM's own stacks; the message is in the line above them.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

CHATTER = (
    "WARNING: Using incubator modules",
    "Setting default log level to",
    "To adjust logging level use",
    "Using Spark's default log4j profile",
    "WARNING: package sun.security.action not in java.base",
)
HARMLESS_ENDS = ("BrokenPipeError", "forebay_spark.errors.")
JVM_FRAMES = ("\tat ", "\t... ")
TRACEBACK = "Traceback (most recent call last):"


def worth_showing(lines: Iterable[str]) -> Iterator[str]:
    """The lines that a person should see."""
    held: list[str] = []
    unfinished = 0
    for line in lines:
        if line.startswith(TRACEBACK):
            held.append(line)
            unfinished += 1
        elif held and line.startswith((" ", "\t")):
            held.append(line)
        elif held and line.startswith(HARMLESS_ENDS):
            unfinished -= 1
            held = [*held, line] if unfinished else []
        elif held:
            yield from (*held, line)
            held, unfinished = [], 0
        elif not line.startswith((*CHATTER, *JVM_FRAMES)):
            yield line
    yield from held


def _pass_on(read_end: int, target: int) -> None:
    with os.fdopen(read_end, errors="replace") as source, os.fdopen(target, "w") as shown:
        for line in worth_showing(source):
            shown.write(line)
            shown.flush()


@contextmanager
def filtered_stderr() -> Iterator[None]:
    """Processes started inside this context have a filtered stderr, as long as they live."""
    sys.stderr.flush()
    own = os.dup(2)
    read_end, write_end = os.pipe()
    os.dup2(write_end, 2)
    os.close(write_end)
    thread = threading.Thread(target=_pass_on, args=(read_end, os.dup(own)), daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)
