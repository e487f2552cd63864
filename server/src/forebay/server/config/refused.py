"""Directives that must not be ignored, because the operator relies on them.

A server that ignored one of them would admit every client, or take writes that belong elsewhere.
So the start is refused, and CONFIG SET too, with a sentence that says what is missing and what to
write instead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class Refusal:
    """Why a directive is refused, and what to do."""

    reason: str
    instead: str
    #: The value that asks for nothing and is accepted.
    harmless: str = ""

    def applies_to(self, value: str) -> bool:
        """Whether this value of the directive is refused."""
        return value.lower() != self.harmless

    def __str__(self) -> str:
        return f"refused: {self.reason}; {self.instead}"


REFUSED = {
    "rename-command": Refusal(
        "commands cannot be renamed, and would stay open under their own name", "remove the line"
    ),
    "loadmodule": Refusal("modules cannot be loaded", "remove the line"),
    "cluster-enabled": Refusal(
        "there is no cluster mode", "write 'cluster-enabled no' to start a single server", "no"
    ),
}
