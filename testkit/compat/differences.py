"""Every intended difference between redis-server 7.0.15 and Forebay.

Forebay answers as Redis 8.10 does; the oracle that can be installed is 7.0.15.
Each row below names a change and the Redis version that made it, and edits the two
replies so that everything else must still be the same.  Times are masked here as well,
since they differ between any two servers.

FOREBAY_PEER may name a newer server: then a difference that it should not have is a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testkit.compat.replies import Reply
from testkit.oracle import server_program, server_version

Edit = Callable[[list[str], Reply, Reply], None]

INVALID_ID = b"ERR Invalid stream ID specified as stream command argument"

#: Fields of idempotent producers, always present since 8.6.
IDMP_FIELDS = (
    *(b"idmp-duration", b"idmp-maxsize", b"pids-tracked"),
    *(b"iids-tracked", b"iids-added", b"iids-duplicates"),
)


ANY = "any"


def is_before(version: str) -> bool:
    """Whether the peer is older than a version, such as "8.6"."""
    major, _, minor = version.partition(".")
    return server_version(server_program()) < (int(major), int(minor))


class PartingWaysError(Exception):
    """An explained difference after which the two hold different data: stop comparing."""


@dataclass(frozen=True)
class Row:
    """A reason for two replies to differ; ``since`` is the Redis version that explains it."""

    since: str
    why: str
    command: tuple[str, ...]
    edit: Edit


def mask(*replies: Reply | None) -> None:
    """Mask a time: any value is accepted."""
    for reply in replies:
        if reply is not None and reply.kind == ":":
            reply.value = b"T"


def mask_time(reply: Reply | None) -> None:
    """A time or -1, which means never."""
    if reply is not None and reply.text != b"-1":
        mask(reply)


def empty_nodes(redis: Reply, forebay: Reply) -> None:
    """A trim inside a node may remove its last entry; Forebay drops the node, Redis keeps it."""
    theirs, ours = redis.field(b"radix-tree-keys"), forebay.field(b"radix-tree-keys")
    if theirs is None or ours is None or int(ours.text) >= int(theirs.text):
        return
    for name in (b"radix-tree-keys", b"radix-tree-nodes"):
        mask(redis.field(name), forebay.field(name))


def xinfo_stream(command: list[str], redis: Reply, forebay: Reply) -> None:
    empty_nodes(redis, forebay)
    if is_before("8.6"):
        forebay.drop(*IDMP_FIELDS)
    for reply in (redis, forebay):
        groups = reply.field(b"groups")
        for group in groups.items if groups is not None else []:
            if is_before("8.8"):
                group.drop(b"nacked-count")
            mask_group(group)
    theirs, ours = redis.field(b"groups"), forebay.field(b"groups")
    if theirs is None or ours is None or not theirs.items or not is_before("8.0"):
        return
    lag_rules(theirs, ours)
    for left, right in zip(theirs.items, ours.items, strict=False):
        was, now = left.field(b"consumers"), right.field(b"consumers")
        if was is not None and now is not None:
            forget_idle_consumers(was, now)


def mask_group(group: Reply) -> None:
    pending = group.field(b"pending")
    for item in pending.items if pending is not None else []:
        mask(item.items[2])
    consumers = group.field(b"consumers")
    for consumer in consumers.items if consumers is not None else []:
        if is_before("7.2"):
            consumer.drop(b"active-time")
        mask_time(consumer.field(b"active-time"))
        mask(consumer.field(b"seen-time"))
        held = consumer.field(b"pending")
        for item in held.items if held is not None else []:
            mask(item.items[1])


def xinfo_groups(command: list[str], redis: Reply, forebay: Reply) -> None:
    lag_rules(redis, forebay)
    for left, right in zip(redis.items, forebay.items, strict=False):
        ours, theirs = right.field(b"consumers"), left.field(b"consumers")
        if ours is not None and theirs is not None and int(ours.text) > int(theirs.text):
            ours.value = theirs.value


def forget_idle_consumers(redis: Reply, forebay: Reply) -> None:
    """Drop our consumers that hold nothing and that 7.0 did not create yet."""
    known = {name_of(consumer) for consumer in redis.items}
    forebay.value = [
        consumer
        for consumer in forebay.items
        if name_of(consumer) in known or not holds_nothing(consumer)
    ]


def name_of(consumer: Reply) -> bytes:
    return consumer.items[1].text


def holds_nothing(consumer: Reply) -> bool:
    count = consumer.field(b"pel-count") or consumer.field(b"pending")
    return count is not None and count.text == b"0"


def create_consumer(command: list[str], redis: Reply, forebay: Reply) -> None:
    if (redis.text, forebay.text) == (b"1", b"0"):
        forebay.value = redis.value


def lag_rules(redis: Reply, forebay: Reply) -> None:
    """entries-read and lag may be nil, or exact, where 7.0 said something else."""
    for left, right in zip(redis.items, forebay.items, strict=False):
        for name in (b"entries-read", b"lag"):
            for (key, i), (_, j) in zip(left.fields(), right.fields(), strict=False):
                if key == name:
                    left.items[i] = right.items[j]


def xinfo_consumers(command: list[str], redis: Reply, forebay: Reply) -> None:
    if is_before("7.2"):
        forget_idle_consumers(redis, forebay)
    for consumer in (*redis.items, *forebay.items):
        if is_before("7.2"):
            consumer.drop(b"inactive")
        mask_time(consumer.field(b"inactive"))
        mask(consumer.field(b"idle"))


def xpending(command: list[str], redis: Reply, forebay: Reply) -> None:
    for reply in (redis, forebay):
        for item in reply.items:
            if len(item.items) == 4:
                mask(item.items[2])


def claimed(command: list[str], redis: Reply, forebay: Reply) -> None:
    """Entries that XREADGROUP claims carry their idle time."""
    for reply in (redis, forebay):
        mask_claimed(reply)


def mask_claimed(reply: Reply) -> None:
    """Mask the third of four elements of an entry, wherever it is; 0 deliveries mean a new one."""
    if len(reply.items) == 4 and reply.items[3].kind == ":" and reply.items[3].text != b"0":
        mask(reply.items[2])
    for item in reply.items:
        mask_claimed(item)


def ttl(command: list[str], redis: Reply, forebay: Reply) -> None:
    for reply in (redis, forebay):
        if reply.text not in (b"-1", b"-2"):
            mask(reply)


def hello(command: list[str], redis: Reply, forebay: Reply) -> None:
    for reply in (redis, forebay):
        for key, i in reply.fields():
            if key in (b"version", b"id", b"modules"):
                reply.items[i] = Reply("+", b"")


def last_entry(command: list[str], redis: Reply, forebay: Reply) -> None:
    """XREAD accepts '+' as an ID, XREADGROUP explains why it does not."""
    unbalanced(command, redis, forebay)
    if "+" not in command or redis.text != INVALID_ID:
        return
    if command[0].upper() == "XREAD" or forebay.text.startswith(b"ERR The + ID is meaningless"):
        redis.kind, redis.value = forebay.kind, forebay.value


def xsetid(command: list[str], redis: Reply, forebay: Reply) -> None:
    if b"is smaller than current max_deleted_entry_id" not in forebay.text:
        return
    if redis.text == b"OK":
        raise PartingWaysError
    if b"is smaller than the target stream " in redis.text:
        forebay.value = redis.value


def object_encoding(command: list[str], redis: Reply, forebay: Reply) -> None:
    if redis.text in (b"hashtable", b"quicklist") and forebay.text == b"listpack":
        forebay.value = redis.value


def strict_cursor(command: list[str], redis: Reply, forebay: Reply) -> None:
    """7.0 took an empty cursor for 0, and let a negative number overflow."""
    cursor = command[1 if command[0].upper() == "SCAN" else 2]
    is_odd = not cursor or cursor.startswith("-")
    if forebay.text == b"ERR invalid cursor" and is_odd:
        redis.kind, redis.value = forebay.kind, forebay.value


def bit_ranges(command: list[str], redis: Reply, forebay: Reply) -> None:
    """7.0 answered for a missing key, or one of another type, without checking the rest."""
    of_the_key = redis.text in (b"0", b"-1") or redis.text.startswith(b"WRONGTYPE")
    if forebay.kind == "-" and of_the_key:
        redis.kind, redis.value = forebay.kind, forebay.value


def unbalanced(command: list[str], redis: Reply, forebay: Reply) -> None:
    if redis.text.startswith(b"ERR Unbalanced XREAD list of streams: "):
        redis.value = forebay.value = (
            b"" if forebay.text.startswith(b"ERR Unbalanced 'xread") else b"other"
        )


def help_text(command: list[str], redis: Reply, forebay: Reply) -> None:
    if redis.items and redis.items[-1].text == b"    Prints this help.":
        redis.items[-1].value = b"    Print this help."


def unknown(command: list[str], redis: Reply, forebay: Reply) -> None:
    if len(command) == 1 and redis.text.startswith(b"ERR unknown command "):
        redis.value = redis.text.removesuffix(b", with args beginning with: ")


def getkeys(command: list[str], redis: Reply, forebay: Reply) -> None:
    if len(command) == 3 and b"'command|getkeys" in redis.text:
        redis.value = forebay.value


ROWS = [
    Row(ANY, "times; empty nodes; 8.6 idmp fields; 8.8 nacked-count; 7.2 active-time; 8.0 lag",
        ("XINFO", "STREAM"), xinfo_stream),
    Row("8.0", "lag after deletions follows the rules of #13958; 7.2 creates consumers early",
        ("XINFO", "GROUPS"), xinfo_groups),
    Row(ANY, "idle times; 7.2 consumers say how long they have been inactive",
        ("XINFO", "CONSUMERS"), xinfo_consumers),
    Row("7.2", "a consumer is created even when nothing is delivered to it",
        ("XGROUP", "CREATECONSUMER"), create_consumer),
    Row(ANY, "idle times", ("XPENDING",), xpending),
    Row(ANY, "idle times", ("XREADGROUP",), claimed),
    Row(ANY, "remaining times", ("TTL",), ttl),
    Row(ANY, "version, modules and client number", ("HELLO",), hello),
    Row("7.4", "'+' is the last entry, and errors name the command", ("XREAD",), last_entry),
    Row("7.4", "'+' has an error of its own, and errors name the command", ("XREADGROUP",),
        last_entry),
    Row("7.2", "the last ID cannot go below the largest deleted one", ("XSETID",), xsetid),
    Row("8.6", "an unknown command without arguments is named and no more", (), unknown),
    Row("8.6", "a command without arguments may be asked about", ("COMMAND", "GETKEYS"), getkeys),
    Row("8.6", "the last line of a help", ("XGROUP", "HELP"), help_text),
    Row("8.6", "the last line of a help", ("XINFO", "HELP"), help_text),
    Row("8.6", "an empty or negative cursor is none", ("SCAN",), strict_cursor),
    Row("8.6", "an empty or negative cursor is none", ("SSCAN",), strict_cursor),
    Row("7.2", "arguments are read before the key is looked at", ("BITCOUNT",), bit_ranges),
    Row("7.2", "arguments are read before the key is looked at", ("BITPOS",), bit_ranges),
    Row("7.2", "small sets and lists are listpacks", ("OBJECT", "ENCODING"), object_encoding),
]  # fmt: skip


def explain(head: list[str], command: list[str], redis: Reply, forebay: Reply) -> None:
    """Edit two unequal replies by every row about this command."""
    for row in ROWS:
        if tuple(head[: len(row.command)]) == row.command and (
            row.since == ANY or is_before(row.since)
        ):
            row.edit(command, redis, forebay)
