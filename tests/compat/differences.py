"""Every difference between redis-server 7.0.15 and Forebay that is on purpose.

Forebay answers as Redis 8.10 does; the oracle that can be installed is 7.0.15.
Each row below names what a later version changed and which version that was, and
edits the two replies so that whatever is not explained by it still has to be the
same.  Times are masked here as well, since they differ between any two servers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.compat.replies import Reply

Edit = Callable[[list[str], Reply, Reply], None]

#: Fields of idempotent producers, always present since 8.6.
IDMP_FIELDS = (
    *(b"idmp-duration", b"idmp-maxsize", b"pids-tracked"),
    *(b"iids-tracked", b"iids-added", b"iids-duplicates"),
)


@dataclass(frozen=True)
class Row:
    """One reason for two replies not to be equal; ``since`` is the Redis version behind it."""

    since: str
    why: str
    command: tuple[str, ...]
    edit: Edit


def mask(*replies: Reply | None) -> None:
    """A time: whatever it says is as good as anything else."""
    for reply in replies:
        if reply is not None and reply.kind == ":":
            reply.value = b"T"


def xinfo_stream(command: list[str], redis: Reply, forebay: Reply) -> None:
    forebay.drop(*IDMP_FIELDS)
    for reply in (redis, forebay):
        groups = reply.field(b"groups")
        for group in groups.items if groups is not None else []:
            group.drop(b"nacked-count")
            mask_group(group)
    if "FULL" in (word.upper() for word in command):
        lag_rules(redis.field(b"groups"), forebay.field(b"groups"))


def mask_group(group: Reply) -> None:
    pending = group.field(b"pending")
    for item in pending.items if pending is not None else []:
        mask(item.items[2])
    consumers = group.field(b"consumers")
    for consumer in consumers.items if consumers is not None else []:
        consumer.drop(b"active-time")
        mask(consumer.field(b"seen-time"))
        held = consumer.field(b"pending")
        for item in held.items if held is not None else []:
            mask(item.items[1])


def xinfo_groups(command: list[str], redis: Reply, forebay: Reply) -> None:
    lag_rules(redis, forebay)


def lag_rules(redis: Reply | None, forebay: Reply | None) -> None:
    """entries-read and lag may be nil, or exact, where 7.0 said something else."""
    if redis is None or forebay is None:
        return
    for left, right in zip(redis.items, forebay.items, strict=False):
        for name in (b"entries-read", b"lag"):
            for (key, i), (_, j) in zip(left.fields(), right.fields(), strict=False):
                if key == name:
                    left.items[i] = right.items[j]


def xinfo_consumers(command: list[str], redis: Reply, forebay: Reply) -> None:
    for consumer in (*redis.items, *forebay.items):
        consumer.drop(b"inactive")
        mask(consumer.field(b"idle"))


def xpending(command: list[str], redis: Reply, forebay: Reply) -> None:
    for reply in (redis, forebay):
        for item in reply.items:
            if len(item.items) == 4:
                mask(item.items[2])


def ttl(command: list[str], redis: Reply, forebay: Reply) -> None:
    for reply in (redis, forebay):
        if reply.text not in (b"-1", b"-2"):
            mask(reply)


def hello(command: list[str], redis: Reply, forebay: Reply) -> None:
    for reply in (redis, forebay):
        for key, i in reply.fields():
            if key in (b"version", b"id"):
                reply.items[i] = Reply("+", b"")


def unbalanced(command: list[str], redis: Reply, forebay: Reply) -> None:
    if redis.text.startswith(b"ERR Unbalanced XREAD list of streams: "):
        redis.value = forebay.value = (
            b"" if forebay.text.startswith(b"ERR Unbalanced 'xread") else b"other"
        )


ROWS = [
    Row("8.6", "idmp fields; 8.8 nacked-count; 7.2 active-time; lag", ("XINFO", "STREAM"),
        xinfo_stream),
    Row("8.0", "lag after deletions follows the rules of #13958", ("XINFO", "GROUPS"), xinfo_groups),
    Row("7.2", "consumers say how long they have been inactive", ("XINFO", "CONSUMERS"),
        xinfo_consumers),
    Row("any", "idle times", ("XPENDING",), xpending),
    Row("any", "remaining times", ("TTL",), ttl),
    Row("any", "version and client number", ("HELLO",), hello),
    Row("7.4", "the text names the command and '+'", ("XREAD",), unbalanced),
    Row("7.4", "the text names the command", ("XREADGROUP",), unbalanced),
]  # fmt: skip


def explain(head: list[str], command: list[str], redis: Reply, forebay: Reply) -> None:
    """Edit two unequal replies by every row that speaks of this command."""
    for row in ROWS:
        if tuple(head[: len(row.command)]) == row.command:
            row.edit(command, redis, forebay)
