"""The oracle: a real redis-server, which settles what a reply must be.

Debian's 7.0.15 is the reference; a machine without it gets a clear failure
instead of a silent skip, because a comparison that did not run proves nothing.

FOREBAY_PEER=/path/to/a/server puts another one in the reference's place: a server of the family
for the tests of the connector (`spark/tests`), a newer Redis for those that compare replies
(`tests/compat/test_random.py`, `test_changes.py`).  The scripts then use newer commands too,
and a difference that only 7.0 explains is a failure.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from testkit.servers import ServerProcess, start_program

MISSING = """
    {program} is not installed, so nothing can be compared with Redis.
    Run `make setup` as a user who may install packages, or by hand:
        apt-get install redis-server redis-tools
"""

#: No persistence, no service files: the oracle only answers.
DIRECTIVES = ("--save", "", "--appendonly", "no")


class OracleMissingError(RuntimeError):
    """The reference program is not on this machine."""


def find(program: str) -> str:
    """The path of redis-server, redis-cli or redis-benchmark, or a loud failure."""
    path = shutil.which(program)
    if path is None:
        raise OracleMissingError(MISSING.format(program=program))
    return path


def server_program() -> str:
    """The path of the server to test against: redis-server, unless a peer is named."""
    return os.environ.get("FOREBAY_PEER") or find("redis-server")


@cache
def server_version(program: str) -> tuple[int, int]:
    """What a server says of itself, as in (7, 0)."""
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
    found = re.search(r"v=(\d+)\.(\d+)", said.stdout)
    if found is None:
        raise OracleMissingError(f"{program} does not say its version: {said.stdout!r}")
    return int(found[1]), int(found[2])


def counts_entries() -> bool:
    """Whether the server counts what was ever added to a stream, as Redis does from 7.0 on."""
    return server_version(server_program()) >= (7, 0)


def start_redis(
    directory: Path, *directives: str, pin: int | None = None, port: int | None = None
) -> ServerProcess:
    """A redis-server of our own on a free port."""
    program = server_program()
    debug = ("--enable-debug-command", "yes") if counts_entries() else ()
    return start_program(program, directory, *DIRECTIVES, *debug, *directives, pin=pin, port=port)
