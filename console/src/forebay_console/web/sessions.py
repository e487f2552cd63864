"""A session for each browser, with the user of the server that it signed in as.

    cookie   a random name of the session: HttpOnly, SameSite=Strict, for this console only
    token    sent by the page with every change; another site can neither read nor guess it

A server without a password needs no sign-in.  Passwords stay in memory, inside the addresses of
their connections, until the session ends: after an hour without a question, or by signing out.
Failed sign-ins slow down sign-ins for all: at one guess a second guessing is pointless.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field, replace

from forebay.cli.remote.address import Address
from forebay.cli.remote.refusals import RefusedError
from forebay.cli.remote.server import NotReachedError
from forebay_console.asking.permits import Permits
from forebay_console.servers.links import Links

IDLE_S = 3_600.0
LONGEST_S = 12 * 3_600.0
MOST_SESSIONS = 1_000
#: This many wrong passwords in a row are answered at once.
FREE_GUESSES = 5
PAUSE_S = 1.0


@dataclass
class Session:
    """One browser."""

    user: str
    links: Links
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    permits: Permits = field(default_factory=Permits)
    begun_s: float = field(default_factory=time.monotonic)
    used_s: float = field(default_factory=time.monotonic)

    def is_over(self, now_s: float) -> bool:
        """Whether it has expired."""
        return now_s - self.used_s > IDLE_S or now_s - self.begun_s > LONGEST_S


class TooManyGuessesError(Exception):
    """Too many wrong passwords in a short time."""


class Sessions:
    """All of them."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._open: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._permits: dict[str, Permits] = {}
        self._wrong = 0
        self._next_guess_s = 0.0

    def find(self, name: str | None) -> Session | None:
        """The session of a cookie, if it is still valid."""
        now_s = time.monotonic()
        with self._lock:
            session = self._open.get(name or "")
            if session is None or session.is_over(now_s):
                return None
            session.used_s = now_s
            return session

    def sign_in(self, user: str, password: str) -> str:
        """Open a session; the name for its cookie.  Raises if the server refuses the user."""
        return self._add(self.visit(user, password))

    def visit(self, user: str, password: str) -> Session:
        """A session for one question; the caller closes it."""
        self._slow_down()
        try:
            session = self._opened(user, password)
        except (RefusedError, NotReachedError):
            self._wrong += 1
            raise
        self._wrong = 0
        return session

    def sign_out(self, name: str | None) -> None:
        """End a session."""
        with self._lock:
            session = self._open.pop(name or "", None)
        if session is not None:
            session.links.close()

    def close(self) -> None:
        """End all."""
        for name in list(self._open):
            self.sign_out(name)

    def _opened(self, user: str, password: str) -> Session:
        links = Links(replace(self._address, user=user, password=password))
        with links.lent() as server:
            server.ask("PING")
        name = user or "default"
        return Session(name, links, permits=self._permits.setdefault(name, Permits()))

    def _add(self, session: Session) -> str:
        name, now_s = secrets.token_urlsafe(32), time.monotonic()
        with self._lock:
            over = [one for one, known in self._open.items() if known.is_over(now_s)]
            over += list(self._open)[: max(0, len(self._open) - len(over) - MOST_SESSIONS + 1)]
            gone = [self._open.pop(one) for one in dict.fromkeys(over)]
            self._open[name] = session
        for old in gone:
            old.links.close()
        return name

    def _slow_down(self) -> None:
        now_s = time.monotonic()
        with self._lock:
            if self._wrong >= FREE_GUESSES:
                if now_s < self._next_guess_s:
                    raise TooManyGuessesError
                self._next_guess_s = now_s + PAUSE_S
