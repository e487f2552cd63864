"""An AOF is run again: the commands of verified bytes, one after another, as fast as they go.

    AofReader (verified range of whole units)  -->  run()  -->  handlers  -->  the keyspace

What a replay leaves out, because the first run has settled it:
  1. gates, statistics, the slow log, MONITOR: nobody asked anything just now;
  2. effects and keyspace events: they would be the AOF itself again;
  3. expiry: the AOF says DEL where a key ran out of time;
  4. MULTI and EXEC: a range holds whole transactions, so their commands run as they come.

A command that this server does not have, or that it answers with an error, ends the replay:
an AOF holds only what was done once, so without it the data would be wrong.  Whole keys of
types that a Redis has and we do not can be left out, if the operator says so: foreign.py.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.session import Session
from forebay.commands.api.spec import Command
from forebay.engine.engine import Engine
from forebay.engine.foreign import ForeignKeys, foreign_kind, is_about_foreign, shown_command
from forebay.engine.payloads import BAD_BODY
from forebay.errors import CommandError, CorruptDataError
from forebay.wire.argv import Argv
from forebay.wire.request import Limits, RequestParser

#: An AOF may hold whatever was once accepted.
BULK_MAX = 1 << 40
#: No reply that says "nothing was done" is longer.
SHORT_REPLY = 5
ADVICE = (
    "without it the data would be wrong. If a Redis wrote this AOF, BGREWRITEAOF there puts "
    "values in the place of commands"
)
LEAVE_OUT = "'skip-foreign-types yes' leaves such things out"


class Replayer:
    """Feeds the commands of an AOF to an engine; begin() before the first range, end() at last."""

    def __init__(self, engine: Engine, skip_foreign: bool = False) -> None:
        self.engine = engine
        self.skip_foreign = skip_foreign
        self.session = Session(0, engine.keyspace.databases[0], engine.ctx.writer_pool)
        engine.access.set_free(self.session)
        self.session.is_replaying = True
        self.parser = RequestParser(Limits(max_bulk_len=BULK_MAX))
        self.multi: Command = engine.commands[b"multi"]
        self.exec: Command = engine.commands[b"exec"]
        #: None before a server that has it: SORT can make a list of a value that is left out.
        self.sort: Command | None = engine.commands.get(b"sort")
        self.foreign = ForeignKeys(engine.keyspace)
        self.commands = 0
        #: Where in the buffer the command began that is being run, or failed.
        self.at = 0
        self.recorded = False

    def begin(self) -> None:
        """From now on nothing is recorded."""
        engine = self.engine
        self.recorded = engine.effects.enabled
        engine.effects.enabled = False
        engine.ctx.may_block = False

    def end(self) -> None:
        """The engine is its clients' again."""
        self.engine.effects.enabled = self.recorded
        self.engine.ctx.may_block = True
        self.engine.refresh_settings()

    def run(self, buf: bytes | bytearray, start: int, end: int, now_ms: int) -> None:
        """Run every command of buf[start:end], which holds whole commands."""
        ctx = self.engine.ctx
        ctx.now_ms = now_ms
        ctx.use(self.session)
        # Between two ranges an administrator may have asked something: that brings it back.
        ctx.notify_flags = 0
        parser = self.parser
        parser.load(buf, start, end)
        self.at = parser.pos
        while parser.next():
            self.step(parser.argv)
            self.at = parser.pos
        if self.at != end:
            raise CorruptDataError("a command that is cut off")

    def step(self, argv: Argv) -> None:
        """Run one command."""
        row = self.engine.names.find(argv) if argv.n > 0 else None
        if row is not None and row.is_container:
            row = self.subcommand(row, argv)
        if row is None or not row.takes(argv.n):
            self.refuse(argv)
        elif row is not self.multi and row is not self.exec:
            if self.skip_foreign and row is self.sort:
                self.check_sort(argv)
            self.act(row, argv)

    def act(self, row: Command, argv: Argv) -> None:
        """Run a command that is known."""
        out = self.session.out
        try:
            row.handler(self.engine.ctx, argv)  # type: ignore[misc]
        except CommandError as error:
            self.fail(row, argv, error.text)
        else:
            if self.skip_foreign and 0 < out.size <= SHORT_REPLY:
                self.look_again(row, argv)
            else:
                out.clear()
                self.commands += 1

    def subcommand(self, row: Command, argv: Argv) -> Command | None:
        """The row of XGROUP CREATE and the like."""
        return row.subcommands.get(argv[1].lower()) if argv.n > 1 else None

    # What is out of the ordinary

    def refuse(self, argv: Argv) -> None:
        """A command that this server does not have, or not in this form."""
        words = argv.list() or [b""]
        if not self.skip_foreign or not self.leave_out(words):
            text = f"the command {shown_command(words)} is not known here"
            raise CorruptDataError(f"{text}; {LEAVE_OUT if foreign_kind(words) else ADVICE}")

    def fail(self, row: Command, argv: Argv, text: bytes) -> None:
        """A command that was answered with an error."""
        words = argv.list()
        self.session.out.clear()
        is_foreign = is_about_foreign(words, text == BAD_BODY)
        if self.skip_foreign and self.makes_way(row, words, text):
            self.act(row, argv)
        elif not (self.skip_foreign and is_foreign and self.leave_out(words)):
            said = text.decode("utf-8", "backslashreplace")
            refusal = f"the command {shown_command(words)} is answered with '{said}'"
            raise CorruptDataError(f"{refusal}; {LEAVE_OUT if is_foreign else ADVICE}")

    def look_again(self, row: Command, argv: Argv) -> None:
        """A command that may have done nothing, because of a key that is left out."""
        out = self.session.out
        reply = mem.to_bytes(out.p, 0, out.size)
        out.clear()
        if self.makes_way(row, argv.list(), reply):
            self.act(row, argv)
        else:
            self.commands += 1

    def makes_way(self, row: Command, words: list[bytes], reply: bytes) -> bool:
        """Whether keys that are left out stood in the way of a command, and are gone now."""
        keys = [words[place] for place in row.keys.positions(words)]
        return self.foreign.make_way(self.session.db, words, keys, reply)

    def leave_out(self, words: list[bytes]) -> bool:
        """Whether a command was left out, with the keys that it writes."""
        try:
            return self.foreign.leave_out(self.session.db, words)
        except CorruptDataError as error:
            raise CorruptDataError(f"the command {shown_command(words)}: {error}") from None

    def check_sort(self, argv: Argv) -> None:
        """See there."""
        words = argv.list()
        try:
            self.foreign.check_sort(self.session.db, words)
        except CorruptDataError as error:
            raise CorruptDataError(f"the command {shown_command(words)}: {error}") from None
