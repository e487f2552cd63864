"""One entry of a stream on its way through a worker.

    raw       [name, value, name, value, ...] as bytes, exactly as the server has them
    starts    how often a handler has started with it, as far as the server knows
    attempt   the number of the current or next attempt: 1, 2, ...

The server counts deliveries, and the count survives a killed worker.  A worker keeps it equal to
the number of starts: an entry that was fetched and handed back unused does not count
(settle/settler.py).
"""

from __future__ import annotations

from typing import Any

#: Fields whose names begin with this describe the message and are not attributes of it.
HEADER = b"@"
#: The type of a message, where several may be on one stream.
TYPE = b"@type"


class Message:
    """A message, and the facts about its delivery.

    ``stream``: the stream that it came from.
    ``id``: the ID of the entry, as ``1526919030474-55``.
    ``attempt``: 1 for the first attempt.
    ``fields``: all fields as text; bytes that are not UTF-8 are replaced.
    ``raw``: names and values, alternating, as the server has them.
    ``size``: about how many bytes it takes.
    """

    __slots__ = (
        *("stream", "key", "raw", "starts", "size", "first_ms", "leased_s", "is_running"),
        *("is_lost", "task", "lane"),
    )

    def __init__(
        self,
        stream: str,
        key: bytes,
        raw: list[bytes],
        starts: int = 0,
        first_ms: int = 0,
        leased_s: float = 0.0,
    ) -> None:
        self.stream = stream
        #: The ID as bytes; ``id`` is the same as text.
        self.key = key
        self.raw = raw
        self.starts = starts
        #: When this process got it.
        self.first_ms = first_ms
        #: Its part of the budget for prefetched bytes.
        self.size = 64 + len(b"".join(raw))
        #: The earliest time at which the server may have reset its idle time; 0 if it is not held.
        self.leased_s = leased_s
        #: A handler runs with it.
        self.is_running = False
        #: Another consumer has claimed it: it must not be settled here any more.
        self.is_lost = False
        #: The task that handles it, so that it can be cancelled.
        self.task: Any = None
        #: The lane that keeps its order, if it has one.
        self.lane: Any = None

    @property
    def id(self) -> str:
        """The ID of the entry, as ``1526919030474-55``."""
        return self.key.decode()

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""
        return self.starts + 1

    @property
    def fields(self) -> dict[str, str]:
        """All fields as text; bytes that are not UTF-8 are replaced."""
        texts = [part.decode("utf-8", "replace") for part in self.raw]
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def header(self, name: bytes) -> bytes | None:
        """The value of one field."""
        raw = self.raw
        for at in range(0, len(raw), 2):
            if raw[at] == name:
                return raw[at + 1]
        return None

    def __repr__(self) -> str:
        return f"Message({self.stream} {self.id}, failed {self.starts} times)"
