"""Connections of one user: lent to one thread at a time, and kept for the next one.

    with links.lent() as server:          a logged-in connection, for this call alone
        server.ask("XLEN", b"orders")

A connection with an error is closed, not kept: a reply may still be on its way.
A few are kept: a page with ten questions must not open ten connections each second.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from forebay.cli.remote.address import Address
from forebay.cli.remote.link import Link, LinkError
from forebay.cli.remote.refusals import RefusedError
from forebay.cli.remote.server import NotReachedError, Server, told

MOST_KEPT = 4
PATIENCE_S = 5.0


class NotLetInError(NotReachedError):
    """The server answers, and refuses this user or this password."""


class Links:
    """The connections of one user to one server."""

    def __init__(self, address: Address, patience_s: float = PATIENCE_S) -> None:
        self.address = address
        self._patience_s = patience_s
        self._kept: list[Server] = []
        self._lock = threading.Lock()

    @contextmanager
    def lent(self) -> Iterator[Server]:
        """Lend a connection; NotReachedError if no server answers."""
        try:
            server = self._take()
            try:
                yield server
            except RefusedError:
                self._keep(server)  # still usable: a refusal is a complete reply
                raise
            except BaseException:
                close(server)
                raise
            self._keep(server)
        except LinkError as error:
            raise NotReachedError(told(error)) from None

    def close(self) -> None:
        """Close all kept connections."""
        with self._lock:
            kept, self._kept = self._kept, []
        for server in kept:
            close(server)

    def _take(self) -> Server:
        with self._lock:
            if self._kept:
                return self._kept.pop()
        link = Link(self.address, self._patience_s)
        try:
            link.log_in()
        except LinkError as error:
            link.__exit__(None, None, None)
            raise NotLetInError(told(error)) from None
        return Server(link)

    def _keep(self, server: Server) -> None:
        with self._lock:
            if len(self._kept) < MOST_KEPT:
                self._kept.append(server)
                return
        close(server)


def close(server: Server) -> None:
    """Close a connection."""
    server.link.__exit__(None, None, None)
