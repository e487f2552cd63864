"""Reaching the primary: a socket and, with tls-replication, a TLS handshake on it.

    dial() --plain--> done(socket, None) at once: the first bytes wait for the connection
         '--TLS-----> done(socket, channel) after the handshake, or failed(why)

There is one attempt at a time: a new one ends the one before.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from forebay.commands.api.settings import Settings
from forebay.server.net.tls_channel import TlsChannel
from forebay.server.net.tls_contexts import TlsContexts
from forebay.server.net.tls_handshakes import Handshake, Handshakes

#: Host, port, seconds of tcp-keepalive -> a connection that is being made; OSError.
OpenSocket = Callable[[str, int, int], socket.socket]
Done = Callable[[socket.socket, TlsChannel | None], None]
Failed = Callable[[str], None]


class Dialer:
    """Makes connections to a primary."""

    def __init__(
        self,
        settings: Settings,
        open_socket: OpenSocket,
        contexts: TlsContexts,
        handshakes: Handshakes,
    ) -> None:
        self.settings = settings
        self.open_socket = open_socket
        self.contexts = contexts
        self.handshakes = handshakes
        self.handshake: Handshake | None = None

    def dial(self, host: str, port: int, done: Done, failed: Failed) -> None:
        """Begin an attempt; OSError if it fails at once."""
        self.hang_up()
        sock = self.open_socket(host, port, self.settings.tcp_keepalive_s)
        context = self.contexts.connects
        if not self.settings.tls_replication:
            done(sock, None)
        elif context is None:
            sock.close()
            raise OSError("tls-replication is on, and no certificate is loaded")
        else:
            self.handshake = self.handshakes.connect(sock, context, done, failed)

    def hang_up(self) -> None:
        """End the current attempt, if there is one."""
        handshake, self.handshake = self.handshake, None
        if handshake is not None:
            self.handshakes.cancel(handshake)
