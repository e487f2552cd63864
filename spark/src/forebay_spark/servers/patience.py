"""Waiting for a server that is away: one back-off for all code that talks to it.

Away means that the same command may succeed later, here or on another node: nothing listens,
the connection broke, the server is loading (LOADING), it has lost its primary (MASTERDOWN),
Sentinel knows no primary, a slot is moving (MOVED, ASK, TRYAGAIN), or the server has become a
replica (READONLY).

    attempt  x  x   x     x        x         x         x        ok
    pause     .  ..  ....  ........ ......... ......... ........
                       ^ reported once on stderr                 ^ and once that it continues
             |-- bridged by all code --|-- for retryFor: streaming queries -|

- All code bridges a short outage: the first pauses are short, and together longer than a quick
  failover.
- A streaming query and its tasks continue for ``retryFor``.  By default a process waits only for a
  server that has answered before: otherwise the URL is probably wrong, and the user should not wait
  ten minutes for the error.
- ``ENOUGH`` ends every wait of the process at once: Ctrl-C sets it.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import redis

from forebay_spark import durations
from forebay_spark.errors import ServerError

T = TypeVar("T")

#: Pauses before each further attempt; a long wait repeats the last one.
RETRY_PAUSES_S = (0.05, 0.2, 0.5, 1.0, 2.0)
#: A shorter wait is not reported.
TELL_AFTER_S = 1.0

#: No reply arrived.
BROKEN = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)

#: Replies after which the same command may succeed, here or on another node.
PASSING = (
    *BROKEN,
    redis.exceptions.MovedError,
    redis.exceptions.AskError,
    redis.exceptions.TryAgainError,
    redis.exceptions.ClusterDownError,
    redis.exceptions.ReadOnlyError,
    redis.exceptions.MasterDownError,
)

#: The user wants this process to end: no wait continues.
ENOUGH = threading.Event()

#: Servers that have answered this process.
_MET: set[str] = set()
_LOCK = threading.Lock()
#: How many threads of this process wait for a server; the first and the last one report it.
_WAITING: dict[str, int] = {}


class WaitEndedError(ServerError):
    """The user ended the wait for a server."""


def words(error: Exception) -> str:
    """The text of a server's error, for use inside a sentence."""
    if isinstance(error, redis.exceptions.AskError):  # MOVED is one of them
        return f"slot {error.slot_id} is moving"
    return str(error).rstrip(".")


def translate(error: Exception, where: str, command: Sequence[object] = ()) -> ServerError:
    """An error of redis-py as our own."""
    text = words(error)
    if _is_login(error):
        return ServerError(
            f"The server at {where} refuses the login ({text}). "
            "Check user and password, in the url or as options."
        )
    if "WRONGTYPE" in text and len(command) > 1:
        key = command[2] if str(command[0]).upper() in ("XINFO", "XGROUP") else command[1]
        name = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
        return ServerError(f"The key {name!r} at {where} is not a stream. Name streams only.")
    if isinstance(error, BROKEN):
        return ServerError(
            f"No server answers at {where} ({text}). Start it, or correct the option url."
        )
    return ServerError(f"The server at {where} answers: {text}.")


def _is_login(error: Exception) -> bool:
    """Whether the server answers and refuses us; waiting does not help then."""
    return isinstance(error, redis.exceptions.AuthenticationError) or "NOAUTH" in str(error)


class Patience:
    """How long to wait for one server."""

    def __init__(self, where: str, limit_s: float | None, default_s: float, *, met: bool) -> None:
        """``limit_s`` is the user's; ``default_s`` is for a server that has answered before."""
        self.where = where
        self._asked_s = limit_s
        self._default_s = default_s
        self._met = met

    @property
    def limit_s(self) -> float:
        """How long to try at least; 0 means only as long as a short outage."""
        if self._asked_s is not None:
            return self._asked_s
        return self._default_s if self._met or self.where in _MET else 0.0

    def meet(self) -> None:
        """Note that the server has answered, so it is worth waiting for from now on."""
        _MET.add(self.where)

    def retry(self, attempt: Callable[[], T], drop: Callable[[], None]) -> T:
        """The result of an attempt, repeated as needed; ``drop`` cleans up after each fault."""
        wait = _Wait(self)
        try:
            result = self._try(attempt, drop, wait)
        except BaseException:
            wait.end(back=False)
            raise
        wait.end(back=True)
        return result

    def _try(self, attempt: Callable[[], T], drop: Callable[[], None], wait: _Wait) -> T:
        while True:
            try:
                return attempt()
            except PASSING as error:
                drop()
                if _is_login(error):
                    raise translate(error, self.where) from None
                wait.pause(error)


class _Wait:
    """One caller's wait, from its first fault on."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._pauses = 0
        self._since_s = 0.0
        self._told = False

    def pause(self, error: Exception) -> None:
        """Wait until the next attempt; ServerError if the time is over."""
        now_s = time.monotonic()
        if not self._pauses:
            self._since_s = now_s
        waited_s, limit_s = now_s - self._since_s, self._patience.limit_s
        is_blip = self._pauses < len(RETRY_PAUSES_S)
        if not is_blip and waited_s >= limit_s:
            raise self._over(error, limit_s) from None
        if not self._told and TELL_AFTER_S <= waited_s and TELL_AFTER_S < limit_s:
            self._tell(error, limit_s)
        pause_s = RETRY_PAUSES_S[min(self._pauses, len(RETRY_PAUSES_S) - 1)]
        self._pauses += 1
        if ENOUGH.wait(pause_s if is_blip else min(pause_s, limit_s - waited_s)):
            raise WaitEndedError(
                f"The wait for the server at {self._patience.where} was ended. Start the job again "
                "when it answers: it continues where it stopped, nothing is lost or doubled."
            ) from None

    def _over(self, error: Exception, limit_s: float) -> ServerError:
        where = self._patience.where
        if not limit_s:
            return translate(error, where)
        return ServerError(
            f"The server at {where} was away for {_span(limit_s)} ({words(error)}). "
            "Start it, then start this again: a query or job continues where it stopped, nothing "
            "is lost or doubled. To wait longer, set retryFor."
        )

    def _tell(self, error: Exception, limit_s: float) -> None:
        self._told = True
        where = self._patience.where
        with _LOCK:
            _WAITING[where] = _WAITING.get(where, 0) + 1
            if _WAITING[where] > 1:
                return
        until = "for ever" if math.isinf(limit_s) else f"for up to {_span(limit_s)}"
        _say(f"the server at {where} is away ({words(error)}); waiting {until}")

    def end(self, *, back: bool) -> None:
        """The caller continues, with an answer or with an error."""
        if not self._told:
            return
        where = self._patience.where
        with _LOCK:
            _WAITING[where] -= 1
            if _WAITING[where]:
                return
        if back:
            _say(f"the server at {where} is back after {time.monotonic() - self._since_s:.0f} s")


def _span(seconds: float) -> str:
    return durations.text_of(round(seconds * 1000))


def _say(text: str) -> None:
    """Write a separate line, also after a live line."""
    sys.stderr.write(f"{chr(10) if sys.stderr.isatty() else ''}forebay: {text}\n")
    sys.stderr.flush()
