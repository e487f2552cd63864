"""The classes of keyspace notifications, and the letters that configure them.

    notify-keyspace-events "KEt"  ->  KEYSPACE | KEYEVENT | NOTIFY_STREAM

An event is published if its class is switched on: on the keyspace channel if K is
on, on the keyevent channel if E is on.  'A' means the classes of commands; the
other classes (a miss, a new, overwritten or retyped key) need their own letters.

Arrays, modules, hashes and sorted sets have letters so that a configuration made
for Redis is accepted.  No event here has such a class, and there are no channels
for the fields of a hash (S, T, I, V).
"""

from __future__ import annotations

KEYSPACE = 1 << 0
KEYEVENT = 1 << 1
NOTIFY_GENERIC = 1 << 2
NOTIFY_STRING = 1 << 3
NOTIFY_LIST = 1 << 4
NOTIFY_SET = 1 << 5
NOTIFY_HASH = 1 << 6
NOTIFY_ZSET = 1 << 7
NOTIFY_EXPIRED = 1 << 8
NOTIFY_EVICTED = 1 << 9
NOTIFY_STREAM = 1 << 10
NOTIFY_KEY_MISS = 1 << 11
NOTIFY_MODULE = 1 << 12
NOTIFY_NEW = 1 << 13
NOTIFY_OVERWRITTEN = 1 << 14
NOTIFY_TYPE_CHANGED = 1 << 15
NOTIFY_ARRAY = 1 << 16
#: One bit for each letter of the channels for fields of a hash.
_SUBKEYS = tuple((letter, 1 << 17 + i) for i, letter in enumerate("STIV"))

NOTIFY_ALL = (
    NOTIFY_GENERIC
    | NOTIFY_STRING
    | NOTIFY_LIST
    | NOTIFY_SET
    | NOTIFY_HASH
    | NOTIFY_ZSET
    | NOTIFY_EXPIRED
    | NOTIFY_EVICTED
    | NOTIFY_STREAM
    | NOTIFY_MODULE
)

#: In the order in which CONFIG GET prints them.
_LETTERS = (
    ("g", NOTIFY_GENERIC),
    ("$", NOTIFY_STRING),
    ("l", NOTIFY_LIST),
    ("s", NOTIFY_SET),
    ("h", NOTIFY_HASH),
    ("z", NOTIFY_ZSET),
    ("x", NOTIFY_EXPIRED),
    ("e", NOTIFY_EVICTED),
    ("t", NOTIFY_STREAM),
    ("d", NOTIFY_MODULE),
)
_SWITCHES = (
    ("a", NOTIFY_ARRAY),
    ("n", NOTIFY_NEW),
    ("o", NOTIFY_OVERWRITTEN),
    ("c", NOTIFY_TYPE_CHANGED),
    ("K", KEYSPACE),
    ("E", KEYEVENT),
    ("m", NOTIFY_KEY_MISS),
    *_SUBKEYS,
)


def parse(text: str) -> int | None:
    """The flags of these letters, or None if a letter is unknown."""
    known = dict(_LETTERS + _SWITCHES)
    known["A"] = NOTIFY_ALL
    flags = 0
    for letter in text:
        if letter not in known:
            return None
        flags |= known[letter]
    return flags


def text(flags: int) -> str:
    """The letters of the flags, as CONFIG GET shows them."""
    if flags & NOTIFY_ALL == NOTIFY_ALL:
        letters = "A"
    else:
        letters = "".join(letter for letter, flag in _LETTERS if flags & flag)
    return letters + "".join(letter for letter, flag in _SWITCHES if flags & flag)
