"""The options of FB.COLUMNS after the range: COUNT, IDS, TIMES, FIELDS, KINDS, in any order."""

from __future__ import annotations

from forebay.commands.streams.parsing import integer
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

FIRST_OPTION = 4
#: The kinds of columns, and their letters.
TEXTS, WHOLES, DOUBLES = 0, 1, 2
LETTERS = b"tid"


class ColumnsOptions:
    """The options: COUNT (-1: none), IDS, TIMES, FIELDS (not given: all, as a map), KINDS."""

    def __init__(self) -> None:
        self.count = -1
        self.with_ids = False
        self.with_times = False
        self.as_map = True
        self.names: list[bytes] = []
        self.kinds: list[int] = []

    def kinds_of(self, letters: bytes) -> list[int]:
        """The kinds of the columns of the fields."""
        if len(letters) != len(self.names) or not set(letters) <= set(LETTERS):
            raise CommandError(b"ERR KINDS needs a letter for each field: t, i or d")
        return [LETTERS.index(letter) for letter in letters]

    def read(self, argv: Argv, at: int) -> int:
        """One option; the index after it."""
        if argv.word(at, b"IDS"):
            self.with_ids = True
            return at + 1
        if argv.word(at, b"TIMES"):
            self.with_times = True
            return at + 1
        if at + 1 >= argv.n:
            raise CommandError(SYNTAX)
        if argv.word(at, b"COUNT"):
            self.count = max(0, integer(argv, at + 1))
            return at + 2
        if argv.word(at, b"FIELDS"):
            number = integer(argv, at + 1)
            if number < 0 or number > argv.n - at - 2:
                raise CommandError(b"ERR FIELDS needs a number and as many names")
            self.as_map = False
            self.names = [argv[i] for i in range(at + 2, at + 2 + number)]
            if len(set(self.names)) < number:
                raise CommandError(b"ERR FIELDS names a field twice")
            return at + 2 + number
        raise CommandError(SYNTAX)


def parse_columns(argv: Argv) -> ColumnsOptions:
    """All words after the range."""
    options = ColumnsOptions()
    letters: bytes | None = None
    at = FIRST_OPTION
    while at < argv.n:
        if argv.word(at, b"KINDS") and at + 1 < argv.n:
            letters = argv[at + 1]
            at += 2
        else:
            at = options.read(argv, at)
    names = options.names
    options.kinds = options.kinds_of(letters if letters is not None else b"t" * len(names))
    return options
