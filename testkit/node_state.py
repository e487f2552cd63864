"""All data of a node, read over the protocol: the same values from a Forebay and from a Redis.

    state = read_state(client)             {(database, key): Value}
    difference(primary, replica)           "" or the first thing that is not the same, in words

A stream is read by XINFO STREAM FULL: entries, counters, groups, consumers and pending lists with
their times and counts.  ``portrait.py`` has the same for a keyspace inside this process.

Two nodes may differ in:

    radix-tree-*             each server splits the tree into nodes in its own way
    seen-time, active-time   the clock of the server that served the consumer; not replicated
    entries-read, lag        Redis 7.0 does not tell a replica how many entries a group has read
    facts of one side only   Redis 7.0 has fewer than Forebay; common facts are compared
    idle consumers           Redis 7.0 makes no consumer on a replica until it gets an entry
    a few milliseconds       a Redis replica replaces a delivery time ahead of its own clock by
                             its own time, which is that of its turn of the loop
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hiredis

from testkit.resp import RawClient, encode

OWN_BUSINESS = {"radix-tree-keys", "radix-tree-nodes", "seen-time", "active-time"}
#: Not replicated by a Redis 7.0 primary.
UNTOLD = {"entries-read", "lag"}
#: How old the clock of a Redis may be while it applies a long part of the stream.
CLOCK_MS = 1000

Facts = dict[str, Any]
State = dict[tuple[int, bytes], "Value"]


@dataclass(frozen=True)
class Value:
    """One key: type, time of expiry (-1 for none), and what it holds."""

    kind: str
    expires_ms: int
    held: Any


class Reader:
    """Reads large replies quickly: a stream of a hundred thousand entries is one reply."""

    def __init__(self, client: RawClient) -> None:
        self.socket = client.socket
        self.parser = hiredis.Reader()

    def __call__(self, *words: bytes | str | int) -> Any:
        """One command and its reply; an error reply is raised."""
        self.socket.sendall(encode(*words))
        reply = self.parser.gets()
        while reply is False:
            data = self.socket.recv(1 << 18)
            if not data:
                raise EOFError(f"closed by the server during {words!r:.100}")
            self.parser.feed(data)
            reply = self.parser.gets()
        if isinstance(reply, hiredis.ReplyError):
            raise reply
        return reply


def read_state(client: RawClient) -> State:
    """Every key of every database."""
    ask = Reader(client)
    state: State = {}
    for database in _databases(ask):
        ask("SELECT", database)
        for key in sorted(ask("KEYS", "*")):
            kind = ask("TYPE", key).decode()
            state[database, key] = Value(kind, ask("PEXPIRETIME", key), _held(ask, kind, key))
    ask("SELECT", 0)
    return state


def _databases(ask: Reader) -> list[int]:
    lines = ask("INFO", "keyspace").decode().splitlines()
    return [int(line.partition(":")[0][2:]) for line in lines if line.startswith("db")]


def _held(ask: Reader, kind: str, key: bytes) -> Any:
    if kind == "stream":
        return stream_facts(ask("XINFO", "STREAM", key, "FULL", "COUNT", 0))
    if kind == "string":
        return ask("GET", key)
    if kind == "list":
        return ask("LRANGE", key, 0, -1)
    if kind == "set":
        return sorted(ask("SMEMBERS", key))
    raise AssertionError(f"{key!r} is a {kind}, which Forebay does not have")


def stream_facts(reply: list[Any]) -> Facts:
    """The reply of XINFO STREAM key FULL COUNT 0, with groups and consumers by name."""
    facts = _named(reply)
    groups = [_named(group) for group in facts["groups"]]
    for group in groups:
        consumers = [_named(consumer) for consumer in group["consumers"]]
        group["consumers"] = {consumer["name"]: consumer for consumer in consumers}
    facts["groups"] = {group["name"]: group for group in groups}
    return facts


def _named(flat: list[Any]) -> Facts:
    return {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}


# -- comparing ----------------------------------------------------------------------


def difference(left: State, right: State, *, told_by_redis: bool = False) -> str:
    """The first thing that is not the same, or nothing.

    ``told_by_redis``: a Redis 7.0 is or was the primary of the set; facts that it does not
    replicate are left out."""
    if missing := left.keys() ^ right.keys():
        where = {key: "left" if key in left else "right" for key in sorted(missing)[:3]}
        return f"{len(missing)} keys are on one side only: {where}"
    for key, value in left.items():
        if found := _value_difference(value, right[key], told_by_redis):
            return f"{key}: {found}"
    return ""


def _value_difference(left: Value, right: Value, told_by_redis: bool) -> str:
    if (left.kind, left.expires_ms) != (right.kind, right.expires_ms):
        return f"{left.kind} until {left.expires_ms}, {right.kind} until {right.expires_ms}"
    if left.kind != "stream":
        return "" if left.held == right.held else f"{left.held!r:.100}, {right.held!r:.100}"
    return _facts_difference(left.held, right.held, told_by_redis)


def _facts_difference(left: Facts, right: Facts, told_by_redis: bool) -> str:
    """The difference of a stream, a group or a consumer, in the facts that both sides report."""
    skipped = OWN_BUSINESS | (UNTOLD if told_by_redis else set())
    for name in sorted(left.keys() & right.keys() - skipped):
        if name in ("groups", "consumers"):
            found = _members_difference(left[name], right[name], told_by_redis)
        elif name == "pending" and told_by_redis:
            found = _list_difference(*_with_one_clock(left[name], right[name]))
        else:
            found = _list_difference(left[name], right[name])
        if found:
            return f"{name}: {found}"
    return ""


def _members_difference(
    left: dict[bytes, Facts], right: dict[bytes, Facts], told_by_redis: bool
) -> str:
    """Groups or consumers, by name."""
    if told_by_redis:
        left, right = _busy(left), _busy(right)
    if left.keys() != right.keys():
        return f"{sorted(left)!r:.200}, {sorted(right)!r:.200}"
    for name, facts in left.items():
        if found := _facts_difference(facts, right[name], told_by_redis):
            return f"{name!r}: {found}"
    return ""


def _busy(members: dict[bytes, Facts]) -> dict[bytes, Facts]:
    """The members without consumers that have no entries; a group is never left out."""
    return {
        name: facts
        for name, facts in members.items()
        if "consumers" in facts or facts["pel-count"] > 0
    }


def _with_one_clock(left: list[Any], right: list[Any]) -> tuple[list[Any], list[Any]]:
    """Pending lists without times that are nearly the same; the time is before the count."""
    if len(left) != len(right):
        return left, right
    both = [
        (_timeless(a), _timeless(b)) if _near(a, b) else (a, b)
        for a, b in zip(left, right, strict=True)
    ]
    return [a for a, _ in both], [b for _, b in both]


def _near(left: list[Any], right: list[Any]) -> bool:
    return bool(abs(left[-2] - right[-2]) <= CLOCK_MS)


def _timeless(line: list[Any]) -> list[Any]:
    return [*line[:-2], line[-1]]


def _list_difference(left: Any, right: Any) -> str:
    if left == right:
        return ""
    if not isinstance(left, list) or not isinstance(right, list):
        return f"{left!r:.100}, {right!r:.100}"
    at = next(
        (i for i, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]),
        min(len(left), len(right)),
    )
    return (
        f"{len(left)} and {len(right)} items; from number {at} on: "
        f"{left[at : at + 1]!r:.200}, {right[at : at + 1]!r:.200}"
    )
