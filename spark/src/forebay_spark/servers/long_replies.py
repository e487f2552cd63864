"""A long reply goes from the socket straight into memory that Arrow can use.

    socket --> buffer of the parser --> bytes object --> Arrow       every other reply
    socket ------------------------------------------> Arrow         a long string

redis-py and hiredis copy a reply twice, which for a page of columns costs more than decoding it.
A page is one string, and its first bytes say how long it is.  So this code peeks at them: if a long
string begins there, it is received here, into one buffer of that length.  Anything else is left to
the parser, untouched: errors, short strings, lists, a string of which the parser already has a
part, and everything on a connection with TLS.

The string comes in hundreds of pieces.  To wake up for each one costs both sides more than the
copy, so the kernel is told to wake this process for a larger share (Linux only).
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

import pyarrow as pa
import redis

#: A shorter string is not worth the effort.
LONG_BYTES = 64 << 10
#: ``$``, the digits of any length and the end of the line fit.
HEAD_BYTES = 24
#: So many bytes of a string are worth waking up for.
SHARE_BYTES = 1 << 20
HAS_SHARES = sys.platform == "linux"
LINE_END = b"\r\n"


def long_string(connection: Any) -> pa.Buffer | None:
    """The next reply of a connection, if it is a long string; errors are redis-py's own."""
    sock, parser = getattr(connection, "_sock", None), getattr(connection, "_parser", None)
    reader = getattr(parser, "_reader", None)
    if type(sock) is not socket.socket or reader is None or reader.has_data():
        return None
    try:
        head = sock.recv(HEAD_BYTES, socket.MSG_PEEK)
        line, end, _ = head.partition(LINE_END)
        if not end or line[:1] != b"$" or int(line[1:]) < LONG_BYTES:
            return None
        sock.recv(len(line) + len(end))  # they are there
        return _received(sock, int(line[1:]))
    except TimeoutError:
        raise redis.exceptions.TimeoutError("Timeout reading from socket") from None
    except OSError as error:
        raise redis.exceptions.ConnectionError(f"Error while reading: {error}") from None


def _received(sock: socket.socket, size: int) -> pa.Buffer:
    """A string of this size, of which nothing was taken yet."""
    whole = pa.allocate_buffer(size + len(LINE_END))
    view = memoryview(whole)
    try:
        while len(view):
            _wake_for(sock, min(len(view), SHARE_BYTES))
            view = view[_some(sock, view) :]
    finally:
        _wake_for(sock, 1)
    return whole.slice(0, size)


def _wake_for(sock: socket.socket, size: int) -> None:
    """Let the kernel call a socket readable when this many bytes are there."""
    if HAS_SHARES:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)


def _some(sock: socket.socket, room: memoryview) -> int:
    """Receive a share; on a slow network what has come in the longest time to wait."""
    try:
        got = sock.recv_into(room)
    except TimeoutError:
        got = _what_is_there(sock, room)
    if got == 0:
        raise ConnectionResetError("Connection closed by server.")
    return got


def _what_is_there(sock: socket.socket, room: memoryview) -> int:
    """Receive without a wait."""
    try:
        return os.readv(sock.fileno(), [room])
    except BlockingIOError:
        raise TimeoutError from None
