"""How SCAN and SSCAN walk: cursors, options, and the guarantee "at least once".

The walk goes over a dense list from its top down to 0; the cursor is the number
of items not visited yet.

    order   [ a  b  c  d  e  f  g ]        SCAN 0 COUNT 3 -> cursor 4: g f e
                         ^ cursor 4        SCAN 4 COUNT 3 -> cursor 1: d c b

In such a list the last item takes the place of a removed one, so an index only
ever goes down: unvisited items stay below the cursor, and visited ones may be
returned again.  New items are added on top, above the walk.  Hence each item that
exists from the first call to the last is returned at least once, a full walk
visits each item once, and the server remembers nothing between two calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from forebay import mem
from forebay.commands.api.args import Args
from forebay.commands.api.glob import Glob
from forebay.errors import SYNTAX, CommandError

INVALID_CURSOR = b"ERR invalid cursor"
NO_VALUES = b"ERR NOVALUES option can only be used in HSCAN"
CURSOR_MAX = mem.U64_MAX
I64_SIZE = 1 << 63
_CURSOR = re.compile(rb"[ \t\n\v\f\r]*([+-]?)([0-9]+)(?:\0|\Z)")
DEFAULT_COUNT = 10

Test = Callable[[bytes], bool]


def any_name(name: bytes) -> bool:
    """A pattern that matches everything."""
    return True


def matcher(pattern: bytes) -> Test:
    """Whether a name matches a pattern."""
    return any_name if pattern == b"*" else Glob(pattern).matches


def walk(order: list[bytes], cursor: int, count: int) -> tuple[int, list[bytes]]:
    """The next cursor, and the items between it and this one."""
    top = min(cursor, len(order)) if cursor else len(order)
    rest = max(top - count, 0)
    some = order[rest:top]
    some.reverse()
    return rest, some


def read_cursor(text: bytes) -> int:
    """An unsigned number as C's strtoull() reads it; plain negative numbers are refused."""
    found = _CURSOR.match(text)
    if found is None:
        raise CommandError(INVALID_CURSOR)
    is_negative, value = found[1] == b"-", int(found[2])
    is_plain = is_negative and value <= I64_SIZE and text == b"-%d" % value
    if value > CURSOR_MAX or (is_plain and value > 0):
        raise CommandError(INVALID_CURSOR)
    return -value & CURSOR_MAX if is_negative else value


@dataclass(slots=True)
class ScanOptions:
    """[MATCH pattern] [COUNT count] [TYPE type]"""

    fits: Test = any_name
    count: int = DEFAULT_COUNT
    wanted: bytes | None = None

    @classmethod
    def read(cls, args: Args, with_type: bool) -> ScanOptions:
        """Take all arguments that are left."""
        options = cls()
        while args.more():
            if args.word(b"COUNT"):
                options.count = args.integer()
                if options.count < 1:
                    raise CommandError(SYNTAX)
            elif args.word(b"MATCH"):
                options.fits = matcher(args.next())
            elif with_type and args.word(b"TYPE"):
                options.wanted = args.next().lower()
            elif args.word(b"NOVALUES"):
                raise CommandError(NO_VALUES)
            else:
                raise CommandError(SYNTAX)
        return options
