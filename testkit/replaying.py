"""The keyspace as an AOF, and an AOF replayed in a new engine."""

from __future__ import annotations

from typing import Any

from forebay.commands.api.settings import Settings
from forebay.core.keyspace import Keyspace
from forebay.engine.engine import Engine
from forebay.engine.replay import Replayer
from forebay.persistence.aof.rewrite import RewriteOptions, rewrite
from testkit.portrait import portrait

#: Later than anything that a test, or its redis-server, does.
LATER_MS = 1 << 43


def rewritten(keyspace: Keyspace, options: RewriteOptions | None = None) -> bytes:
    """The keyspace in its command form."""
    pieces: list[bytes] = []
    for _ in rewrite(keyspace, pieces.append, options):
        pass
    return b"".join(pieces)


def replay(data: bytes) -> Engine:
    """An engine after replaying a trusted AOF, with or without seals."""
    engine = Engine(Settings())
    replayer = Replayer(engine)
    lines = commands_only(data)
    replayer.run(lines, 0, len(lines), LATER_MS)
    return engine


def commands_only(data: bytes) -> bytes:
    """An AOF without its '#' lines, found without the code under test."""
    kept, at = [], 0
    while at < len(data):
        end = data.index(b"\r\n", at) + 2
        if data[at : at + 1] == b"#":
            at = end
            continue
        start = at
        for _ in range(int(data[at + 1 : end])):
            line_end = data.index(b"\r\n", end) + 2
            end = line_end + int(data[end + 1 : line_end]) + 2
        kept.append(data[start:end])
        at = end
    return b"".join(kept)


def lasting(keyspace: Keyspace) -> dict[Any, Any]:
    """The portrait of a keyspace without the parts that no command can restore.

    These are: when consumers were seen, and how many messages of producers were counted.
    """
    picture = portrait(keyspace)
    for _, value in picture.values():
        if isinstance(value, dict):
            del value["idmp counters"]
    return picture
