"""The positions of the keys of a command and the access to them, as COMMAND shows them.

    Keys(1, 2, 1, "RO ACCESS; OW UPDATE")       COPY: the first key is read, the second written

A row names the flags of its keys once, or, separated by semicolons, those of the first key
and of all others; a part between the two (SORT) is for keys that a pattern makes.  COMMAND
INFO makes a specification of each part: where to begin (an index, or after a word) and how
to find the keys (a range, or as many as a number says).  commands/access/keys.py finds the
keys of a whole call, also for ACL rules.
"""

from __future__ import annotations

from typing import Any

from forebay.commands.access.keys import has_keys, uses_of
from forebay.commands.api.spec import NO_MANDATORY_KEYS, Command
from forebay.errors import CommandError
from forebay.wire.argv import argv_of

#: Commands whose keys follow a word: the word, and where to begin the search for it.
KEYWORDS = {b"xread": (b"STREAMS", 1), b"xreadgroup": (b"STREAMS", 4)}
#: Commands whose keys follow their number: its index, and the step from key to key.
COUNTED = {
    b"eval": (2, 1),
    b"evalsha": (2, 1),
    b"eval_ro": (2, 1),
    b"evalsha_ro": (2, 1),
    b"lmpop": (1, 1),
    b"blmpop": (2, 1),
    b"sintercard": (1, 1),
    b"msetex": (1, 2),
}

INVALID_COUNT = b"ERR Invalid number of arguments specified for command"
INVALID_ARGUMENTS = b"ERR Invalid arguments specified for command"
NO_KEY_ARGUMENTS = b"ERR The command has no key arguments"

Spec = dict[bytes, Any]


def specs_of(row: Command) -> list[tuple[list[str], Spec, Spec]]:
    """For each part of the keys its flags, where to begin, and how to find the keys."""
    if row.keys.first == 0 and row.keys.finder is None:
        return []
    parts = row.keys.parts
    return [(flags, *_place(row, i, len(parts))) for i, flags in enumerate(parts)]


def _place(row: Command, i: int, parts: int) -> tuple[Spec, Spec]:
    keys = row.keys
    if row.name in KEYWORDS:
        word, start = KEYWORDS[row.name]
        begin = {b"keyword": word, b"startfrom": start}
        return _kind(b"keyword", begin), _range(-1, 1, limit=2)
    if row.name in COUNTED:
        index, step = COUNTED[row.name]
        find = {b"keynumidx": 0, b"firstkey": 1, b"keystep": step}
        return _kind(b"index", {b"index": index}), _kind(b"keynum", find)
    if keys.first == 0 or (keys.finder is not None and i > 0):
        return _kind(b"unknown", {}), _kind(b"unknown", {})
    at = keys.first + i
    last = at if i < parts - 1 else keys.last
    return _kind(b"index", {b"index": at}), _range(last - at if last > 0 else last, keys.step)


def _kind(name: bytes, spec: Spec) -> Spec:
    return {b"type": name, b"spec": spec}


def _range(last: int, step: int, limit: int = 0) -> Spec:
    return _kind(b"range", {b"lastkey": last, b"keystep": step, b"limit": limit})


# -- The keys of one call --------------------------------------------------------------------


def keys_of_call(row: Command, words: list[bytes]) -> list[tuple[bytes, list[str]]]:
    """The keys of a whole command and the flags of each; CommandError says why there are none."""
    if not has_keys(row):
        raise CommandError(NO_KEY_ARGUMENTS)
    if not row.takes(len(words)):
        raise CommandError(INVALID_COUNT)
    uses = uses_of(row, argv_of(words))
    if not uses and not row.flags & NO_MANDATORY_KEYS:
        raise CommandError(INVALID_ARGUMENTS)
    return [(words[at], flags) for at, flags in uses]
