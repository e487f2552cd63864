"""The configuration of one server: read at start, queried and changed while it runs.

    forebay serve [file] [--directive word ...] [-]
         file, standard input (-), then the options: a later line wins

A directive that this server acts upon lives in an attribute of ``settings``; an
inert one lives in ``inert``.  Both are described by rows of one shape, so
everything below treats them alike.

Rules
  1. A wrong line never starts a server half configured: load() raises
     ConfigError, which names file and line.
  2. CONFIG SET is all or nothing: every value is checked before the first is
     stored, and if a listener refuses one, all are put back.
  3. Code that must act on a change (open another port, resize a log) registers a
     listener; all other code just reads ``settings``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from forebay.commands.api.glob import Glob
from forebay.commands.api.settings import Settings
from forebay.errors import CommandError, ConfigError
from forebay.server.config import rewrite, user_lines
from forebay.server.config.inert import INERT
from forebay.server.config.kinds import quoted
from forebay.server.config.nearest import SHORT, did_you_mean, nearest
from forebay.server.config.redis_conf import Line, parse_lines, read_text
from forebay.server.config.refused import REFUSED
from forebay.server.config.rewrite import FileLines
from forebay.server.config.row import Directive
from forebay.server.config.table import HONOURED
from forebay.server.config.user_lines import UserLine

#: Called with the new value after it was stored; raises ConfigError to refuse it.
Listener = Callable[[Any], None]

#: Seconds and changes: the save points of Redis if its configuration names none.
REDIS_SAVE_POINTS = ((3600, 1), (300, 100), (60, 10000))

ROWS: dict[str, Directive] = {}
#: Names that CONFIG GET answers but does not list.
HIDDEN: set[str] = set()
for _row in (*HONOURED, *INERT):
    for _name in filter(None, (_row.name, _row.alias, _row.valkey)):
        ROWS[_name] = _row
        if _row.hidden or _name == _row.valkey:
            HIDDEN.add(_name)


class Config:
    """All directives of one server and the file they came from."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings if settings is not None else Settings()
        self.inert: dict[str, Any] = {
            row.name: row.kind.parse(_words(row, row.default), None) for row in INERT
        }
        #: The absolute path of the file, empty if there was none.
        self.path = ""
        #: The users that lines declare, and the users as they are now: lines as in ACL LIST.
        self.user_lines: list[UserLine] = []
        self.users_now: Callable[[], list[bytes]] | None = None
        #: Directives read so far; a later line of some kinds adds to an earlier one.
        self._seen: set[str] = set()
        self._listeners: dict[str, list[Listener]] = {}

    # -- Reading a configuration ------------------------------------------------------------

    @classmethod
    def load(cls, argv: Sequence[str] = ()) -> Config:
        """The configuration that a command line asks for; raises ConfigError."""
        config = cls()
        words = list(argv)
        if words and not words[0].startswith("-"):
            config._load_file(words.pop(0))
        options = [word for word in words if word != "-"]
        if len(options) != len(words):
            config.load_text(sys.stdin.read(), "standard input")
        for line in _option_lines(options):
            config.take(line)
        config.save_without_aof()
        return config

    def save_without_aof(self) -> None:
        """A stock redis.conf turns the AOF off and relies on save points that it does not name."""
        if not self.settings.appendonly and "save" not in self._seen:
            self.settings.save_points = REDIS_SAVE_POINTS

    def _load_file(self, path: str) -> None:
        try:
            text = read_text(path)
        except OSError as error:
            hint = did_you_mean(_instead_of_file(path))
            raise ConfigError(f"can't open config file '{path}': {error.strerror}{hint}") from error
        self.path = str(Path(path).absolute())
        self.load_text(text, path)

    def load_text(self, text: str, source: str) -> None:
        """Take all lines of a configuration file."""
        for line in parse_lines(text, source):
            self.take(line)

    def take(self, line: Line) -> None:
        """Take one line; raises ConfigError that names it."""
        refusal = REFUSED.get(line.name)
        if refusal is not None and refusal.applies_to(" ".join(line.words)):
            raise line.error(str(refusal))
        if line.name == "user":
            self.user_lines.append(user_lines.read(line, self.user_lines))
            return
        row = ROWS.get(line.name)
        if row is None:
            dashes = "--" if line.text.startswith("--") else ""
            known = nearest(line.name, ROWS)
            hint = did_you_mean(dashes + known if known else "")
            raise line.error("Bad directive or wrong number of arguments" + hint)
        words = _split(row, line.words)
        if row.kind.adds_up and row.name in self._seen and any(words):
            words = [*_words(row, self.text(row)), *words]
        self._seen.add(row.name)
        try:
            self._store(row, row.kind.parse(words, self.value(row)))
        except ValueError as error:
            raise line.error(str(error)) from error

    def warnings(self) -> list[str]:
        """Directives without effect: one sentence about all inert directives that were set, and
        more about those that users of Redis may rely on.
        """
        default = Config()
        names = [row.name for row in INERT if self.value(row) != default.value(row)]
        found = []
        if names:
            found.append("accepted without effect (see docs/configuration.md): " + ", ".join(names))
        return found + self.eviction_warnings()

    def eviction_warnings(self) -> list[str]:
        """The configuration asks for eviction: say that nothing is evicted."""
        settings = self.settings
        if not settings.maxmemory or settings.maxmemory_policy == "noeviction":
            return []
        return [
            f"NOTHING IS EVICTED, although maxmemory-policy is {settings.maxmemory_policy}: when "
            f"{settings.maxmemory} bytes (maxmemory) are in use, writes are refused with OOM. Trim "
            "streams (XADD with MAXLEN or MINID, XTRIM) and let keys expire; maxmemory-policy "
            "noeviction turns this warning off"
        ]

    # -- Values -----------------------------------------------------------------------------

    def value(self, row: Directive) -> Any:
        """The value in force."""
        if row.attribute:
            return getattr(self.settings, row.attribute)
        return self.inert[row.name]

    def text(self, row: Directive) -> str:
        """The value in force as CONFIG GET prints it."""
        return row.kind.show(self.value(row))

    def _store(self, row: Directive, value: Any) -> None:
        if row.attribute:
            setattr(self.settings, row.attribute, value)
        else:
            self.inert[row.name] = value

    def on_change(self, name: str, listener: Listener) -> None:
        """Call ``listener`` with the new value whenever CONFIG SET changes the directive."""
        self._listeners.setdefault(name, []).append(listener)

    # -- The CONFIG command -----------------------------------------------------------------

    def get(self, patterns: list[bytes]) -> dict[bytes, bytes]:
        """Name and value of each directive that one of the patterns matches."""
        globs = [Glob(pattern, nocase=True) for pattern in patterns]
        exact = {pattern.lower() for pattern in patterns}
        return {
            name.encode(): self.text(row).encode("utf-8", "surrogateescape")
            for name, row in ROWS.items()
            if (name.encode() in exact if name in HIDDEN else _matches(globs, name))
        }

    def set(self, pairs: list[tuple[bytes, bytes]], local: bool) -> None:
        """Change all or nothing; raises CommandError with the words of Redis."""
        rows = [_known(name) for name, _ in pairs]
        changes: list[tuple[Directive, str, Any]] = []
        for row, (raw, word) in zip(rows, pairs, strict=True):
            name = raw.decode("utf-8", "surrogateescape")
            if not row.mutable:
                raise _failed(name, "can't set immutable config")
            if row.protected and not self._may_set_protected(local):
                raise _failed(name, "can't set protected config")
            if any(other is row for other, _, _ in changes):
                raise _failed(name, "duplicate parameter")
            words = _split(row, (word.decode("utf-8", "surrogateescape"),))
            refusal = REFUSED.get(row.name)
            if refusal is not None and refusal.applies_to(" ".join(words)):
                raise _failed(name, str(refusal))
            try:
                changes.append((row, name, row.kind.parse(words, self.value(row))))
            except ValueError as error:
                raise _failed(name, str(error)) from None
        self._change(changes)

    def _change(self, changes: list[tuple[Directive, str, Any]]) -> None:
        old = [(row, self.value(row)) for row, _, _ in changes]
        for row, _, value in changes:
            self._store(row, value)
        for done, (row, name, value) in enumerate(changes):
            try:
                self._tell(row, value)
            except ConfigError as error:
                for other, before in old:
                    self._store(other, before)
                for other, before in old[:done]:
                    with suppress(ConfigError):
                        self._tell(other, before)
                raise _failed(name, str(error)) from None

    def _tell(self, row: Directive, value: Any) -> None:
        for listener in self._listeners.get(row.name, ()):
            listener(value)

    def _may_set_protected(self, local: bool) -> bool:
        allowed = self.settings.enable_protected_configs
        return allowed == "yes" or (allowed == "local" and local)

    def rewrite(self) -> None:
        """Bring the file in line with the values in force, keeping comments and order."""
        if not self.path:
            raise CommandError(b"ERR The server is running without a config file")
        try:
            text = self.rewritten(read_text(self.path))
            rewrite.replace_file(self.path, text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            reason = (error.strerror or "").encode()
            raise CommandError(b"ERR Rewriting config file: " + reason) from None

    def rewritten(self, text: str) -> str:
        """The text of a file, changed so that loading it gives the values in force."""
        lines = FileLines(text, self.path or "config")
        for name, places in lines.directives.items():
            row = ROWS.get(name)
            if row is not None and self._alone(lines.parsed(places)).value(row) != self.value(row):
                lines.replace(places, _file_lines(row, self.value(row)))
        loaded = Config()
        loaded.load_text(lines.text(), self.path or "config")
        self._rewrite_users(lines, loaded)
        for row in {id(row): row for row in ROWS.values()}.values():
            if loaded.value(row) != self.value(row):
                lines.append(_file_lines(row, self.value(row)))
        return lines.text()

    def _rewrite_users(self, lines: FileLines, loaded: Config) -> None:
        """Bring the lines of users up to date; with an ACL file, they are dropped."""
        now = [] if self.users_now is None else self.users_now()
        places = lines.directives.get("user", [])
        if self.settings.aclfile or self.users_now is None:
            wanted: list[str] = []
        elif user_lines.users_of(loaded.settings, loaded.user_lines).lines() == now:
            return
        else:
            wanted = user_lines.as_lines(now)
        if places:
            lines.replace(places, wanted)
        elif wanted:
            lines.append(wanted)

    @staticmethod
    def _alone(lines: Iterable[Line]) -> Config:
        config = Config()
        for line in lines:
            config.take(line)
        return config


def _matches(globs: Sequence[Glob], name: str) -> bool:
    return any(glob.matches(name.encode()) for glob in globs)


def _instead_of_file(word: str) -> str:
    """What the user may have meant by a file that does not exist."""
    if word.isdigit():
        return f"--port {word}"
    return f"--{word}" if word in ROWS else ""


def _instead_of_option(word: str) -> str:
    """What the user may have meant by a word that is no option."""
    bare = word.lstrip("-")
    name = SHORT.get(bare, bare)
    return f"--{name}" if name in ROWS else ""


def _known(name: bytes) -> Directive:
    row = ROWS.get(name.decode("utf-8", "surrogateescape").lower())
    if row is None:
        shown = b"ERR Unknown option or number of arguments for CONFIG SET - '%s'" % name
        raise CommandError(shown)
    return row


def _failed(name: str, reason: str) -> CommandError:
    text = f"ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}"
    return CommandError(text.encode("utf-8", "surrogateescape"))


def _words(row: Directive, text: str) -> list[str]:
    """A value's text as the words of a line."""
    return text.split() if row.kind.many else [text]


def _split(row: Directive, words: Sequence[str]) -> list[str]:
    """The words of a line; a single word that holds a whole list is split."""
    if row.kind.many and len(words) == 1:
        return words[0].split() or [""]
    return list(words)


def _file_lines(row: Directive, value: Any) -> list[str]:
    return [f"{row.name} {words}" for words in row.kind.lines(value)]


def _option_lines(words: Sequence[str]) -> Iterable[Line]:
    """The options ``--name word ...`` as lines."""
    at = 0
    while at < len(words):
        if not words[at].startswith("--"):
            hint = did_you_mean(_instead_of_option(words[at]))
            raise ConfigError(f"command line: '{words[at]}': a directive must start with --{hint}")
        end = at + 1
        while end < len(words) and not words[end].startswith("--"):
            end += 1
        name, equals, value = words[at][2:].partition("=")
        name = name.lower()
        if equals:
            hint = did_you_mean(f"--{nearest(name, ROWS) or name} {value}")
            raise ConfigError(
                f"command line: '{words[at]}': write a space before the value, not ={hint}"
            )
        text = " ".join(words[at:end])
        if name == "include":
            quoted_names = " ".join(quoted(word) for word in words[at + 1 : end])
            yield from parse_lines(f"include {quoted_names}", "command line")
        else:
            yield Line(name, tuple(words[at + 1 : end]), "command line", text)
        at = end
