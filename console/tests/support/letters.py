"""Dead letters as workers write them, without a worker."""

from __future__ import annotations

import redis

from forebay_workers.message import Message
from forebay_workers.settle.letters import write

ORIGIN_MS = 1794900000000


def bury(client: redis.Redis, stream: str, error: Exception, fields: list[bytes]) -> None:
    """Put one message of a stream among its dead letters, as the group billing would."""
    message = Message(stream, b"%d-0" % ORIGIN_MS, fields, first_ms=ORIGIN_MS)
    words = write(message, error, "billing", "worker-1", ORIGIN_MS + 1000)
    client.execute_command("XADD", f"{stream}:dead", "*", *words)
