"""Errors of a server, sorted by what can be done about them.

    passing    the connection broke, the primary moved, it is loading: wait and try again
    group      the group or the stream is gone: make it again, or exit
    lasting    wrong password, untrusted certificate, wrong type, no right: report it in one
               sentence and exit

Nothing is tried again at once: every pause is longer than the one before, up to a limit.
"""

from __future__ import annotations

import os

from redis import exceptions

from forebay_workers.clock import Clock
from forebay_workers.errors import ServerError

#: First words of replies that mean: not now, or not here.
PASSING_WORDS = (
    *("LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY "),
    *("MISCONF", "NOREPLICAS", "UNBLOCKED"),
)
#: Errors of a cluster that mean: not here, or not now.
REDIRECTIONS = (exceptions.AskError, exceptions.TryAgainError, exceptions.ClusterDownError)
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0
PASSING = (exceptions.ConnectionError, exceptions.TimeoutError, OSError, TimeoutError, EOFError)
#: All errors of a server or of the connection to it.
FAULTS = (exceptions.RedisError, *PASSING)
LASTING = (exceptions.AuthenticationError, exceptions.NoPermissionError)


def is_passing(error: BaseException) -> bool:
    """Whether the same may work later."""
    if isinstance(error, LASTING) or _is_distrust(error):
        return False
    if isinstance(error, (exceptions.ReadOnlyError, exceptions.BusyLoadingError, *PASSING)):
        return True
    if isinstance(error, REDIRECTIONS):
        return True
    return isinstance(error, exceptions.ResponseError) and str(error).startswith(PASSING_WORDS)


def _is_distrust(error: BaseException) -> bool:
    """Whether a certificate, the server's or ours, was refused; redis-py hides the cause."""
    return "CERTIFICATE_VERIFY_FAILED" in str(error)


def is_group_gone(error: BaseException) -> bool:
    """Whether the group, perhaps with its stream, no longer exists."""
    return isinstance(error, exceptions.ResponseError) and str(error).startswith("NOGROUP")


def said(error: BaseException, where: str) -> ServerError:
    """An error of the server as one sentence for a person."""
    text = reason(error)
    if isinstance(error, exceptions.AuthenticationError) or text.startswith(
        ("NOAUTH", "WRONGPASS")
    ):
        return ServerError(f"{where} refuses the password ({text}). Fix the URL.")
    if _is_distrust(error):
        return ServerError(
            f"{where} has a certificate that is not trusted here ({text}). Name the file of its "
            "authority in the URL, as in ?ssl_ca_certs=/path/ca.pem."
        )
    if isinstance(error, PASSING):
        return ServerError(f"{where} cannot be reached ({text}). Start it, or fix the URL.")
    return ServerError(f"{where} says: {text}")


def reason(error: BaseException) -> str:
    """The reason in a few words: the system's own text for a system error."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.errno:
            return os.strerror(found.errno)
        found = found.__cause__ or found.__context__
    return str(error) or type(error).__name__


class Pauses:
    """Pauses between attempts, each twice the one before; a success resets them."""

    def __init__(self, clock: Clock, longest_s: float = LONGEST_PAUSE_S) -> None:
        self._clock = clock
        self._longest_s = longest_s
        self._failures = 0
        self._since_s = 0.0

    def succeeded(self) -> None:
        """Note that the last attempt worked."""
        self._failures = 0

    @property
    def away_s(self) -> float:
        """How long nothing has worked."""
        return self._clock.monotonic_s() - self._since_s if self._failures else 0.0

    async def wait(self) -> None:
        """Wait for the next pause, at random up to a fifth longer."""
        if not self._failures:
            self._since_s = self._clock.monotonic_s()
        pause = min(FIRST_PAUSE_S * 2 ** min(self._failures, 16), self._longest_s)
        self._failures += 1
        await self._clock.sleep(pause * (1 + 0.2 * self._clock.jitter()))
