"""Runs the stream of a primary, a whole unit at a time, and records it for our own AOF.

    bytes of the link --> run() --> handlers --> the keyspace
                            |          '-----> effects (our AOF), events, waiting readers
                            '-- the index after the last whole unit: the data is up to here

It is the replay of an AOF (replay.py) in a server that has clients: the changes are recorded
and announced.  A unit is a command, or MULTI ... EXEC as a whole: no client sees half of one.

Rules
  1. An incomplete unit is not started; the caller calls run() again with more bytes.
  2. PING and REPLCONF GETACK belong to the link.  They count as bytes of the stream.
  3. A command that fails here did not fail at the primary, so the data would differ: Diverged.
     With ``skip_foreign`` unsupported commands are counted and skipped instead; so are commands
     that fail because of a writable replica's own data.
"""

from __future__ import annotations

from forebay.commands.api import gates
from forebay.commands.api.session import Session
from forebay.commands.api.spec import Command
from forebay.engine import slow_calls
from forebay.engine.engine import Engine
from forebay.engine.foreign import shown_command
from forebay.errors import CommandError, ForebayError, ProtocolError
from forebay.wire.argv import Argv
from forebay.wire.request import Limits, RequestParser

#: A primary may send anything that it once accepted.
BULK_MAX = 1 << 40
IS_MONITORED = gates.MONITORED


class Diverged(ForebayError):
    """The stream cannot be followed: it does not fit the data here."""


class Applier:
    """Runs the stream of one primary in an engine."""

    def __init__(self, engine: Engine, session: Session) -> None:
        self.engine = engine
        self.session = session
        session.is_replaying = True
        self.parser = RequestParser(Limits(max_bulk_len=BULK_MAX))
        #: Looks for the end of a transaction before it starts.
        self.scout = RequestParser(Limits(max_bulk_len=BULK_MAX))
        self.multi: Command = engine.commands[b"multi"]
        self.exec: Command = engine.commands[b"exec"]
        self.ping: Command = engine.commands[b"ping"]
        self.replconf: Command = engine.commands[b"replconf"]
        self.skip_foreign = False
        #: Skipped commands: name -> how many.
        self.left_out: dict[str, int] = {}
        #: Messages about them for the operator.
        self.news: list[str] = []
        #: The primary has asked for our offset.
        self.wants_ack = False
        #: How far an incomplete transaction was scanned, from its beginning.
        self.looked = 0

    def run(self, buf: bytearray, start: int, end: int, now_ms: int) -> int:
        """Run whole units of buf[start:end]; the index after the last one.

        An empty line stops it: that is a keepalive, not part of the stream.
        """
        engine = self.engine
        ctx = engine.ctx
        ctx.now_ms = now_ms
        ctx.use(self.session)
        parser = self.parser
        parser.load(buf, start, end)
        try:
            while parser.next() and parser.argv.n > 0:
                row = engine.names.find(parser.argv)
                if row is not self.multi:
                    self.run_unit(row, parser.argv)
                elif self.is_whole(buf, start, end):
                    self.run_transaction()
                else:
                    break
                start = parser.pos
        except ProtocolError as error:
            raise Diverged(f"the stream of the primary is broken: {error}") from None
        return start

    def is_whole(self, buf: bytearray, start: int, end: int) -> bool:
        """Whether the transaction that begins at ``start`` is complete."""
        scout = self.scout
        scout.load(buf, start + self.looked, end)
        while scout.next():
            self.looked = scout.pos - start
            if scout.argv.n > 0 and self.engine.names.find(scout.argv) is self.exec:
                self.looked = 0
                return True
        return False

    def run_transaction(self) -> None:
        """Run the commands between MULTI and EXEC as one unit of effects."""
        parser = self.parser
        effects = self.engine.effects
        effects.begin()
        try:
            while parser.next():
                row = self.engine.names.find(parser.argv)
                if row is self.exec:
                    break
                self.step(row, parser.argv)
        finally:
            effects.end()
        self.serve()

    def run_unit(self, row: Command | None, argv: Argv) -> None:
        """Run one command outside a transaction."""
        if row is self.replconf:
            self.wants_ack = True
        elif row is not self.ping:
            effects = self.engine.effects
            effects.begin()
            try:
                self.step(row, argv)
            finally:
                effects.end()
            self.serve()

    def serve(self) -> None:
        """Wake the clients that wait for the new data."""
        if len(self.engine.ready) != 0:
            self.engine.blocking.serve()
            self.engine.ctx.use(self.session)

    def step(self, row: Command | None, argv: Argv) -> None:
        """Run one command."""
        if row is not None and row.is_container and argv.n > 1:
            row = row.subcommands.get(argv[1].lower())
        if row is None or not row.takes(argv.n) or row.is_container:
            self.refuse(argv, "is not known here")
        else:
            self.act(row, argv)

    def act(self, row: Command, argv: Argv) -> None:
        """Run a command that is known."""
        out, engine = self.session.out, self.engine
        started = engine.started_us
        if started == 0:
            started = engine.ticker.us()
        try:
            row.handler(engine.ctx, argv)  # type: ignore[misc]
        except CommandError as error:
            out.clear()
            self.conflict(argv, error.text)
        else:
            out.clear()
            self.count(row, argv, started)

    def count(self, row: Command, argv: Argv, started_us: int) -> None:
        """Count the command in the statistics of this server."""
        engine = self.engine
        ended_us = engine.ticker.us()
        engine.started_us = ended_us
        engine.stats.commands += 1
        engine.call_counts.ran(row, ended_us - started_us)
        if ended_us - started_us >= engine.slow_us:
            slow_calls.note(engine, self.session, row, argv, ended_us - started_us)
        if engine.gate & IS_MONITORED:
            engine.monitors.feed(engine.wall_us(), self.session, row, argv)

    def conflict(self, argv: Argv, error: bytes) -> None:
        """A command that fails on the data here; normal where clients write too."""
        why = f"is answered with '{error.decode('utf-8', 'replace')}'"
        if self.engine.settings.replica_read_only:
            self.refuse(argv, why)
        else:
            self.leave_out(argv.list(), why)

    def refuse(self, argv: Argv, why: str) -> None:
        """A command that cannot run here: the link ends, unless it may be skipped."""
        words = argv.list() or [b""]
        if not self.skip_foreign:
            raise Diverged(
                f"the primary's command {shown_command(words)} {why}; "
                "'skip-foreign-types yes' leaves such commands out"
            )
        self.leave_out(words, why)

    def leave_out(self, words: list[bytes], why: str) -> None:
        """Skip this command; report the first one of each name."""
        name = words[0].decode("ascii", "backslashreplace").upper()
        if name not in self.left_out:
            self.news.append(f"{shown_command(words)} {why}")
        self.left_out[name] = self.left_out.get(name, 0) + 1
