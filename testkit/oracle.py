"""The oracle: a real redis-server, which decides what a reply must be.

Debian's 7.0.15 is the reference; a machine without it gets a clear failure
instead of a silent skip, because a comparison that did not run proves nothing.

FOREBAY_PEER=/path/to/a/server replaces the reference: by any Redis-like server for the tests of
the connector (`spark/tests`) and of replication (`server/tests/server/replication`), by a newer
Redis for those that compare replies (`server/tests/compat/test_random.py`, `test_changes.py`).
Tests then use newer commands too, and a difference that only 7.0 explains is a failure.
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
def said_version(program: str) -> str:
    """The version text of a server."""
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
    return said.stdout


def server_version(program: str) -> tuple[int, int]:
    """The version of a server, as in (7, 0)."""
    found = re.search(r"v=(\d+)\.(\d+)", said_version(program))
    if found is None:
        raise OracleMissingError(f"{program} does not say its version: {said_version(program)!r}")
    return int(found[1]), int(found[2])


def is_valkey() -> bool:
    """Whether the server is a Valkey, whose versions are not those of Redis."""
    return said_version(server_program()).startswith("Valkey")


def tells_replicas_all() -> bool:
    """Whether a primary replicates the read counters of groups and idle consumers: Redis 8.6 and
    Valkey 9.1 do; Redis 7.0 does not.
    """
    return server_version(server_program()) >= (8, 6)


def has_idempotency() -> bool:
    """Whether it has XADD with IDMP, XDELEX and XACKDEL."""
    return server_version(server_program()) >= (8, 6) and not is_valkey()


def second_channel() -> dict[str, str]:
    """The directive that lets a newer server offer, or ask for, a second connection for a copy."""
    if is_valkey():
        return {"dual-channel-replication-enabled": "yes"}
    return {"repl-rdb-channel": "yes"} if server_version(server_program()) >= (8, 0) else {}


def counts_entries() -> bool:
    """Whether the server counts all entries ever added to a stream, as Redis does from 7.0 on."""
    return server_version(server_program()) >= (7, 0)


def start_redis(
    directory: Path, *directives: str, pin: int | None = None, port: int | None = None
) -> ServerProcess:
    """A redis-server of our own on a free port."""
    program = server_program()
    debug = ("--enable-debug-command", "yes") if counts_entries() else ()
    return start_program(program, directory, *DIRECTIVES, *debug, *directives, pin=pin, port=port)
