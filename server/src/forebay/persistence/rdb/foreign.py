"""Things in a Redis file that Forebay does not support: their names, and how to skip them.

Hashes, sorted sets, values and data of modules, function libraries.  A file with
such things is refused with the name of the key and of its type, unless the user
has asked to skip them; then this module skips their bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.core.keyspace import Database
from forebay.persistence.rdb.format import FUNCTION, FUNCTION_OLD, KEY_META, MODULE_AUX
from forebay.persistence.rdb.reader import RdbReader

#: Type numbers -> the name of such a value for users.
NAMES = {
    3: "sorted set",
    4: "hash",
    5: "sorted set",
    6: "module value",
    7: "module value",
    9: "hash",
    12: "sorted set",
    13: "hash",
    16: "hash",
    17: "sorted set",
    22: "hash",
    23: "hash",
    24: "hash",
    25: "hash",
    28: "array",
    29: "hash",
    30: "hash",
    31: "hash",
    32: "hash",
    33: "rate limiter",
}
#: The same for things that are not values of keys.
OPCODE_NAMES = {
    FUNCTION: "function library",
    FUNCTION_OLD: "function library",
    MODULE_AUX: "module data",
    KEY_META: "module data",
}


class Foreign:
    """The placeholder of a skipped value, while an AOF is read; engine/foreign.py."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def copy(self) -> Foreign:
        """The copy that COPY makes."""
        return self


def hold_place(db: Database, key: bytes, kind: str) -> None:
    """Put a placeholder at a key; it is removed before any client can ask for it."""
    db.put(key, Foreign(kind))  # type: ignore[arg-type]


# Parts of a module's value.
MODULE_END = 0
MODULE_SIGNED = 1
MODULE_UNSIGNED = 2
MODULE_FLOAT = 3
MODULE_DOUBLE = 4
MODULE_STRING = 5
#: A sorted set's score: lengths from here on mean NaN and the infinities.
NO_DIGITS = 253


def skip_hash(reader: RdbReader) -> None:
    """Type 4: field, value."""
    for _ in range(reader.count(2)):
        reader.skip_string()
        reader.skip_string()


def skip_timed_hash(reader: RdbReader) -> None:
    """Type 22: time, field, value."""
    for _ in range(reader.count(3)):
        reader.length()
        reader.skip_string()
        reader.skip_string()


def skip_sorted_set(reader: RdbReader) -> None:
    """Type 3: member, score in digits."""
    for _ in range(reader.count(2)):
        reader.skip_string()
        size = reader.byte()
        if size < NO_DIGITS:
            reader.skip(size)


def skip_sorted_set_2(reader: RdbReader) -> None:
    """Type 5: member, score in eight bytes."""
    for _ in range(reader.count(9)):
        reader.skip_string()
        reader.skip(8)


def skip_module(reader: RdbReader) -> None:
    """Type 7 and module data: the owner, then marked parts up to an end mark."""
    reader.length()
    skip_module_parts(reader)


def skip_module_parts(reader: RdbReader) -> None:
    """Marked parts up to an end mark."""
    while (kind := reader.length()) != MODULE_END:
        if kind in (MODULE_SIGNED, MODULE_UNSIGNED):
            reader.length()
        elif kind == MODULE_FLOAT:
            reader.skip(4)
        elif kind == MODULE_DOUBLE:
            reader.skip(8)
        elif kind == MODULE_STRING:
            reader.skip_string()
        else:
            raise reader.fail("a module's data has an unknown part")


def skip_key_meta(reader: RdbReader) -> None:
    """Data that modules attach to a key: four bytes for the owner, then parts."""
    for _ in range(reader.count(5)):
        reader.skip(4)
        skip_module_parts(reader)


def skip_old_function(reader: RdbReader) -> None:
    """A function library of the first drafts of 7.0: name, engine, description, code."""
    reader.skip_string()
    reader.skip_string()
    if reader.length():
        reader.skip_string()
    reader.skip_string()


def skip_one_string(reader: RdbReader) -> None:
    """Collections that are stored as one string."""
    reader.skip_string()


def skip_timed_string(reader: RdbReader) -> None:
    """Type 25: a time, one string."""
    reader.skip(8)
    reader.skip_string()


def skip_timed_hash_2(reader: RdbReader) -> None:
    """Type 24: a time, then as type 22."""
    reader.skip(8)
    skip_timed_hash(reader)


Skip = Callable[[RdbReader], None]
SKIPS: dict[int, Skip] = {
    3: skip_sorted_set,
    4: skip_hash,
    5: skip_sorted_set_2,
    7: skip_module,
    9: skip_one_string,
    12: skip_one_string,
    13: skip_one_string,
    16: skip_one_string,
    17: skip_one_string,
    22: skip_timed_hash,
    23: skip_one_string,
    24: skip_timed_hash_2,
    25: skip_timed_string,
    FUNCTION: skip_one_string,
    FUNCTION_OLD: skip_old_function,
    MODULE_AUX: skip_module,
    KEY_META: skip_key_meta,
}


def skip(reader: RdbReader, kind: int) -> None:
    """Skip a foreign value or thing; an error if its length is unknown."""
    known = SKIPS.get(kind)
    if known is None:
        raise reader.fail(f"a value of type {kind} cannot be left out: its size is not known")
    known(reader)
