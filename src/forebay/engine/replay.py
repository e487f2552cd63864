"""A log is run again: the commands of verified bytes, one after another, as fast as they go.

    LogReader (verified range of whole units)  -->  run()  -->  handlers  -->  the keyspace

What a replay leaves out, because the first run has settled it:
  1. gates, statistics, the slow log, MONITOR: nobody asked anything just now;
  2. effects and keyspace events: they would be the log itself again;
  3. expiry: the log says DEL where a key ran out of time;
  4. MULTI and EXEC: a range holds whole transactions, so their commands run as they come.

An error reply means that the log does not fit the data (a log that another
server wrote may hold such a command); it is counted and the first one kept.
A command that this server does not have is refused: it would be lost silently.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.session import Session
from forebay.commands.spec import Command
from forebay.engine.engine import Engine
from forebay.errors import CommandError, CorruptDataError
from forebay.wire.argv import Argv
from forebay.wire.request import Limits, RequestParser

DASH = 45
#: A log may hold whatever was once accepted.
BULK_MAX = 1 << 40


class Replayer:
    """Feeds the commands of a log to an engine; begin() before the first range, end() at last."""

    def __init__(self, engine: Engine, skip_foreign: bool = False) -> None:
        self.engine = engine
        self.skip_foreign = skip_foreign
        self.session = Session(0, engine.keyspace.databases[0])
        self.session.is_replaying = True
        self.parser = RequestParser(Limits(max_bulk_len=BULK_MAX))
        self.multi: Command = engine.commands[b"multi"]
        self.exec: Command = engine.commands[b"exec"]
        self.commands = 0
        self.errors = 0
        self.first_error = ""
        #: Commands that were left out, by name.
        self.foreign: dict[str, int] = {}
        #: Where in the buffer the command began that is being run, or failed.
        self.at = 0
        self.recorded = False

    def begin(self) -> None:
        """From now on nothing is recorded."""
        engine = self.engine
        self.recorded = engine.effects.enabled
        engine.effects.enabled = False

    def end(self) -> None:
        """The engine is its clients' again."""
        self.engine.effects.enabled = self.recorded
        self.engine.refresh_settings()

    def run(self, buf: bytes | bytearray, start: int, end: int, now_ms: int) -> int:
        """Run every command of buf[start:end], which holds whole commands."""
        ctx = self.engine.ctx
        ctx.now_ms = now_ms
        ctx.use(self.session)
        # Between two ranges an administrator may have asked something: that brings it back.
        ctx.notify_flags = 0
        parser = self.parser
        parser.load(buf, start, end)
        self.at = parser.pos
        while parser.next() == 1:
            self.step(parser.argv)
            self.at = parser.pos
        if self.at != end:
            raise CorruptDataError("a command that is cut off")
        return 0

    def step(self, argv: Argv) -> int:
        """Run one command."""
        row = self.engine.names.find(argv) if argv.n > 0 else None
        if row is not None and row.is_container:
            row = self.subcommand(row, argv)
        if row is None or not row.takes(argv.n):
            return self.refuse(argv)
        if row is self.multi or row is self.exec:
            return 0
        out = self.session.out
        try:
            row.handler(self.engine.ctx, argv)  # type: ignore[misc]
        except CommandError as error:
            self.note_error(row, error.text)
        if out.size > 0 and out.p[0] == DASH:
            self.note_error(row, mem.to_bytes(out.p, 1, out.size - 3))
        out.clear()
        self.commands += 1
        return 0

    def subcommand(self, row: Command, argv: Argv) -> Command | None:
        """The row of XGROUP CREATE and the like."""
        return row.subcommands.get(argv[1].lower()) if argv.n > 1 else None

    def refuse(self, argv: Argv) -> int:
        """A command that this server does not have, or not in this form."""
        name = argv[0].decode("utf-8", "backslashreplace") if argv.n > 0 else ""
        if not self.skip_foreign:
            raise CorruptDataError(
                f"the command '{name}' with {max(0, argv.n - 1)} arguments is not known here; "
                "'skip-foreign-types yes' leaves such commands out"
            )
        self.foreign[name] = self.foreign.get(name, 0) + 1
        return 0

    def note_error(self, row: Command, text: bytes) -> None:
        """Count an error; the first is kept for the operator."""
        self.errors += 1
        if not self.first_error:
            self.first_error = f"{row.full_name.decode()}: {text.decode('utf-8', 'replace')}"
