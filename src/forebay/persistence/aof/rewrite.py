"""The keyspace as the shortest log that makes it: the command form of a base file.

    SELECT 0
    SET greeting hello                 PEXPIREAT greeting 1700000000000
    RPUSH list a b c ...               SADD set a b c ...
    XADD events 1-0 f v                ...            (rewrite_stream.py)
    #CRC:5f0c2d1a                      after every 16 KiB or so
    ...

Whoever runs it in an empty server, this one or a Redis, has the same data; so it
is the base file of a log when `aof-use-rdb-preamble` is off.  A snapshot is
smaller and quicker to load; this one can be read and edited by a person.

What is lost: the times at which consumers were last seen and active, and how
many duplicate messages a stream has counted.  No command can set these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from forebay.core.elements import Elements
from forebay.core.keyspace import Database, Keyspace, Value
from forebay.core.stream import Stream
from forebay.persistence.aof.base_writer import LogWriter
from forebay.persistence.aof.rewrite_stream import StreamRewriter

#: What a stream has that nobody configured.
IDMP_DEFAULTS = (100, 100)
#: Members of a list or set in one command.
MEMBERS_PER_COMMAND = 64


@dataclass
class RewriteOptions:
    """What new streams of this server are given; a stream that differs says so in the log."""

    idmp_duration_s: int = IDMP_DEFAULTS[0]
    idmp_maxsize: int = IDMP_DEFAULTS[1]


def rewrite(
    keyspace: Keyspace, sink: Callable[[bytes], object], options: RewriteOptions | None = None
) -> Iterator[int]:
    """Write everything to ``sink``; yields the number of keys written so far, again and again.

    The caller must go on to the end; between two steps the keyspace must not change.
    """
    log = LogWriter(sink)
    defaults = options or RewriteOptions()
    keys = 0
    for database in keyspace.databases:
        if database.values:
            log.command([b"SELECT", b"%d" % database.index])
        for key, value in database.values.items():
            pieces = _value(log, key, value, defaults)
            for _ in pieces:
                yield keys
            _expiry(log, database, key)
            keys += 1
            if log.flush_if_full():
                yield keys
    log.flush()
    yield keys


def _expiry(log: LogWriter, database: Database, key: bytes) -> None:
    when_ms = database.expires.get(key)
    if when_ms is not None:
        log.command([b"PEXPIREAT", key, b"%d" % when_ms])


def _value(log: LogWriter, key: bytes, value: Value, defaults: RewriteOptions) -> Iterator[None]:
    """The commands that make one value; stops now and then for the caller to look up."""
    if isinstance(value, (bytes, bytearray)):
        log.command([b"SET", key, bytes(value)])
    elif isinstance(value, Stream):
        yield from _stream(log, key, value, defaults)
    else:
        name = b"RPUSH" if isinstance(value, Elements) else b"SADD"
        yield from _members(log, name, key, value)


def _members(log: LogWriter, name: bytes, key: bytes, members: Iterable[bytes]) -> Iterator[None]:
    left = iter(members)
    while some := list(islice(left, MEMBERS_PER_COMMAND)):
        log.command([name, key, *some])
        if log.flush_if_full():
            yield


def _stream(log: LogWriter, key: bytes, stream: Stream, defaults: RewriteOptions) -> Iterator[None]:
    writer = StreamRewriter(log, key, stream)
    while writer.entries():
        yield
    # A stream with settings as built in is silent about them only if a loader is sure to
    # agree; so Redis before 8.6, which knows none, can load the log of whoever uses none.
    settings = (stream.idmp_duration_s, stream.idmp_maxsize)
    if {settings, (defaults.idmp_duration_s, defaults.idmp_maxsize)} != {IDMP_DEFAULTS}:
        writer.idmp_settings()
    writer.finish()
