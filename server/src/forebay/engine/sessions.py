"""All clients of the server, by number, and those that the server must look at.

A command writes to the session that called it, and the server sends that
output.  But PUBLISH, a served wait and CLIENT KILL also change *other*
sessions: those are put into ``touched``, which the server empties once a turn:

    touched   there is output to send, buffered input to resume, or a close to do
"""

from __future__ import annotations

from collections.abc import Iterator

from forebay.commands.api import gates
from forebay.commands.api.session import Session


class Sessions:
    """The register of clients."""

    def __init__(self) -> None:
        self.by_number: dict[int, Session] = {}
        self.touched_sessions: list[Session] = []
        self.last_number = 0

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self.by_number.values()))

    def __len__(self) -> int:
        return len(self.by_number)

    def new_number(self) -> int:
        """A new number; numbers are never used twice."""
        self.last_number += 1
        return self.last_number

    def add(self, session: Session) -> None:
        """Register a client."""
        self.by_number[session.id] = session

    def remove(self, session: Session) -> None:
        """Remove a client."""
        self.by_number.pop(session.id, None)

    def get(self, number: int) -> Session | None:
        """The client with this number."""
        return self.by_number.get(number)

    def touched(self, session: Session) -> None:
        """The server must look at this client."""
        if not session.is_touched:
            session.is_touched = True
            self.touched_sessions.append(session)

    def take_touched(self) -> list[Session]:
        """The clients to look at since the last time; some may be closed already."""
        sessions = self.touched_sessions
        self.touched_sessions = []
        for session in sessions:
            session.is_touched = False
        return sessions

    def shift_times(self, by_ms: int) -> None:
        """The clock was set: keep every idle time and age."""
        for session in self.by_number.values():
            session.created_ms += by_ms
            session.active_ms += by_ms

    def close(self, session: Session) -> None:
        """Let the server send the output, then close; no more commands run."""
        session.closing = True
        session.set_gate(gates.CLOSING, on=True)
        self.touched(session)
