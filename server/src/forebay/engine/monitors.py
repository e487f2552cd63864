"""MONITOR: show every command to clients that asked for it.

    time [database address] "SET" "x" "1"

A line is written when the command has run, or has begun to wait; the later answer of
a waiting client gives no second line.  EXEC is shown after the commands that it ran.
"""

from __future__ import annotations

import re

from forebay.commands.api import gates
from forebay.commands.api.session import Session
from forebay.commands.api.spec import ADMIN, Command
from forebay.engine.secrecy import without_secrets
from forebay.engine.sessions import Sessions
from forebay.wire.argv import Argv

_ESCAPES = {10: b"\\n", 13: b"\\r", 9: b"\\t", 7: b"\\a", 8: b"\\b", 34: b'\\"', 92: b"\\\\"}
#: Bytes that must be escaped; the rest of an argument is copied as a whole, not byte by byte.
_UNUSUAL = re.compile(rb"[^ !#-\[\]-~]")


class Monitors:
    """The clients that see everything."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.watching: dict[Session, None] = {}

    def __len__(self) -> int:
        return len(self.watching)

    def set(self, session: Session, on: bool) -> None:
        """Begin or stop showing commands to this client."""
        session.set_gate(gates.MONITORING, on)
        if on:
            self.watching[session] = None
        else:
            self.watching.pop(session, None)

    def feed(self, now_us: int, session: Session, row: Command, argv: Argv) -> None:
        """Show a command that has run, or waits."""
        if row.flags & ADMIN:
            return
        words = b" ".join(quoted(arg) for arg in without_secrets(row, argv.list()))
        seconds, us = divmod(now_us, 1_000_000)
        is_unix = session.addr.startswith(b"/")
        address = b"unix:" + session.addr.removesuffix(b":0") if is_unix else session.addr
        line = b"%d.%06d [%d %b] %b" % (seconds, us, session.db.index, address, words)
        for watcher in self.watching:
            watcher.out.status(line)
            self.sessions.touched(watcher)


def quoted(arg: bytes) -> bytes:
    """An argument between quotes, with everything unprintable escaped."""
    return b'"%b"' % _UNUSUAL.sub(_escaped, arg)


def _escaped(found: re.Match[bytes]) -> bytes:
    byte = found[0][0]
    return _ESCAPES.get(byte) or b"\\x%02x" % byte
