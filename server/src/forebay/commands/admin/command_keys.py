"""Where the keys of a command stand and what is done to them, as COMMAND tells it.

    Keys(1, 2, 1, "RO ACCESS; OW UPDATE")       COPY: the first key is read, the second written

A row names the flags of its keys once, or, divided by semicolons, those of the first key
and of all others; a part between the two (SORT) is of keys that a pattern makes.  COMMAND
INFO makes a specification of each part: where to begin (an index, or after a word) and
how to go on (a range, or as many as a number says).  A few commands do to their key what
their options say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.commands.api.spec import NO_MANDATORY_KEYS, Command
from forebay.errors import CommandError

#: Commands whose keys stand after a word: the word, and where the search for it begins.
KEYWORDS = {b"xread": (b"STREAMS", 1), b"xreadgroup": (b"STREAMS", 4)}
#: Commands whose keys stand after their number: where that is, and the step from key to key.
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
VARIABLE = "variable_flags"
NOT_A_KEY = "not_key"

INVALID_COUNT = b"ERR Invalid number of arguments specified for command"
INVALID_ARGUMENTS = b"ERR Invalid arguments specified for command"
NO_KEY_ARGUMENTS = b"ERR The command has no key arguments"

Spec = dict[bytes, Any]


def flags_of(row: Command) -> list[list[str]]:
    """RO, RW, OW or RM, then what is done, in lower case; for each part of the keys."""
    parts = [part.split() for part in row.keys.flags.split(";")]
    return [[w.upper() if len(w) == 2 else w.lower() for w in words] for words in parts]


def specs_of(row: Command) -> list[tuple[list[str], Spec, Spec]]:
    """For each part of the keys its flags, where to begin, and how to find the keys."""
    if row.keys.first == 0 and row.keys.finder is None:
        return []
    parts = flags_of(row)
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
    """The keys of a whole command with what is done to each; CommandError says why not."""
    parts = flags_of(row)
    has_none = row.keys.first == 0 and row.keys.finder is None
    if has_none or NOT_A_KEY in parts[0]:
        raise CommandError(NO_KEY_ARGUMENTS)
    if not row.takes(len(words)):
        raise CommandError(INVALID_COUNT)
    places = _places(row, words)
    if not places and not row.flags & NO_MANDATORY_KEYS:
        raise CommandError(INVALID_ARGUMENTS)
    if VARIABLE in parts[0]:
        parts = [_VARIED[row.name]([word.upper() for word in words[2:]])]
    return [(words[at], parts[-1] if i else parts[0]) for i, at in enumerate(places)]


def _places(row: Command, words: list[bytes]) -> list[int]:
    try:
        return row.keys.positions(words)
    except CommandError:
        return []


def _set_flags(options: list[bytes]) -> list[str]:
    """SET overwrites, unless it must know what was there."""
    if b"GET" in options[1:]:
        return ["RW", "access", "update"]
    compares = {b"IFEQ", b"IFNE", b"IFDEQ", b"IFDNE"} & set(options[1:])
    return ["RW" if compares else "OW", "update"]


def _delex_flags(options: list[bytes]) -> list[str]:
    return ["RW" if options else "RM", "delete"]


def _bitfield_flags(options: list[bytes]) -> list[str]:
    writes = {b"SET", b"INCRBY"} & set(options)
    return ["RW", "access", "update"] if writes else ["RO", "access"]


_VARIED: dict[bytes, Callable[[list[bytes]], list[str]]] = {
    b"set": _set_flags,
    b"delex": _delex_flags,
    b"bitfield": _bitfield_flags,
}
