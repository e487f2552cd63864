"""min-replicas-to-write without replicas: refuses the same commands as Redis, with its texts."""

from __future__ import annotations

import pytest

from testkit.compat.differ import play
from testkit.compat.scripts import Script
from testkit.servers import ServerProcess

pytestmark = pytest.mark.oracle

LINES = """
    XADD s 1-1 f v
    XGROUP CREATE s g 0
    SET k 1
    CONFIG SET min-replicas-to-write 1
    SET k 2
    XADD s 2-1 f v
    XADD s
    XREADGROUP GROUP g c STREAMS s >
    XACK s g 1-1
    DEL nothing
    BLPOP l 1
    GET k
    XRANGE s - +
    XLEN s
    PING
    PUBLISH c m
    MULTI
    GET k
    EXEC
    MULTI
    GET k
    SET k 2
    EXEC
    CONFIG SET min-slaves-max-lag 0
    SET k 3
    CONFIG SET min-slaves-max-lag 10
    SET k 4
    CONFIG SET min-replicas-to-write 0
    MULTI
    SET k 5
    CONFIG SET min-replicas-to-write 1
    EXEC
    SET k 6
    GET k
    CONFIG GET min-slaves-to-write
"""
SCRIPT: Script = [line.split() for line in LINES.strip().splitlines()]


def test_writes_are_refused_and_reads_are_not(
    redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    try:
        redis, forebay = play(redis_server, SCRIPT), play(forebay_server, SCRIPT)
    finally:
        for server in (redis_server, forebay_server):
            with server.client() as client:
                assert client("CONFIG", "SET", "min-replicas-to-write", "0") == "OK"
    told = [line.strip() for line in LINES.strip().splitlines()]
    assert dict(enumerate(zip(told, forebay, strict=True))) == dict(
        enumerate(zip(told, redis, strict=True))
    )
    assert b"-NOREPLICAS Not enough good replicas to write.\r\n" in forebay
