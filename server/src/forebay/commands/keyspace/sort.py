"""SORT and SORT_RO: the elements of a list or set in order, or values that they lead to.

    SORT key [BY pattern] [LIMIT offset count] [GET pattern ...] [ASC|DESC] [ALPHA]
             [STORE destination]

    elements --weight--> sorted --LIMIT--> --GET--> the answer, or the stored list

A pattern names a key: its first ``*`` is replaced by the element.  ``GET #`` is the
element itself.  ``key->field`` means a field of a hash; there are no hashes, so it
finds nothing.  With a BY pattern without ``*`` nothing is sorted.

Rules
  1. Order is by weight as a number (an element without one counts as 0), then by
     the element; with ALPHA by the weight's bytes, those without one first.
  2. A set has no order: if it is stored without sorting, its members are sorted by
     bytes, so that AOF and replicas store the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.notify_flags import NOTIFY_LIST
from forebay.commands.api.spec import DENYOOM, MOVABLEKEYS, READONLY, WRITE, Command, Keys, Words
from forebay.commands.keyspace.value_ops import read, store_result
from forebay.core.elements import Elements
from forebay.core.members import Members
from forebay.errors import SYNTAX, WRONGTYPE, CommandError
from forebay.wire.argv import Argv

NOT_A_SCORE = b"ERR One or more scores can't be converted into double"
DENIED = b"ERR %b option of SORT denied due to insufficient ACL permissions."
ITSELF = b"#"
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf(inity)?)", re.IGNORECASE)


@dataclass(slots=True)
class Sorting:
    """The options of a call."""

    by: bytes | None = None
    gets: list[bytes] = field(default_factory=list)
    offset: int = 0
    count: int = -1
    descending: bool = False
    alpha: bool = False
    destination: bytes | None = None

    @property
    def is_unsorted(self) -> bool:
        """Whether the elements keep their present order."""
        return self.by is not None and b"*" not in self.by


def sort(ctx: Context, argv: Argv) -> None:
    """SORT key [options]."""
    asked = _read_options(Args(argv, 2), may_store=True, may_look_up=_may_look_up(ctx, argv))
    _sort(ctx, argv, asked)


def sort_ro(ctx: Context, argv: Argv) -> None:
    """SORT_RO key [options]: like SORT without STORE."""
    asked = _read_options(Args(argv, 2), may_store=False, may_look_up=_may_look_up(ctx, argv))
    _sort(ctx, argv, asked)


def _may_look_up(ctx: Context, argv: Argv) -> bool:
    """Whether the user may read every key; BY and GET lead to keys that are not in the call."""
    user = ctx.session.user
    row = ctx.services.executor.commands[argv[0].lower()]
    return user.is_free or user.reads_all_keys(row, argv)


def _read_options(args: Args, may_store: bool, may_look_up: bool) -> Sorting:
    asked = Sorting()
    while args.more():
        if args.word(b"ASC"):
            asked.descending = False
        elif args.word(b"DESC"):
            asked.descending = True
        elif args.word(b"ALPHA"):
            asked.alpha = True
        elif args.left() >= 3 and args.word(b"LIMIT"):
            asked.offset, asked.count = args.integer(), args.integer()
        elif may_store and args.word(b"STORE"):
            asked.destination = args.next()
        elif args.word(b"BY"):
            asked.by = args.next()
            _check_look_up(may_look_up or asked.is_unsorted, b"BY")
        elif args.word(b"GET"):
            asked.gets.append(args.next())
            _check_look_up(may_look_up, b"GET")
        else:
            raise CommandError(SYNTAX)
    return asked


def _check_look_up(allowed: bool, option: bytes) -> None:
    if not allowed:
        raise CommandError(DENIED % option)


def _sort(ctx: Context, argv: Argv, asked: Sorting) -> None:
    value = read(ctx, argv[1])
    if value is not None and not isinstance(value, (Elements, Members)):
        raise CommandError(WRONGTYPE)
    chosen = _limited(_in_order(ctx, value or Elements(), asked), asked)
    if asked.destination is None:
        found = _looked_up(ctx, chosen, asked.gets)
        ctx.reply.array(len(found))
        for item in found:
            ctx.reply.value(item)
    else:
        stored = Elements(item or b"" for item in _looked_up(ctx, chosen, asked.gets))
        store_result(ctx, argv, asked.destination, stored, NOTIFY_LIST, b"sortstore")


def _in_order(ctx: Context, value: Elements | Members, asked: Sorting) -> list[bytes]:
    """All elements, in the requested order."""
    elements = list(value)
    by, alpha = asked.by, asked.alpha
    if asked.is_unsorted and isinstance(value, Members) and asked.destination is not None:
        by, alpha = None, True
    elif asked.is_unsorted:
        if asked.descending and isinstance(value, Elements):
            elements.reverse()
        return elements
    if by is None and alpha:
        return sorted(elements, reverse=asked.descending)
    weights = elements if by is None else [_lookup(ctx, by, element) for element in elements]
    if alpha:
        # Equal elements keep their order.
        order = sorted(
            range(len(elements)),
            key=lambda i: (weights[i] is not None, weights[i] or b""),
            reverse=asked.descending,
        )
        return [elements[i] for i in order]
    pairs = zip(map(_score, weights), elements, strict=True)
    return [element for _, element in sorted(pairs, reverse=asked.descending)]


def _score(weight: bytes | None) -> float:
    """A weight as a number; a missing or empty one is 0."""
    if not weight:
        return 0.0
    text = weight.partition(b"\0")[0]
    if text and NUMBER.fullmatch(text) is None:
        raise CommandError(NOT_A_SCORE)
    return float(text or 0)


def _limited(elements: list[bytes], asked: Sorting) -> list[bytes]:
    """The part that LIMIT selects; a negative count means all."""
    start = max(asked.offset, 0)
    end = len(elements) if asked.count < 0 else start + asked.count
    return elements[start:end]


def _looked_up(ctx: Context, elements: list[bytes], gets: list[bytes]) -> list[bytes | None]:
    """The values that GET leads to; without GET the elements themselves."""
    if not gets:
        return [*elements]
    return [_lookup(ctx, pattern, element) for element in elements for pattern in gets]


def _lookup(ctx: Context, pattern: bytes, element: bytes) -> bytes | None:
    """The string that a pattern leads to."""
    if pattern == ITSELF:
        return element
    head, star, tail = pattern.partition(b"*")
    if not star:
        return None
    key_tail, arrow, hash_field = tail.partition(b"->")
    is_of_hash = bool(arrow and hash_field)
    value = read(ctx, head + element + (key_tail if is_of_hash else tail))
    if is_of_hash or not isinstance(value, (bytes, bytearray)):
        return None
    return bytes(value)


_SKIPPED = {b"LIMIT": 2, b"GET": 1, b"BY": 1}


def sort_keys(argv: Words) -> list[int]:
    """The key, and the destination if there is one (the last counts)."""
    stored: list[int] = []
    at = 2
    while at < len(argv):
        word = argv[at].upper()
        if word == b"STORE" and at + 1 < len(argv):
            stored = [at + 1]
        at += 1 + _SKIPPED.get(word, word == b"STORE")
    return [1, *stored]


def first_key(argv: Words) -> list[int]:
    """The key of SORT_RO; the keys that BY and GET lead to are not in the call."""
    return [1]


_OPTIONS = "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC]"
_CATEGORIES = "@set @sortedset @list @slow @dangerous"

ROWS = [
    Command(
        name="sort",
        handler=sort,
        arity=-2,
        flags=WRITE | DENYOOM | MOVABLEKEYS,
        categories=f"@write {_CATEGORIES}",
        keys=Keys(1, 1, 1, "RO ACCESS; RO ACCESS; OW UPDATE", finder=sort_keys),
        since="1.0.0",
        summary="The elements of a list or set in order, answered or stored.",
        syntax=f"{_OPTIONS} [ALPHA] [STORE destination]",
    ),
    Command(
        name="sort_ro",
        handler=sort_ro,
        arity=-2,
        flags=READONLY | MOVABLEKEYS,
        categories=f"@read {_CATEGORIES}",
        keys=Keys(1, 1, 1, "RO ACCESS; RO ACCESS", finder=first_key),
        since="7.0.0",
        summary="The elements of a list or set in order.",
        syntax=f"{_OPTIONS} [ALPHA]",
    ),
]
