"""One connection to a server: commands out, replies in, RESP2.

    sockets.py   finds the host, opens the socket, TLS included
    hiredis      reads the replies; a reply is bytes, int, None or a list of replies

It must never hang and never raise anything but LinkError: a user who looks for a fault does not
want a traceback.  A refusal of one command (unknown, not permitted) is a value, ``Refusal``: a
server that refuses one command may still run another.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, cast

import hiredis

from forebay.cli.remote.address import Address
from forebay.cli.remote.sockets import BadOptionError, NobodyError, opened
from forebay.errors import ForebayError

PATIENCE_S = 5.0
READ_BYTES = 1 << 18
#: This many commands are sent before their replies are read.
PIPELINE = 500

HELP = "export FOREBAY_URL='rediss://HOST:PORT?ssl_ca_certs=FILE'"

Word = bytes | str | int


class LinkError(ForebayError):
    """No connection is possible; the text says why, ``do`` is a shell line to try.

    ``is_nobody``: no server answers, rather than one that refuses.
    """

    def __init__(self, text: str, do: str, *, is_nobody: bool = False) -> None:
        super().__init__(text)
        self.do = do
        self.is_nobody = is_nobody


class Refusal(str):
    """An error reply: the line after the dash."""

    @property
    def code(self) -> str:
        """Its first word, such as WRONGTYPE."""
        return self.partition(" ")[0]


def packed(words: Sequence[Word]) -> bytes:
    """A command on the wire."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogateescape")
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


class Link:
    """A connection to a server; a context manager.

    ``is_text``: replies are text, with a mark where bytes are not UTF-8.
    """

    def __init__(
        self, address: Address, patience_s: float = PATIENCE_S, *, is_text: bool = False
    ) -> None:
        self.address = address
        self.patience_s = patience_s
        self.socket = self._connected()
        kind: dict[str, Any] = {"encoding": "utf-8", "errors": "replace"} if is_text else {}
        self._reader = hiredis.Reader(replyError=cast(Any, Refusal), **kind)
        #: Bytes of a reply that is not complete yet.
        self._unread = 0

    def __enter__(self) -> Link:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def is_to_this_machine(self) -> bool:
        """Whether the other end has an address of this machine."""
        if self.address.path:
            return True
        return bool(self.socket.getpeername()[0] == self.socket.getsockname()[0])

    def log_in(self) -> None:
        """Send the password of the URL and choose its database, if it has them."""
        address = self.address
        if address.password:
            words = [word for word in (address.user, address.password) if word]
            reply = self.ask("AUTH", *words)
            if isinstance(reply, Refusal):
                raise LinkError(
                    f"{address} refuses the password: {reply}",
                    "export FOREBAY_URL=redis://USER:PASSWORD@HOST:PORT",
                )
        if address.database:
            reply = self.ask("SELECT", address.database)
            if isinstance(reply, Refusal) and reply.code != "NOAUTH":
                raise LinkError(
                    f"{address} refuses database {address.database}: {reply}",
                    address.command("CONFIG", "GET", "databases"),
                )

    def ask(self, *words: Word, wait_s: float = 0.0) -> Any:
        """One command and its reply; ``wait_s`` is how long the command itself may wait."""
        self.socket.settimeout(self.patience_s + wait_s)
        return next(self._asked([words]))

    def ask_all(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Many commands in a row, and their replies."""
        self.socket.settimeout(self.patience_s)
        found: list[Any] = []
        for start in range(0, len(commands), PIPELINE):
            found += self._asked(commands[start : start + PIPELINE])
        return found

    def send(self, data: bytes | bytearray | memoryview) -> None:
        """Send raw bytes; the server's last words before a close can still be read."""
        try:
            self.socket.sendall(data)
        except TimeoutError:
            raise self._silent() from None
        except OSError:
            pass

    def receive_into(self, room: memoryview) -> int:
        """Receive raw bytes; how many."""
        try:
            got = self.socket.recv_into(room)
        except TimeoutError:
            raise self._silent() from None
        except OSError as error:
            raise self.hung_up(error.strerror or str(error)) from None
        if not got:
            raise self.hung_up("in the middle of a reply")
        return got

    def hung_up(self, reason: str) -> LinkError:
        """The error if the server closed the connection."""
        return LinkError(
            f"{self.address} closed the connection ({reason})", self.address.command("PING")
        )

    def not_our_protocol(self) -> LinkError:
        """The error if the other side is no Redis server."""
        return LinkError(
            f"What answers at {self.address} does not speak the Redis protocol",
            "export FOREBAY_URL=redis://HOST:PORT",
        )

    def _asked(self, commands: Sequence[Sequence[Word]]) -> Iterator[Any]:
        self.send(b"".join(map(packed, commands)))
        for _ in commands:
            yield self._reply()

    def _connected(self) -> socket.socket:
        try:
            return opened(self.address, self.patience_s)
        except BadOptionError as error:
            told = f"{self.address} has an option that cannot be used: {error}"
            raise LinkError(told, HELP) from None
        except NobodyError as error:
            told = f"No server answers at {self.address}: {error}"
            raise LinkError(told, "forebay serve --dir data", is_nobody=True) from None

    def _reply(self) -> Any:
        while True:
            try:
                reply = self._reader.gets()
            except hiredis.ProtocolError:
                raise self.not_our_protocol() from None
            if reply is not False:
                self._unread = 0
                return reply
            self._receive()

    def _receive(self) -> None:
        try:
            data = self.socket.recv(READ_BYTES)
        except TimeoutError:
            raise self._silent() from None
        except OSError as error:
            raise self.hung_up(error.strerror or str(error)) from None
        if not data:
            raise self.hung_up("in the middle of a reply" if self._unread else "without a reply")
        self._unread += len(data)
        self._reader.feed(data)

    def _silent(self) -> LinkError:
        return LinkError(
            f"{self.address} took the connection and has not answered for "
            f"{self.patience_s:g} s: the server hangs, or runs one long command",
            self.address.command("CLIENT", "LIST"),
        )
