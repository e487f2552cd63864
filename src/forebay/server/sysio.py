"""Receive and send, and nothing else: the second place where Python meets C.

Like ``mem``, this module has two faces.  Interpreted, it is this file, over
``os.readv`` and ``os.write``.  Compiled callers get ``sysio.pxd``: the same
names as direct system calls, without argument tuples, without an exception for
the everyday "nothing there yet".  An unpipelined request is little more than
one receive and one send, so this is where its speed is won or lost.

Both functions answer alike
     n > 0   that many bytes went through
     0       the other side has closed (receive only)
     n < 0   minus the errno; ``again(n)`` tells "come back later" from a fault

The socket must be non-blocking.  Nothing here raises.
"""

from __future__ import annotations

import errno
import os

from forebay.mem import Pointer


def recv(fd: int, p: Pointer, at: int, n: int) -> int:
    """Receive up to n bytes into p[at:at+n]."""
    assert 0 <= at and at + n <= len(p), "receive past the end"
    with memoryview(p) as view, view[at : at + n] as room:
        try:
            return os.readv(fd, [room])
        except OSError as fault:
            return -(fault.errno or errno.EIO)


def send(fd: int, p: Pointer, at: int, n: int) -> int:
    """Send up to n bytes of p[at:at+n]."""
    assert 0 <= at and at + n <= len(p), "send past the end"
    with memoryview(p) as view, view[at : at + n] as load:
        try:
            return os.write(fd, load)
        except OSError as fault:
            return -(fault.errno or errno.EIO)


def again(result: int) -> bool:
    """Whether a negative result only means: not now."""
    return result in (-errno.EAGAIN, -errno.EWOULDBLOCK, -errno.EINTR)
