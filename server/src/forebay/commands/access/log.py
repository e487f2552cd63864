"""ACL LOG: refused calls, newest first; repeated refusals are counted, not listed again."""

from __future__ import annotations

from dataclasses import dataclass

#: Refusals count as the same if they are at most this far apart and among the newest entries.
SAME_WITHIN_MS = 60_000
SAME_AMONG = 10

AUTH = b"auth"
CERTIFICATE = b"tls-cert"
TOPLEVEL = b"toplevel"
MULTI = b"multi"
SCRIPT = b"lua"


@dataclass(slots=True)
class Entry:
    """One refusal, or several equal ones."""

    number: int
    reason: bytes
    context: bytes
    object: bytes
    user: bytes
    #: The CLIENT LIST line of the client that was refused last.
    client: bytes
    created_ms: int
    updated_ms: int
    count: int = 1

    def is_like(self, other: Entry) -> bool:
        """Whether the other refusal is the same as this one."""
        mine = (self.reason, self.context, self.object, self.user)
        apart_ms = abs(self.updated_ms - other.updated_ms)
        theirs = (other.reason, other.context, other.object, other.user)
        return mine == theirs and apart_ms <= SAME_WITHIN_MS


class AccessLog:
    """The newest refusals."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.made = 0

    def add(self, entry: Entry, most: int) -> None:
        """Add a refusal; the log keeps ``most`` entries."""
        entry.number = self.made
        for i, old in enumerate(self.entries[:SAME_AMONG]):
            if old.is_like(entry):
                old.client, old.updated_ms = entry.client, entry.updated_ms
                old.count += 1
                self.entries.insert(0, self.entries.pop(i))
                break
        else:
            if most > 0:
                self.made += 1
                self.entries.insert(0, entry)
        del self.entries[most:]
