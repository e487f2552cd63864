"""Wait, receive, send, look at the clock: the second place where Python meets C.

Like ``mem``, this module has two faces.  Interpreted, it is this file, over
``select.epoll``, ``os.readv``, ``os.write`` and ``time``.  Compiled callers get
``sysio.pxd``: the same names as direct system calls, without argument tuples,
without an exception for the everyday "nothing there yet", without a list of
tuples for each wait.  An unpipelined request is little more than these three
calls, so this is where its speed is won or lost.

recv and send return alike
     n > 0   that many bytes went through
     0       the other side has closed (receive only)
     n < 0   minus the errno; ``again(n)`` tells "come back later" from a fault

The socket must be non-blocking.  Nothing here raises.  The clocks are for
``timers.py``, which all other code uses.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import time

from forebay.mem import Pointer, Source, Words


def wait(epoll: select.epoll, fd: int, w: Words, most: int, timeout_ms: int) -> int:
    """Sleep until descriptors are ready; how many.  Each is two words in w: fd and events.

    ``fd`` is the descriptor of ``epoll``.  A signal may end the wait with 0 or less.
    """
    assert 2 * most <= len(w), "more events than room"
    n = 0
    for ready, mask in epoll.poll(timeout_ms / 1000, most):
        w[2 * n] = ready
        w[2 * n + 1] = mask
        n += 1
    return n


def recv(fd: int, p: Pointer, at: int, n: int) -> int:
    """Receive up to n bytes into p[at:at+n]."""
    assert 0 <= at and at + n <= len(p), "receive past the end"
    with memoryview(p) as view, view[at : at + n] as room:
        try:
            return os.readv(fd, [room])
        except OSError as fault:
            return -(fault.errno or errno.EIO)


def peek(fd: int, p: Pointer, at: int, n: int) -> int:
    """The same, but the bytes stay in the socket."""
    assert 0 <= at and at + n <= len(p), "receive past the end"
    sock = socket.socket(fileno=fd)
    try:
        with memoryview(p) as view, view[at : at + n] as room:
            return sock.recv_into(room, n, socket.MSG_PEEK)
    except OSError as fault:
        return -(fault.errno or errno.EIO)
    finally:
        sock.detach()


def send(fd: int, p: Source, at: int, n: int) -> int:
    """Send up to n bytes of p[at:at+n]."""
    assert 0 <= at and at + n <= len(p), "send past the end"
    with memoryview(p) as view, view[at : at + n] as load:
        try:
            return os.write(fd, load)
        except OSError as fault:
            return -(fault.errno or errno.EIO)


def again(result: int) -> bool:
    """Whether a negative result only means: not now."""
    return result in (-errno.EAGAIN, -errno.EINTR)


def wall_us() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def monotonic_us() -> int:
    """Microseconds of a time that never goes back."""
    return time.monotonic_ns() // 1000
