"""One selector of a user: the commands, keys and channels that it allows together.

    ~orders:* %R~prices &news +@stream -xtrim +config|get
    |                    |    |
    patterns             |    bits: a byte for each row of the command table; first arguments
                         channels

A user has a root selector, which its rules change, and others in parentheses.  A call is allowed
if one selector allows all of it.

For every command of a restricted user the server asks allows(): it looks at one byte of
``bits``, then compares the patterns with the bytes of the keys in place.  check() finds the
reason of a denial.

Rules
  1. ``bits`` and ``rules`` say the same: the rules, applied in order to nothing (-@all) or to
     everything (+@all), make the bits.  ``future`` says which of the two it was.
  2. A container's bit changes together with those of its subcommands.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.access.categories import Catalogue
from forebay.commands.access.keys import has_keys, needs_of
from forebay.commands.access.patterns import Pattern
from forebay.commands.api.spec import NO_AUTH, READ_KEY, WRITE_KEY, Command
from forebay.wire.argv import Argv

#: Why a call is denied; of several selectors the largest answer counts.
ALLOWED = 0
COMMAND = 1
KEY = 2
CHANNEL = 3

OPEN_TO_ALL = NO_AUTH

#: Commands with channels: whether they name patterns.  All arguments, or only the first (PUBLISH).
SUBSCRIBERS = {b"subscribe": False, b"ssubscribe": False, b"psubscribe": True}
PUBLISHERS = (b"publish", b"spublish")


class Selector:
    """Commands, keys and channels that belong together."""

    def __init__(self, catalogue: Catalogue, all_channels: bool) -> None:
        self.catalogue = catalogue
        self.all_commands = False
        self.all_keys = False
        self.all_channels = all_channels
        #: Whether commands that are not known yet are allowed: the rules began with +@all.
        self.future = False
        #: 1 at the number of each row that is allowed; empty as long as ``future`` alone decides.
        self.set_bits(bytearray())
        self.patterns: list[Pattern] = []
        self.channels: list[Pattern] = []
        #: Numbers of rows that are allowed with some first arguments only.
        self.first_args: dict[int, list[bytes]] = {}
        #: The rules about commands, in the form in which a user could give them again: b"+get",
        #: b"-@admin".
        self.rules: list[bytes] = []

    def copy(self) -> Selector:
        """A copy that allows the same."""
        twin = Selector(self.catalogue, self.all_channels)
        twin.all_commands, twin.all_keys = self.all_commands, self.all_keys
        twin.future = self.future
        twin.set_bits(bytearray(self.bits))
        twin.patterns = [Pattern(old.text, old.permissions) for old in self.patterns]
        twin.channels = list(self.channels)
        twin.first_args = {number: list(words) for number, words in self.first_args.items()}
        twin.rules = list(self.rules)
        return twin

    def set_bits(self, bits: bytearray) -> None:
        """Use this table of commands; its length does not change."""
        self.bits = bits
        self.p: mem.Source = bits
        self.size = len(bits)

    # Changing commands

    def set_all(self, allowed: bool) -> None:
        """+@all, -@all: forget all earlier rules about commands."""
        self.all_commands = self.future = allowed
        self.set_bits(bytearray())
        self.first_args.clear()
        self.rules.clear()

    def set_rows(self, rows: list[Command], allowed: bool, rule: bytes) -> None:
        """Allow or forbid commands, with their subcommands."""
        if not self.bits:
            self.set_bits(bytearray([self.future]) * self.catalogue.size)
        if not allowed:
            self.all_commands = False
        for row in rows:
            self.bits[row.number] = allowed
            self.first_args.pop(row.number, None)
            for sub in row.subcommands.values():
                self.bits[sub.number] = allowed
        self.note(rule, allowed)

    def add_first_arg(self, row: Command, word: bytes, rule: bytes) -> None:
        """Allow a command with this first argument."""
        words = self.first_args.setdefault(row.number, [])
        if word.lower() not in words:
            words.append(word.lower())
        self.note(rule, allowed=True)

    def note(self, rule: bytes, allowed: bool) -> None:
        """Keep the rule after all others; drop the rules that it overrides."""
        name = rule.lower()
        parts = name + b"|"
        self.rules = [
            old for old in self.rules if old[1:] != name and not old[1:].startswith(parts)
        ]
        self.rules.append((b"+" if allowed else b"-") + name)

    # Changing keys and channels

    def set_all_keys(self, allowed: bool) -> None:
        """``allkeys``, ``resetkeys``."""
        self.all_keys = allowed
        self.patterns = []

    def set_all_channels(self, allowed: bool) -> None:
        """``allchannels``, ``resetchannels``."""
        self.all_channels = allowed
        self.channels = []

    def add_pattern(self, text: bytes, permissions: int) -> None:
        """Add a pattern of keys, or more permissions for a pattern that is there."""
        for old in self.patterns:
            if old.text == text:
                old.permissions |= permissions
                return
        self.patterns.append(Pattern(text, permissions))

    def add_channel(self, text: bytes) -> None:
        """Add a pattern of channels."""
        if all(old.text != text for old in self.channels):
            self.channels.append(Pattern(text))

    # Asking

    @property
    def is_free(self) -> bool:
        """Whether everything is allowed."""
        return self.all_commands and self.all_keys and self.all_channels

    def allows(self, row: Command, argv: Argv) -> bool:
        """Whether a call is allowed; False if it needs a closer look."""
        if not self.has_bit(row) or (row.has_channels and not self.all_channels):
            return False
        keys = row.keys
        if self.all_keys:
            return True
        if not keys.is_plain:
            return self.fits_found(row, argv)
        at = keys.first
        if at == 0 or not self.fits(argv, at, keys.first_needs):
            return at == 0
        if keys.last != at:
            end = keys.end(argv.n)
            while at + keys.step < end:
                at += keys.step
                if not self.fits(argv, at, keys.other_needs):
                    return False
        return True

    def fits_found(self, row: Command, argv: Argv) -> bool:
        """The same for keys that a finder must look for."""
        for at, needs in needs_of(row, argv):
            if not self.fits(argv, at, needs):
                return False
        return True

    def has_bit(self, row: Command) -> bool:
        """Whether a command is allowed with any arguments."""
        if self.all_commands or row.flags & OPEN_TO_ALL:
            return True
        return row.number < self.size and self.p[row.number] == 1

    def fits(self, argv: Argv, i: int, needs: int) -> bool:
        """Whether argument i is a key for which the user has these permissions."""
        argv.check(i)
        patterns = self.patterns
        at = argv.w[2 * i]
        n = argv.w[2 * i + 1]
        for j in range(len(patterns)):
            pattern = patterns[j]
            if pattern.permissions & needs == needs and pattern.fits(argv.p, at, n):
                return True
        return False

    def check(self, row: Command, argv: Argv, blame: list[int]) -> int:
        """ALLOWED, or the kind of denial; for a key or channel ``blame`` gets its index."""
        if not self.runs(row, argv):
            return COMMAND
        if not self.all_keys and has_keys(row):
            for at, needs in needs_of(row, argv):
                if not self.fits(argv, at, needs):
                    blame[0] = at
                    return KEY
        if not self.all_channels and row.has_channels:
            for at in channels_of(row, argv):
                if not self.hears(argv[at], SUBSCRIBERS.get(row.name, False)):
                    blame[0] = at
                    return CHANNEL
        return ALLOWED

    def runs(self, row: Command, argv: Argv) -> bool:
        """Whether the command itself is allowed."""
        if self.has_bit(row):
            return True
        words = self.first_args.get(row.number, [])
        return len(argv) > 1 and argv[1].lower() in words

    def hears(self, channel: bytes, is_pattern: bool) -> bool:
        """Whether a channel is allowed; a pattern only if the rules have exactly this pattern."""
        return self.all_channels or is_heard(self.channels, channel, is_pattern)

    def reads_all_keys(self) -> bool:
        """Whether every key may be read."""
        every = (old for old in self.patterns if old.permissions & READ_KEY)
        return self.all_keys or any(old.text == b"*" for old in every)

    # Printing

    def commands_text(self) -> bytes:
        """The rules about commands, in the form in which a user could give them again."""
        return b" ".join([b"+@all" if self.future else b"-@all", *self.rules])

    def keys_text(self) -> bytes:
        """The patterns of keys as rules."""
        if self.all_keys:
            return b"~*"
        words = [SIGNS[old.permissions] + old.text for old in self.patterns]
        # In Redis no pattern may follow this one: it would not load such a file.
        return b" ".join(b"%RW~*" if word == b"~*" else word for word in words)

    def channels_text(self) -> bytes:
        """The patterns of channels as rules."""
        if self.all_channels:
            return b"&*"
        return b" ".join(b"&" + old.text for old in self.channels)

    def text(self) -> bytes:
        """All of it as rules."""
        reset = [] if self.all_channels else [b"resetchannels"]
        parts = [self.keys_text(), *reset, self.channels_text(), self.commands_text()]
        return b" ".join(part for part in parts if part)


SIGNS = {READ_KEY: b"%R~", WRITE_KEY: b"%W~", READ_KEY | WRITE_KEY: b"~"}


def channels_of(row: Command, argv: Argv) -> range:
    """The indexes of the channels in a call."""
    return range(1, 2 if row.name in PUBLISHERS else len(argv))


def is_heard(channels: list[Pattern], channel: bytes, is_pattern: bool) -> bool:
    """Whether one of the patterns allows a channel, or is equal to it."""
    for allowed in channels:
        if is_pattern and allowed.text == channel:
            return True
        if not is_pattern and allowed.fits_name(channel):
            return True
    return False
