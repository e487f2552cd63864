"""All data of a keyspace as plain Python values: two states are equal if their portraits are.

DEBUG DIGEST covers entries, groups and pending records as in Redis; a portrait also covers the
idempotency map, the order of the NACK zone, expiry times and, on request, the times of
consumers.  A replayed AOF does not know when a consumer was last seen, and history reads
do not record the delivery they count, so a comparison may leave these out.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from forebay.core.group import Group
from forebay.core.keyspace import Keyspace, Value
from forebay.core.stream import Stream


def portrait(keyspace: Keyspace, *, times: bool = False, deliveries: bool = True) -> dict[Any, Any]:
    """(database, key) -> (expiry time or None, value)."""
    return {
        (db.index, key): (db.expires.get(key), of_value(value, times, deliveries))
        for db in keyspace.databases
        for key, value in db.values.items()
    }


def of_value(value: Value, times: bool = False, deliveries: bool = True) -> Any:
    """One value."""
    if isinstance(value, Stream):
        return of_stream(value, times, deliveries)
    if isinstance(value, deque):
        return list(value)
    return frozenset(value) if isinstance(value, set) else value


def of_stream(stream: Stream, times: bool, deliveries: bool) -> dict[str, Any]:
    """A stream with its groups and all other state."""
    idmp = {} if stream.idmp is None else stream.idmp.producers
    return {
        "entries": stream.range(),
        "length": stream.length,
        "first": (stream.first_ms, stream.first_seq),
        "last": (stream.last_ms, stream.last_seq),
        "max deleted": (stream.maxdel_ms, stream.maxdel_seq),
        "added": stream.entries_added,
        "idmp": {pid: list(iids.items()) for pid, iids in idmp.items()},
        "idmp settings": (stream.idmp_duration_s, stream.idmp_maxsize),
        "idmp counters": (stream.iids_added, stream.iids_duplicates),
        "groups": {
            name: of_group(group, times, deliveries) for name, group in stream.groups.items()
        },
    }


def of_group(group: Group, times: bool, deliveries: bool) -> dict[str, Any]:
    """A group: its position, its consumers, its pending entries."""
    records = group.pending.records
    names = {consumer.number: consumer.name for consumer in group.consumers.values()}
    pending = [
        (
            records.id_ms(slot),
            records.id_seq(slot),
            names.get(records.owner_no(slot)),
            (records.time_ms(slot), records.deliveries(slot)) if deliveries else None,
        )
        for slot in group.pending.by_id.slots()
    ]
    nacked = group.pending.by_time.slots()[: group.pending.nacked]
    return {
        "last": (group.last_ms, group.last_seq),
        "read": group.entries_read,
        "consumers": {
            consumer.name: (consumer.seen_ms, consumer.active_ms) if times else None
            for consumer in group.consumers.values()
        },
        "pending": pending,
        "nacked": [(records.id_ms(slot), records.id_seq(slot)) for slot in nacked],
    }
