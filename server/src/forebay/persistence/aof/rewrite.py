"""The keyspace as the shortest AOF that creates it: the command form of a base file.

    SELECT 0
    SET greeting hello                 PEXPIREAT greeting 1700000000000
    RPUSH list a b c ...               SADD set a b c ...
    XADD events 1-0 f v                ...            (rewrite_stream.py)
    #CRC:5f0c2d1a                      after every 16 KiB or so
    ...

An empty server, Forebay or Redis, that runs it has the same data; so it is the
base file of an AOF when `aof-use-rdb-preamble` is off.  A snapshot is smaller
and quicker to load; a person can read and edit this one.

Two things are lost: the times at which consumers were last seen and active, and
the number of duplicate messages of a stream.  No command can set these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from forebay.core.elements import Elements
from forebay.core.keyspace import Database, Keyspace, Value
from forebay.core.stream import Stream
from forebay.persistence.aof.base_writer import BaseWriter
from forebay.persistence.aof.rewrite_stream import StreamRewriter

#: The idempotency settings of a stream without configuration.
IDMP_DEFAULTS = (100, 100)
#: Members of a list or set in one command.
MEMBERS_PER_COMMAND = 64


@dataclass
class RewriteOptions:
    """The settings of new streams of this server; the base has those of streams that differ.

    ``comment`` is the last line of the file: the offset of the data in the stream of
    changes.
    """

    idmp_duration_s: int = IDMP_DEFAULTS[0]
    idmp_maxsize: int = IDMP_DEFAULTS[1]
    comment: bytes = b""


def rewrite(
    keyspace: Keyspace, sink: Callable[[bytes], object], options: RewriteOptions | None = None
) -> Iterator[int]:
    """Write everything to ``sink``; yields the number of keys written so far, repeatedly.

    The caller must iterate to the end; between two steps the keyspace must not
    change.
    """
    base = BaseWriter(sink)
    defaults = options or RewriteOptions()
    keys = 0
    for database in keyspace.databases:
        if database.values:
            base.command([b"SELECT", b"%d" % database.index])
        for key, value in database.values.items():
            pieces = _value(base, key, value, defaults)
            for _ in pieces:
                yield keys
            _expiry(base, database, key)
            keys += 1
            if base.flush_if_full():
                yield keys
    base.out.raw(defaults.comment)
    base.flush()
    yield keys


def _expiry(base: BaseWriter, database: Database, key: bytes) -> None:
    when_ms = database.expires.get(key)
    if when_ms is not None:
        base.command([b"PEXPIREAT", key, b"%d" % when_ms])


def _value(base: BaseWriter, key: bytes, value: Value, defaults: RewriteOptions) -> Iterator[None]:
    """The commands that make one value; yields now and then, for other work of the caller."""
    if isinstance(value, (bytes, bytearray)):
        base.command([b"SET", key, bytes(value)])
    elif isinstance(value, Stream):
        yield from _stream(base, key, value, defaults)
    else:
        name = b"RPUSH" if isinstance(value, Elements) else b"SADD"
        yield from _members(base, name, key, value)


def _members(base: BaseWriter, name: bytes, key: bytes, members: Iterable[bytes]) -> Iterator[None]:
    left = iter(members)
    while some := list(islice(left, MEMBERS_PER_COMMAND)):
        base.command([name, key, *some])
        if base.flush_if_full():
            yield


def _stream(
    base: BaseWriter, key: bytes, stream: Stream, defaults: RewriteOptions
) -> Iterator[None]:
    writer = StreamRewriter(base, key, stream)
    while writer.entries():
        yield
    # A stream with the built-in settings omits them only if every loader has the same; so Redis
    # before 8.6, which has no such settings, can load the AOF of a user who does not use them.
    settings = (stream.idmp_duration_s, stream.idmp_maxsize)
    if {settings, (defaults.idmp_duration_s, defaults.idmp_maxsize)} != {IDMP_DEFAULTS}:
        writer.idmp_settings()
    writer.finish()
