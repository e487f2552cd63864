"""One key in the output of ``forebay dump``, as text and as JSON.

0 orders: stream, 3 entries, 1-1 to 3-0, 1 group, at offset 120
    1-1 item tea price 3.20
    group mail: last 2-0, 1 pending, 1 consumer
        ann: 1 pending
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from forebay.cli.output import counted, json_of, text_of
from forebay.commands.keyspace.value_ops import type_name
from forebay.core.elements import Elements
from forebay.core.group import Group
from forebay.core.keyspace import Value
from forebay.core.members import Members
from forebay.core.stream import Stream

ALL = -1


class KeyView:
    """One key of a snapshot; ``limit`` entries or items of it are shown, ALL means all."""

    def __init__(
        self,
        db: int,
        key: bytes,
        value: Value,
        *,
        offset: int,
        expires_ms: int | None,
        limit: int,
    ) -> None:
        self.db, self.key, self.value = db, key, value
        self.offset, self.expires_ms, self.limit = offset, expires_ms, limit

    # JSON

    def facts(self) -> dict[str, Any]:
        """One line of JSON."""
        head = {
            "db": self.db,
            "key": json_of(self.key),
            "type": type_name(self.value).decode(),
            "offset": self.offset,
            "expires_ms": self.expires_ms,
            "length": size_of(self.value),
        }
        if isinstance(self.value, Stream):
            return head | self.stream_facts(self.value)
        if isinstance(self.value, bytes):
            return head | {"value": json_of(self.value)}
        return head | {"items": [json_of(item) for item in self.items()]}

    def stream_facts(self, stream: Stream) -> dict[str, Any]:
        """What only a stream has."""
        return {
            "first": written(stream.first_ms, stream.first_seq),
            "last": written(stream.last_ms, stream.last_seq),
            "max_deleted": written(stream.maxdel_ms, stream.maxdel_seq),
            "entries_added": stream.entries_added,
            "groups": [group_facts(group) for group in stream.groups.values()],
            "entries": [
                [written(ms, seq), [json_of(word) for word in fields]]
                for ms, seq, fields in stream.range(count=self.limit)
            ],
        }

    # Text

    def lines(self) -> Iterator[str]:
        """The same for people."""
        value = self.value
        facts = [type_name(value).decode(), *self.sizes()]
        if self.expires_ms is not None:
            facts.append(f"expires {moment(self.expires_ms)}")
        facts.append(f"at offset {self.offset}")
        yield f"{self.db} {text_of(self.key)}: {', '.join(facts)}"
        if isinstance(value, Stream):
            for ms, seq, fields in stream_head(value, self.limit):
                yield f"    {written(ms, seq)} {' '.join(map(text_of, fields))}"
            yield from self.more(value.length)
            for group in value.groups.values():
                yield from group_lines(group)
        elif isinstance(value, bytes):
            yield f"    {text_of(value)}"
        else:
            yield from (f"    {text_of(item)}" for item in self.items())
            yield from self.more(len(value))

    def sizes(self) -> list[str]:
        """How much of it there is."""
        value = self.value
        if isinstance(value, bytes):
            return [counted(len(value), "byte")]
        if not isinstance(value, Stream):
            return [counted(len(value), "item")]
        said = [counted(value.length, "entry")]
        if value.length:
            first = written(value.first_ms, value.first_seq)
            said.append(f"{first} to {written(value.last_ms, value.last_seq)}")
        if value.groups.count:
            said.append(counted(value.groups.count, "group"))
        return said

    def items(self) -> list[bytes]:
        """The first items of a list, or of a set in order."""
        value = self.value
        assert isinstance(value, (Elements, Members)), "nothing else has items"
        ordered = sorted(value) if isinstance(value, Members) else value
        return list(ordered if self.limit == ALL else islice(ordered, self.limit))

    def more(self, there: int) -> Iterator[str]:
        """A line that says how much is not shown."""
        if self.limit != ALL and there > self.limit:
            yield f"    ... {there - self.limit:,} more"


def stream_head(stream: Stream, limit: int) -> list[tuple[int, int, list[bytes]]]:
    """The first entries of a stream."""
    return [] if limit == 0 else stream.range(count=limit)


def size_of(value: Value) -> int:
    """Entries, items or bytes."""
    return value.length if isinstance(value, Stream) else len(value)


def written(ms: int, seq: int) -> str:
    """An ID."""
    return f"{ms}-{seq}"


def moment(time_ms: int) -> str:
    """A time for people; a number if it is outside the calendar."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"at {time_ms} ms"


def group_facts(group: Group) -> dict[str, Any]:
    """One group for programs."""
    return {
        "name": json_of(group.name),
        "last": written(group.last_ms, group.last_seq),
        "entries_read": group.entries_read if group.entries_read >= 0 else None,
        "pending": group.pending.count,
        "unowned": group.pending.nacked,
        "consumers": [
            {"name": json_of(consumer.name), "pending": consumer.pending}
            for consumer in group.consumers.values()
        ],
    }


def group_lines(group: Group) -> Iterator[str]:
    """One group for people."""
    unowned = f", {group.pending.nacked} of them unowned" if group.pending.nacked else ""
    yield (
        f"    group {text_of(group.name)}: last {written(group.last_ms, group.last_seq)}, "
        f"{group.pending.count} pending{unowned}, {counted(group.consumers.count, 'consumer')}"
    )
    for consumer in group.consumers.values():
        yield f"        {text_of(consumer.name)}: {consumer.pending} pending"
