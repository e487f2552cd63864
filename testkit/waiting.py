"""Waiting for something to become true, instead of sleeping for a guessed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from testkit.resp import RawClient

PATIENCE_S = 30.0
PAUSE_S = 0.005
#: A wait becomes this part longer than it must be.  Asking each time after the same short pause
#: would take the CPU time that the other tests need.
LATER = 1 / 8
MOST_PAUSE_S = 0.25


def wait_until(
    what: str,
    true: Callable[[], Any],
    patience_s: float = PATIENCE_S,
    *,
    pause_s: float | None = None,
) -> None:
    """Ask again and again until it is true; fail with ``what`` did not happen.

    A state that does not last needs a ``pause_s`` of its own.
    """
    begun_s = time.monotonic()
    while not true():
        waited_s = time.monotonic() - begun_s
        assert waited_s < patience_s, f"waited {patience_s} s, and not: {what}"
        time.sleep(next_pause_s(waited_s) if pause_s is None else pause_s)


def next_pause_s(waited_s: float) -> float:
    """How long to wait before the next question."""
    return min(max(PAUSE_S, waited_s * LATER), MOST_PAUSE_S)


def info_field(client: RawClient, name: str) -> int:
    """One integer out of INFO."""
    for line in client("INFO").decode().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value)
    raise AssertionError(f"INFO has no field {name}")


def client_field(admin: RawClient, number: int, name: str) -> str:
    """One field of the line that CLIENT LIST has about a client; empty if the client is gone."""
    line: str = admin("CLIENT", "LIST", "ID", number).decode()
    return dict(word.split("=", 1) for word in line.split()).get(name, "")


def wait_for_blocked(client: RawClient, count: int) -> None:
    """Wait until exactly ``count`` clients are blocked."""
    wait_until(f"{count} blocked clients", lambda: info_field(client, "blocked_clients") == count)
