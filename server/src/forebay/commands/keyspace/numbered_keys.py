"""Keys with a count in front of them: ``numkeys key [key ...]``."""

from __future__ import annotations

from forebay.commands.api.args import Args
from forebay.commands.api.spec import KeyFinder, Words
from forebay.commands.keyspace.value_ops import integer_of, positive
from forebay.errors import SYNTAX, CommandError

NUMKEYS_NOT_POSITIVE = b"ERR numkeys should be greater than 0"


def read_numbered_keys(args: Args, too_many: bytes = SYNTAX) -> list[bytes]:
    """Take the count and the keys; an error if there are fewer arguments than that."""
    count = positive(args.next(), NUMKEYS_NOT_POSITIVE)
    if count > args.left():
        raise CommandError(too_many)
    return [args.next() for _ in range(count)]


def numbered_keys_at(place: int) -> KeyFinder:
    """The positions of the keys if the count is the argument at this index."""

    def find(argv: Words) -> list[int]:
        count = integer_of(argv[place])
        if not 0 < count < len(argv) - place:
            return []
        return list(range(place + 1, place + 1 + count))

    return find
