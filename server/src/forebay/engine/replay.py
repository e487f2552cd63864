"""Replays an AOF: runs the commands of verified bytes, one after another, as fast as possible.

    AofReader (verified range of whole units)  -->  run()  -->  handlers  -->  the keyspace

A replay skips these steps, because the first run has decided them:
  1. gates, statistics, the slow log, MONITOR: no client sent these commands just now;
  2. effects and keyspace events: they would only repeat the AOF;
  3. expiry: the AOF has a DEL for each expired key;
  4. MULTI and EXEC: a range holds whole transactions, so their commands run directly.

An unsupported command, or one that fails, ends the replay: an AOF holds only commands that
succeeded once, so without it the data would be wrong.  If the operator says so, whole keys
of types that Redis has and Forebay has not are skipped: foreign.py.
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

#: An AOF may hold anything that was once accepted.
BULK_MAX = 1 << 40
#: Every reply that means "nothing was done" is at most this long.
SHORT_REPLY = 5
ADVICE = (
    "without it the data would be wrong. If a Redis wrote this AOF, BGREWRITEAOF there puts "
    "values in the place of commands"
)
LEAVE_OUT = "'skip-foreign-types yes' leaves such things out"


class Replayer:
    """Feeds the commands of an AOF to an engine; begin() before the first range, end() last."""

    def __init__(self, engine: Engine, skip_foreign: bool = False) -> None:
        self.engine = engine
        self.skip_foreign = skip_foreign
        self.session = Session(0, engine.keyspace.databases[0], engine.ctx.writer_pool)
        engine.access.set_free(self.session)
        self.session.is_replaying = True
        self.parser = RequestParser(Limits(max_bulk_len=BULK_MAX))
        self.multi: Command = engine.commands[b"multi"]
        self.exec: Command = engine.commands[b"exec"]
        #: SORT can make a list from a skipped value; None if the table does not have it.
        self.sort: Command | None = engine.commands.get(b"sort")
        self.foreign = ForeignKeys(engine.keyspace)
        self.commands = 0
        #: Where in the buffer the current or failed command began.
        self.at = 0
        self.recorded = False

    def begin(self) -> None:
        """Stop recording."""
        engine = self.engine
        self.recorded = engine.effects.enabled
        engine.effects.enabled = False
        engine.ctx.may_block = False

    def end(self) -> None:
        """Return the engine to its clients."""
        self.engine.effects.enabled = self.recorded
        self.engine.ctx.may_block = True
        self.engine.refresh_settings()

    def run(self, buf: bytes | bytearray, start: int, end: int, now_ms: int) -> None:
        """Run every command of buf[start:end], which holds whole commands."""
        ctx = self.engine.ctx
        ctx.now_ms = now_ms
        ctx.use(self.session)
        # Between two ranges an administrator may have sent a command, which resets this.
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

    # Unusual cases

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
        """A command that may have done nothing, because of a skipped key."""
        out = self.session.out
        reply = mem.to_bytes(out.p, 0, out.size)
        out.clear()
        if self.makes_way(row, argv.list(), reply):
            self.act(row, argv)
        else:
            self.commands += 1

    def makes_way(self, row: Command, words: list[bytes], reply: bytes) -> bool:
        """Whether placeholders made a command fail; they are removed now."""
        keys = [words[place] for place in row.keys.positions(words)]
        return self.foreign.make_way(self.session.db, words, keys, reply)

    def leave_out(self, words: list[bytes]) -> bool:
        """Whether a command was skipped, with the keys that it writes."""
        try:
            return self.foreign.leave_out(self.session.db, words)
        except CorruptDataError as error:
            raise CorruptDataError(f"the command {shown_command(words)}: {error}") from None

    def check_sort(self, argv: Argv) -> None:
        """See ForeignKeys.check_sort()."""
        words = argv.list()
        try:
            self.foreign.check_sort(self.session.db, words)
        except CorruptDataError as error:
            raise CorruptDataError(f"the command {shown_command(words)}: {error}") from None
