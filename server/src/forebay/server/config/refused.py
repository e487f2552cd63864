"""Directives that must not be ignored, because the operator relies on them.

A server that started without it would let in everybody, take writes that belong elsewhere, or
send in the clear what was to be secret.  So the start is refused, and CONFIG SET likewise, with
a sentence that says what is missing and what to write instead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class Refusal:
    """Why a directive cannot be taken, and what to do."""

    reason: str
    instead: str
    #: The value that asks for nothing, and is accepted.
    harmless: str = ""

    def applies_to(self, value: str) -> bool:
        """Whether this value of the directive is refused."""
        return value.lower() != self.harmless

    def __str__(self) -> str:
        return f"refused: {self.reason}; {self.instead}"


_NO_ACL = Refusal(
    "access control lists do not exist yet, and without them everybody may do everything",
    "remove the line and protect the server by requirepass",
)
_NO_REPLICATION = Refusal(
    "there is no replication yet, and this would be one more primary that takes writes",
    "remove the line, or write 'replicaof no one', to start a primary",
    "no one",
)

REFUSED = {
    "user": _NO_ACL,
    "aclfile": _NO_ACL,
    "rename-command": Refusal(
        "commands cannot be renamed, and would stay open under their own name", "remove the line"
    ),
    "loadmodule": Refusal("modules cannot be loaded", "remove the line"),
    "cluster-enabled": Refusal(
        "there is no cluster mode", "write 'cluster-enabled no' to start a single server", "no"
    ),
    "replicaof": _NO_REPLICATION,
    "slaveof": _NO_REPLICATION,
    "tls-port": Refusal(
        "there is no TLS yet, and nobody would listen on this port",
        "write 'tls-port 0' and put a proxy that speaks TLS in front of the plain port",
        "0",
    ),
}
