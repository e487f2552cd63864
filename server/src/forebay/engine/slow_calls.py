"""Slow commands: the entries for the slow log and the latency monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.commands.api.session import Session
from forebay.commands.api.spec import SKIP_SLOWLOG, Command
from forebay.engine.secrecy import without_secrets
from forebay.wire.argv import Argv

if TYPE_CHECKING:
    from forebay.engine.engine import Engine


def note(engine: Engine, session: Session, row: Command, argv: Argv, usec: int) -> None:
    """Note a command that was slow by the settings."""
    settings = engine.settings
    now_s = engine.ctx.now_ms // 1000
    over = 0 <= settings.slowlog_slower_than_us <= usec
    if over and not row.flags & SKIP_SLOWLOG:
        args = without_secrets(row, argv.list())
        engine.slowlog.add(now_s, usec, args, session, settings)
    if 0 < settings.latency_threshold_ms * 1000 <= usec:
        event = b"fast-command" if row.is_fast else b"command"
        engine.latency.record(event, now_s, usec // 1000)
