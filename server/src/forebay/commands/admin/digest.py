"""Fingerprints of values and of the whole data set, equal to those of Redis.

Two servers hold the same data if DEBUG DIGEST answers the same on both, in
whatever order the keys were created.  The rules, over 20-byte numbers:

    xor(d, x)   d ^ SHA1(x)                 order does not matter
    mix(d, x)   SHA1(d ^ SHA1(x))           order matters

    value    mix the type's number, then: string  mix(bytes)
                                          list    mix each element
                                          set     xor each member
                                          stream  per entry mix("ms.seq"), then each field, value
             xor "!!expire!!" if the key has an expiry time
    key      mix(name), then as above
    all      per database with keys: mix its number; xor the digest of each key

Groups are not part of the digest, as in Redis.
"""

from __future__ import annotations

import hashlib

from forebay.core.elements import Elements
from forebay.core.keyspace import Database, Keyspace, Value
from forebay.core.members import Members

DIGEST_BYTES = 20
EMPTY = bytes(DIGEST_BYTES)
STRING, LIST, SET, STREAM = 0, 1, 2, 6


def xor(digest: bytes, data: bytes) -> bytes:
    """Add data so that order does not matter."""
    hashed = hashlib.sha1(data, usedforsecurity=False).digest()
    mixed = int.from_bytes(digest, "big") ^ int.from_bytes(hashed, "big")
    return mixed.to_bytes(DIGEST_BYTES, "big")


def mix(digest: bytes, data: bytes) -> bytes:
    """Add data so that order matters."""
    return hashlib.sha1(xor(digest, data), usedforsecurity=False).digest()


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def add_value(digest: bytes, value: Value, has_expiry: bool) -> bytes:
    """Add one value to a digest."""
    if isinstance(value, (bytes, bytearray)):
        digest = mix(mix(digest, _number(STRING)), bytes(value))
    elif isinstance(value, Elements):
        digest = mix(digest, _number(LIST))
        for item in value:
            digest = mix(digest, item)
    elif isinstance(value, Members):
        digest = mix(digest, _number(SET))
        for member in value:
            digest = xor(digest, member)
    else:
        digest = mix(digest, _number(STREAM))
        for ms, seq, fields in value.range():
            digest = mix(digest, b"%d.%d" % (ms, seq))
            for text in fields:
                digest = mix(digest, text)
    return xor(digest, b"!!expire!!") if has_expiry else digest


def value_digest(db: Database, key: bytes) -> bytes:
    """The digest of a key's value; all zero if there is none."""
    value = db.get(key)
    return EMPTY if value is None else add_value(EMPTY, value, key in db.expires)


def keyspace_digest(keyspace: Keyspace) -> bytes:
    """The digest of all data."""
    digest = EMPTY
    for db in keyspace.databases:
        if db.values:
            digest = mix(digest, _number(db.index))
        for key, value in db.values.items():
            digest = xor(digest, add_value(mix(EMPTY, key), value, key in db.expires))
    return digest
