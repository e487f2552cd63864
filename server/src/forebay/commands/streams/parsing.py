"""Parsing of arguments that many stream commands share.

    XCLAIM orders workers alice 0 1526919030474-0
           key    group           strict ID

Rules
  1. `group_of` may return None; `need_group` raises the error that clients expect.
  2. Names in error texts go through `shown`; the reply writer handles line ends in
     them.
"""

from __future__ import annotations

from forebay.commands.api.args import shown
from forebay.commands.api.context import Context
from forebay.core import ids
from forebay.core.group import Group
from forebay.core.stream import Stream
from forebay.core.trim import ACKED, DELREF, KEEPREF, NO_POLICY
from forebay.errors import INVALID_ID, NOT_AN_INTEGER, SYNTAX, CommandError
from forebay.wire.argv import Argv

BAD_NUMIDS = b"ERR Number of IDs must be a positive integer"
NUMIDS_MISMATCH = b"ERR The `numids` parameter must match the number of arguments"


def integer(argv: Argv, i: int, error: bytes = NOT_AN_INTEGER) -> int:
    """Argument i as a signed 64-bit number, or this error."""
    ok, value = argv.integer(i)
    if not ok:
        raise CommandError(error)
    return value


def strict_id(argv: Argv, i: int) -> tuple[int, int]:
    """Argument i as an ID, complete or without a sequence."""
    ok, ms, seq = ids.parse(argv.p, argv.w[2 * i], argv.w[2 * i + 1], 0)
    if not ok:
        raise CommandError(INVALID_ID)
    return ms, seq


def parse_ids(argv: Argv, first: int, end: int) -> None:
    """Raise if any of the arguments from ``first`` up to ``end`` is not an ID."""
    for i in range(first, end):
        ok, _, _ = ids.parse(argv.p, argv.w[2 * i], argv.w[2 * i + 1], 0)
        if not ok:
            raise CommandError(INVALID_ID)


def parse_delete(argv: Argv, at: int) -> tuple[int, int, int]:
    """``[KEEPREF|DELREF|ACKED] IDS numids id ...`` from ``at`` on: policy, first ID, how many.

    The minimum number of words rules out a policy alone, so there are IDs, or a syntax
    error.
    """
    policy, first, numids = NO_POLICY, 0, 0
    while at < argv.n:
        word_policy = policy_word(argv, at)
        if word_policy != NO_POLICY and policy == NO_POLICY:
            policy = word_policy
            at += 1
        elif at + 1 < argv.n and argv.word(at, b"IDS"):
            ok, numids = argv.integer(at + 1)
            if not ok or numids < 1:
                raise CommandError(BAD_NUMIDS)
            if numids > argv.n - at - 2:
                raise CommandError(NUMIDS_MISMATCH)
            first = at + 2
            at = first + numids
        else:
            raise CommandError(SYNTAX)
    return (policy if policy != NO_POLICY else KEEPREF), first, numids


def policy_word(argv: Argv, i: int) -> int:
    """The policy in argument i for groups that hold a deleted entry; NO_POLICY for another word."""
    if argv.word(i, b"KEEPREF"):
        return KEEPREF
    if argv.word(i, b"DELREF"):
        return DELREF
    if argv.word(i, b"ACKED"):
        return ACKED
    return NO_POLICY


def group_of(stream: Stream | None, argv: Argv, i: int) -> Group | None:
    """The group that argument i names, or None if it or its stream is missing."""
    if stream is None:
        return None
    group: Group | None = stream.groups.find_at(argv.p, argv.w[2 * i], argv.w[2 * i + 1])
    return group


def need_group(ctx: Context, argv: Argv) -> tuple[bytes, Stream, Group]:
    """The key in argument 1, its stream, and the group in argument 2."""
    found = ctx.read_stream(argv, 1)
    stream = found.stream
    group = group_of(stream, argv, 2)
    if stream is None or group is None:
        raise CommandError(
            b"NOGROUP No such key '%s' or consumer group '%s'" % (shown(argv[1]), shown(argv[2]))
        )
    return found.key, stream, group


def no_such_group(key: bytes, group: bytes) -> CommandError:
    """The error of XGROUP and XINFO, worded differently: the key exists, the group does not."""
    return CommandError(
        b"NOGROUP No such consumer group '%s' for key name '%s'" % (shown(group), shown(key))
    )
