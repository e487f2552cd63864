"""One run of a known script: KEYS, ARGV, and ``redis.call`` as in its Lua text.

    a script (known.py)                    a Run
      value = run.call(0, b"GET", ...)  -> the row of GET, its handler, its reply as a value
      return 1                          -> one reply

A script calls rows of the command table, which run in their own handlers.  So expiry, keyspace
events, WATCH and the records for AOF and replicas need no extra code.  All of it is one unit,
that of EVAL or of the EXEC around it.

Values are those of Lua, in Python: nil and false are None, numbers int or float, strings bytes, a
status is Status.  Errors name the script and its line, in Redis's words; for that, each call has
an index into ``Script.lines``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from forebay.commands.api.context import Context
from forebay.commands.api.spec import WRITE, Command
from forebay.errors import CommandError
from forebay.wire.argv import Argv, argv_of
from forebay.wire.resp_writer import RespWriter

NOT_WORDS = b"ERR Lua redis lib command arguments must be strings or integers"
READ_ONLY = b"ERR Write commands are not allowed from read-only scripts."


@dataclass(frozen=True, slots=True)
class Status:
    """A reply such as OK, which is no string."""

    text: bytes


Value = int | float | bytes | Status | list["Value"] | None


@dataclass(frozen=True, slots=True)
class Script:
    """A known script: the SHA1 of its text, its sender, its purpose, the lines of its calls."""

    sha: bytes
    title: str
    run: Callable[[Run], Value]
    #: The lines of the text that may fail, in the order in which ``run`` numbers them.
    lines: tuple[int, ...]


class Run:
    """One run of a script for one client."""

    def __init__(
        self, ctx: Context, script: Script, keys: list[bytes], args: list[bytes], read_only: bool
    ) -> None:
        self.ctx = ctx
        self.script = script
        self.keys = keys
        self.args = args
        self.read_only = read_only

    def key(self, i: int) -> bytes | None:
        """KEYS[i], which may be missing."""
        return self.keys[i - 1] if i <= len(self.keys) else None

    def arg(self, i: int) -> bytes | None:
        """ARGV[i], which may be missing."""
        return self.args[i - 1] if i <= len(self.args) else None

    def call(self, place: int, name: bytes, *words: Value) -> Value:
        """``redis.call(name, ...)`` on line ``lines[place]``."""
        row = self.ctx.services.executor.commands[name.lower()]
        argv = self._argv(place, name, words)
        refusal = self._refusal(row, argv)
        if refusal is not None:
            self.fail(place, refusal)
        answer = self.ctx.reply
        self.ctx.reply = reply = RespWriter(2, self.ctx.writer_pool)
        try:
            row.handler(self.ctx, argv)  # type: ignore[misc]
        except CommandError as error:
            self.fail(place, error.text)
        finally:
            self.ctx.reply = answer
        if self.ctx.session.tracked is not None:
            self.ctx.services.tracking.remember(self.ctx.session, row, argv)
        return _Parser(reply.take()).value()

    def _refusal(self, row: Command, argv: Argv) -> bytes | None:
        """Why the command does not run: the user may not, a script may not, or not now."""
        ctx = self.ctx
        refusal = ctx.services.access.refusal_in_script(ctx.session, row, argv)
        if refusal is None and self.read_only and row.flags & WRITE:
            refusal = READ_ONLY
        return refusal or ctx.services.executor.refusal(row, argv)

    def try_call(self, place: int, name: bytes, *words: Value) -> Value:
        """``redis.pcall``; its error is ignored."""
        try:
            return self.call(place, name, *words)
        except CommandError:
            return None

    def _argv(self, place: int, name: bytes, words: tuple[Value, ...]) -> Argv:
        texts = [name]
        for word in words:
            if isinstance(word, int | float):
                word = number_text(word)
            if not isinstance(word, bytes):
                self.fail(place, NOT_WORDS)
            texts.append(word)
        return argv_of(texts)

    def number(self, place: int, text: bytes | None, doing: bytes) -> float:
        """A string where a number is needed, as Lua converts it; ``doing`` names the operation."""
        value = to_number(text)
        if value is None:
            line = self.script.lines[place]
            self.fail(place, b"ERR user_script:%d: attempt to %b" % (line, doing))
        return value

    def fail(self, place: int, text: bytes) -> NoReturn:
        """End with an error of the script."""
        line = self.script.lines[place]
        raise CommandError(b"%b script: %b, on @user_script:%d." % (text, self.script.sha, line))


def to_number(text: bytes | None) -> float | None:
    """``tonumber``: decimal or hexadecimal, blanks around it allowed; None if it is no number."""
    if text is None or b"_" in text:
        return None
    word = text.strip().lower()
    digits = word.lstrip(b"+-")
    try:
        return float(int(word, 16)) if digits.startswith(b"0x") else float(word)
    except (ValueError, OverflowError):
        return None


def number_text(value: float) -> bytes:
    """A number as ``redis.call`` passes it on."""
    whole = value == value and abs(value) < 2.0**63 and value == int(value)
    return b"%d" % value if whole else b"%.17g" % value


def write_value(out: RespWriter, value: Value) -> None:
    """The reply for a script's value."""
    if value is None:
        out.null()
    elif isinstance(value, int | float):
        out.integer(int(value))
    elif isinstance(value, Status):
        out.status(value.text)
    elif isinstance(value, bytes):
        out.bulk(value)
    else:
        out.array(len(value))
        for item in value:
            write_value(out, item)


class _Parser:
    """Reads the reply of a called command, in RESP2 whichever protocol the client uses."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def value(self) -> Value:
        end = self.data.index(b"\r\n", self.at)
        kind, head = self.data[self.at : self.at + 1], self.data[self.at + 1 : end]
        self.at = end + 2
        if kind == b":":
            return int(head)
        if kind == b"+":
            return Status(head)
        if head == b"-1":
            return None
        if kind == b"$":
            self.at += int(head) + 2
            return self.data[end + 2 : self.at - 2]
        return [self.value() for _ in range(int(head))]
