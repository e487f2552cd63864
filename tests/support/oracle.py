"""The oracle: a real redis-server, which settles what a reply must be.

Debian's 7.0.15 is the reference; a machine without it gets a clear failure
instead of a silent skip, because a comparison that did not run proves nothing.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.servers import ServerProcess, start_program

MISSING = """
    {program} is not installed, so nothing can be compared with Redis.
    Run `make setup` as a user who may install packages, or by hand:
        apt-get install redis-server redis-tools
"""

#: No persistence, no service files: the oracle only answers.
DIRECTIVES = ("--save", "", "--appendonly", "no", "--enable-debug-command", "yes")


class OracleMissingError(RuntimeError):
    """The reference program is not on this machine."""


def find(program: str) -> str:
    """The path of redis-server, redis-cli or redis-benchmark, or a loud failure."""
    path = shutil.which(program)
    if path is None:
        raise OracleMissingError(MISSING.format(program=program))
    return path


def start_redis(directory: Path, *directives: str, pin: int | None = None) -> ServerProcess:
    """A redis-server of our own on a free port."""
    return start_program(find("redis-server"), directory, *DIRECTIVES, *directives, pin=pin)
