"""A server's facts about a stream, in one reply.

    removed        unread, live          not there yet
    ---------------|=====================|............
                   first_id      last_id = last-generated-id
    positions      added - length        added

``XINFO STREAM`` is answered at one moment, so its numbers fit each other: an entry
at position n (counted from the first one ever added) is live if and only if
``added - length < n <= added``, as long as nothing but trimming removed entries.
Single deletes leave a second trace, ``max-deleted-entry-id``.

Redis before 7.0 counts neither; then ``added`` is None and loss cannot be detected.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from redis.crc import REDIS_CLUSTER_HASH_SLOTS

from forebay_spark import ids
from forebay_spark.errors import ServerError
from forebay_spark.ids import EntryId
from forebay_spark.options import Options
from forebay_spark.servers import glob
from forebay_spark.servers.connect import Link, Server

#: The prefix of all keys that the connector keeps for itself.
INTERNAL = "forebay:"


class StreamState(NamedTuple):
    """One XINFO STREAM."""

    length: int
    first_id: EntryId | None
    last_id: EntryId
    added: int | None
    max_deleted_id: EntryId
    #: About the size of an entry: from the first and the last one, which the reply contains.
    entry_bytes: int = 0

    @property
    def removed(self) -> int | None:
        """How many entries were removed from the head."""
        return None if self.added is None else self.added - self.length


def parse_reply(reply: list[Any]) -> StreamState:
    """Read the flat list of names and values that RESP2 gives."""
    fields = dict(zip(reply[0::2], reply[1::2], strict=True))
    first, last = fields.get(b"first-entry"), fields.get(b"last-entry")
    return StreamState(
        length=fields[b"length"],
        first_id=ids.parse(first[0]) if first else None,
        last_id=ids.parse(fields[b"last-generated-id"]),
        added=fields.get(b"entries-added"),
        max_deleted_id=ids.parse(fields.get(b"max-deleted-entry-id", b"0-0")),
        entry_bytes=(_size(first) + _size(last)) // 2,
    )


def _size(entry: list[Any] | None) -> int:
    return sum(map(len, entry[1])) if entry else 0


def fetch(server: Server, stream: str) -> StreamState | None:
    """The state of a stream now, or None if there is no such key."""
    return fetch_on(server.link(stream), stream)


def fetch_on(link: Link, stream: str) -> StreamState | None:
    """The same on an existing link."""
    try:
        return parse_reply(link.call("XINFO", "STREAM", stream))
    except ServerError as error:
        if "no such key" in str(error):
            return None
        raise


def fetch_all(server: Server, streams: Iterable[str]) -> dict[str, StreamState]:
    """The states of those streams that exist, in one round trip to each node."""
    found: dict[str, StreamState | None] = dict.fromkeys(streams)
    for link, names in server.by_node(found):
        replies = link.ask_all([("XINFO", "STREAM", name) for name in names])
        for name, reply in zip(names, replies, strict=True):
            if isinstance(reply, list):
                found[name] = parse_reply(reply)
            elif "no such key" not in str(reply):
                # A fault, a refusal, or a moving key: a separate question shows which.
                found[name] = fetch(server, name)
    return {stream: now for stream, now in found.items() if now is not None}


def discover(server: Server, pattern: str) -> list[str]:
    """Names of the streams that match a glob, on every node; names that are not UTF-8 are skipped.

    The connector's own keys on the server (reports, fences, progress) are left out unless the
    pattern asks for exactly these: a job that reads its own reports never ends.
    """
    found = _names(server, pattern)
    return sorted(name for name in found if not is_hidden(pattern, name))


def _names(server: Server, pattern: str) -> set[str]:
    """The names on all nodes.

    A key that moves to a node that was scanned before, or that is not known yet, would be missed.
    So if slots are moving, all nodes are scanned twice: the second scan finds keys that had left
    their node before the first one reached it.
    """
    before = server.on_primaries(_slots) if server.is_cluster else []
    found = _scanned(server, pattern)
    if server.is_cluster and not _are_at_rest(before, server.on_primaries(_slots)):
        server.start_anew()
        found |= _scanned(server, pattern)
    return found


def _scanned(server: Server, pattern: str) -> set[str]:
    return set().union(*server.on_primaries(lambda link: _scan(link, pattern)))


def _slots(link: Link) -> list[str]:
    """The slots of a node as it sees them: numbers, ranges, and in brackets moving ones."""
    nodes: bytes = link.ask("CLUSTER", "NODES")
    (own,) = (line for line in nodes.decode().splitlines() if "myself" in line.split()[2])
    return own.split()[8:]


def _are_at_rest(before: list[list[str]], after: list[list[str]]) -> bool:
    """Whether all slots were on the nodes that we know, and none moved or was moving."""
    slots = [part for node in after for part in node]
    if before != after or any(part.startswith("[") for part in slots):
        return False
    ends = [[int(end) for end in part.split("-")] for part in slots]
    return sum(end[-1] - end[0] + 1 for end in ends) == REDIS_CLUSTER_HASH_SLOTS


def is_read(options: Options, stream: str) -> bool:
    """Whether a stream of this name is among those to read, once it exists."""
    pattern = options.streamsPattern
    if not pattern:
        return stream in options.names
    return not is_hidden(pattern, stream) and glob.matches(pattern, stream)


def is_hidden(pattern: str, stream: str) -> bool:
    """Whether a stream is the connector's own, and the pattern does not ask for such."""
    return stream.startswith(INTERNAL) and not pattern.startswith(INTERNAL)


def _scan(link: Link, pattern: str) -> set[str]:
    """The names on one node."""
    found: set[str] = set()
    cursor = b"0"
    while True:
        cursor, keys = link.ask("SCAN", cursor, "MATCH", pattern, "COUNT", 1000, "TYPE", "stream")
        names = {key.decode("utf-8", "ignore"): key for key in keys}
        found.update(name for name, key in names.items() if name.encode() == key)
        if cursor == b"0":
            return found
