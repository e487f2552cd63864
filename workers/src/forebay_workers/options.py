"""Options of a user, checked at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from forebay_workers.errors import ConfigError
from forebay_workers.partitioned import Partitioned

Layout = Literal["fields", "json"]
LAYOUTS = ("fields", "json")
START_IDS = {"beginning": "0", "end": "$"}
ENTRY_ID = re.compile(r"\d+(-\d+)?")
#: The most random extra length of a pause: messages that failed together do not retry together.
MOST_JITTER = 0.2


@dataclass(frozen=True)
class Retry:
    """How often a message is tried, and the pause before each further attempt.

    ``Retry(5, backoff=(1, 10, 60))`` is five attempts, with pauses of 1, 10, 60 and 60 seconds.

    ``attempts``: the most starts of the handler.
    ``backoff``: seconds before each further attempt; the last pause repeats.
    """

    attempts: int = 5
    backoff: Sequence[float] = (1, 10, 60)

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ConfigError(f"Retry({self.attempts}) never runs the handler. Give 1 or more.")
        if not self.backoff or min(self.backoff) < 0:
            raise ConfigError("The backoff of Retry needs at least one pause, none below 0.")

    def pause_s(self, failed: int, jitter: float) -> float:
        """The pause after ``failed`` attempts; ``jitter`` is from 0 to 1."""
        pause = self.backoff[min(failed, len(self.backoff)) - 1]
        return pause * (1 + MOST_JITTER * jitter)


def start_id(start: str) -> str:
    """The ID where a new group starts, from a word or from the ID of the last skipped entry."""
    found = START_IDS.get(start, start)
    if found != "$" and not ENTRY_ID.fullmatch(found):
        raise ConfigError(f'start={start!r} is neither "beginning" nor "end" nor an ID as "0-0".')
    return found


@dataclass(frozen=True)
class StreamOptions:
    """How a stream is read; the same for all handlers on it."""

    start: str = "0"
    order_by: str | None = None
    concurrency: int = 16
    prefetch: int = 1000
    prefetch_bytes: int = 16 << 20
    dead: str | None = None
    unknown: Literal["dead", "skip"] = "dead"
    keep: int | timedelta | None = 0

    def check(self, stream: str) -> None:
        """Refuse options that cannot work."""
        if self.concurrency < 1 or self.prefetch < 1 or self.prefetch_bytes < 1:
            raise ConfigError(
                f"concurrency, prefetch and prefetch_bytes of {stream!r} must be at least 1."
            )
        if self.dead == stream:
            raise ConfigError(f"The dead letters of {stream!r} need a stream of their own.")


@dataclass(frozen=True)
class BatchOptions:
    """When a batch is full, or old enough."""

    size: int
    within_s: float

    def __post_init__(self) -> None:
        if self.size < 1 or self.within_s < 0:
            raise ConfigError("A batch needs a size of 1 or more, and within of 0 or more seconds.")


@dataclass(frozen=True)
class HandlerOptions:
    """How one handler is run."""

    retry: Retry = field(default_factory=Retry)
    timeout_s: float | None = None
    to: str | Partitioned | None = None


@dataclass(frozen=True)
class Patience:
    """What a worker does if the server is away, or its group has vanished.

    ``away_s``: seconds without a server before the worker exits; None: it never exits.
    ``remake_group``: whether to create a vanished group (FLUSHALL, XGROUP DESTROY) again.
    """

    away_s: float | None = None
    remake_group: bool = True
