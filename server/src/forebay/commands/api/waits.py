"""How a command waits instead of answering, and for what.

    handler -- ctx.block() --> Waits: engine/blocking.py, which runs the command again later

A key wakes only clients that wait for a value of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forebay.commands.api.session import Session
    from forebay.wire.argv import Argv
    from forebay.wire.resp_writer import RespWriter

BLOCK_LIST = 1
BLOCK_STREAM = 2
BLOCK_TIME = 3  # only its deadline (WAIT)
BLOCK_PAUSE = 4  # the end of CLIENT PAUSE; then the command runs for the first time


class Waits:
    """Registers clients that must wait; Context.block() explains the arguments."""

    def block(
        self,
        session: Session,
        kind: int,
        keys: list[bytes],
        timeout_ms: int,
        argv: Argv,
        on_missing_key: bool = False,
        wake_at_ms: Mapping[bytes, int] | None = None,
        on_timeout: Callable[[RespWriter], object] | None = None,
    ) -> None:
        """Let the client wait."""
        raise NotImplementedError

    def block_as_before(self, session: Session, kind: int, timeout_ms: int, argv: Argv) -> bool:
        """Let it wait in the same way as the last time if the command is the same; else false."""
        raise NotImplementedError
