"""The protocol for tests: encode requests, split raw replies, parse them.

``end_of_reply`` finds the end of a reply without making objects of it, so
that two servers can be compared byte for byte; ``parse`` turns the same bytes
into plain Python for tests that look inside.
"""

from __future__ import annotations

import socket
import ssl
from typing import Any

CRLF = b"\r\n"
NEED_MORE = -1

Arg = bytes | str | int | float


class ReplyError(Exception):
    """An error reply, kept as a value; ``args[0]`` is the line after the dash."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplyError) and self.args == other.args

    def __hash__(self) -> int:
        return hash(self.args)


class Push(list[Any]):
    """An out-of-band message of RESP3."""


def encode(*args: Arg) -> bytes:
    """One command as an array of bulk strings."""
    parts = [b"*%d\r\n" % len(args)]
    for arg in args:
        data = arg if isinstance(arg, bytes) else str(arg).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def end_of_reply(buf: bytes | bytearray, at: int = 0) -> int:
    """The index after the reply that starts at ``at``, or NEED_MORE."""
    open_items = 1
    while open_items:
        line_end = buf.find(CRLF, at)
        if line_end < 0:
            return NEED_MORE
        kind, open_items = buf[at], open_items - 1
        if kind in b"$=!":
            size = int(buf[at + 1 : line_end])
            at = line_end + 2 if size < 0 else line_end + 2 + size + 2
            if at > len(buf):
                return NEED_MORE
            continue
        if kind in b"*~>%|":
            count = max(0, int(buf[at + 1 : line_end]))
            open_items += {b"%"[0]: 2 * count, b"|"[0]: 2 * count + 1}.get(kind, count)
        elif kind not in b"+-:_,#(":
            raise AssertionError(f"not a reply: {bytes(buf[at : at + 60])!r}")
        at = line_end + 2
    return at


def split_replies(buf: bytes | bytearray) -> list[bytes]:
    """All whole replies in ``buf``, each as raw bytes."""
    replies, at = [], 0
    while at < len(buf) and (end := end_of_reply(buf, at)) != NEED_MORE:
        replies.append(bytes(buf[at:end]))
        at = end
    return replies


def parse(raw: bytes) -> Any:
    """One raw reply as Python: lists, dicts, bytes, ints, None, ReplyError."""
    value, end = _parse(raw, 0)
    assert end == len(raw), f"{len(raw) - end} bytes after the reply"
    return value


def _parse(raw: bytes, at: int) -> tuple[Any, int]:
    line_end = raw.index(CRLF, at)
    kind, text = raw[at : at + 1], raw[at + 1 : line_end]
    at = line_end + 2
    if kind in (b"*", b"~", b">", b"%"):
        return _parse_aggregate(raw, at, kind, int(text))
    if kind in (b"$", b"=", b"!"):
        size = int(text)
        if size < 0:
            return None, at
        body = raw[at : at + size]
        return (ReplyError(body.decode()) if kind == b"!" else body), at + size + 2
    return _scalar(kind, text), at


def _scalar(kind: bytes, text: bytes) -> Any:
    match kind:
        case b"+":
            return text.decode()
        case b"-":
            return ReplyError(text.decode("utf-8", "replace"))
        case b":" | b"(":
            return int(text)
        case b",":
            return float(text)
        case b"#":
            return text == b"t"
        case b"_":
            return None
    raise AssertionError(f"unknown kind of reply: {kind!r}{text!r}")


def _parse_aggregate(raw: bytes, at: int, kind: bytes, count: int) -> tuple[Any, int]:
    if count < 0:
        return None, at
    items = []
    for _ in range(2 * count if kind == b"%" else count):
        item, at = _parse(raw, at)
        items.append(item)
    if kind == b"%":
        return {_hashable(k): v for k, v in zip(items[::2], items[1::2], strict=True)}, at
    return (Push(items) if kind == b">" else items), at


def _hashable(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key


class RawClient:
    """One connection: send bytes, read exactly one reply as raw bytes."""

    def __init__(
        self,
        address: str | tuple[str, int],
        timeout_s: float = 20.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(timeout_s)
        try:
            self.socket.connect(address)
            if tls is not None:
                self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        except OSError:
            self.socket.close()
            raise
        self.buffer = bytearray()

    def __call__(self, *args: Arg) -> Any:
        """Send one command and read its reply as Python; an error is a value."""
        return parse(self.raw(*args))

    def insist(self, *args: Arg) -> Any:
        """The same, but an error is raised, with the command as a note."""
        reply = self(*args)
        if isinstance(reply, ReplyError):
            reply.add_note(f"the answer to {args!r:.200}")
            raise reply
        return reply

    def raw(self, *args: Arg) -> bytes:
        """Send one command and read its raw reply."""
        self.send(encode(*args))
        return self.read()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def read(self) -> bytes:
        """Exactly one reply, raw; EOFError when the server closed instead."""
        while (end := end_of_reply(self.buffer)) == NEED_MORE:
            self._receive()
        reply = bytes(self.buffer[:end])
        del self.buffer[:end]
        return reply

    def read_many(self, count: int) -> list[bytes]:
        """The next ``count`` replies, raw."""
        replies: list[bytes] = []
        at = 0
        while len(replies) < count:
            end = end_of_reply(self.buffer, at)
            if end == NEED_MORE:
                del self.buffer[:at]
                at = 0
                self._receive()
                continue
            replies.append(bytes(self.buffer[at:end]))
            at = end
        del self.buffer[:at]
        return replies

    def closed(self) -> bool:
        """Whether the server closes the connection, possibly after more output."""
        try:
            while True:
                self._receive()
        except (EOFError, ConnectionError):
            return True
        except TimeoutError:
            return False

    def _receive(self) -> None:
        data = self.socket.recv(1 << 18)
        if not data:
            raise EOFError(f"closed by the server; unread: {bytes(self.buffer[:200])!r}")
        self.buffer += data

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
