"""Which keys can be in one transaction on a cluster; checked when they are declared.

A cluster places a key by its slot: CRC16 of the key, or of its part in braces.  One transaction
holds the keys of one slot.  The transaction that acknowledges a message also writes its result or
its dead letter, so these must be in the same slot.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis.crc import key_slot

from forebay_workers.errors import ConfigError
from forebay_workers.partitioned import Partitioned

CLUSTER = "redis+cluster://"


def slot_of(key: str) -> int:
    """The slot of a key."""
    return key_slot(key.encode())


def beside(stream: str, name: str) -> str:
    """A key that a cluster keeps on the node of a stream."""
    tagged = "{" in stream and "}" in stream.partition("{")[2]
    return f"{stream}:{name}" if tagged else f"{{{stream}}}:{name}"


#: Commands whose key is not their first argument.
_KEY_SECOND = frozenset({"XGROUP", "XINFO", "OBJECT", "MEMORY", "BITOP"})
_KEYLESS = frozenset({"MULTI", "EXEC", "UNWATCH", "DISCARD", "PING"})


def key_of(command: Sequence[object]) -> str | None:
    """The first key of a command."""
    name = str(command[0]).upper()
    if name in _KEYLESS:
        return None
    at = 2 if name in _KEY_SECOND else 1
    if name in ("XREADGROUP", "XREAD"):
        at = command.index("STREAMS") + 1
    key = command[at]
    return key.decode() if isinstance(key, bytes) else str(key)


def check_together(
    stream: str | Partitioned, dead: str | None, to: str | Partitioned | None
) -> None:
    """Refuse streams that cannot be in one transaction on a cluster."""
    if isinstance(stream, Partitioned):
        _check_partitions(stream, dead, to)
        return
    if isinstance(to, Partitioned):
        raise ConfigError(
            f"On a cluster to={to.name!r} cannot be partitioned, because {stream!r} is not: "
            "one transaction holds one slot."
        )
    for what, other in (("dead", dead), ("to", to)):
        if other is not None and slot_of(other) != slot_of(stream):
            raise ConfigError(
                f"On a cluster {what}={other!r} must be in the slot of {stream!r}, because one "
                f"transaction writes both. Name it {beside(stream, other)!r}."
            )


def _check_partitions(stream: Partitioned, dead: str | None, to: str | Partitioned | None) -> None:
    if dead is not None:
        raise ConfigError(
            f"On a cluster each partition of {stream.name!r} has dead letters of its own. "
            "Leave dead= out."
        )
    if to is not None and (isinstance(to, str) or to.count != stream.count):
        name = to if isinstance(to, str) else to.name
        raise ConfigError(
            f"On a cluster to={name!r} must have {stream.count} partitions like {stream.name!r}, "
            f"because one transaction writes both. Use Partitioned({name!r}, {stream.count})."
        )
