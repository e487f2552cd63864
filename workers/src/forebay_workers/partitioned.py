"""A stream in partitions, so that many processes keep the order of each key.

    Partitioned("orders", 16, by="customer")

    orders:{0}   orders:{1}   ...   orders:{15}      streams like any other
    ann, eve     bob                zoe              a key is always in the same one

The partition of a key is CRC16(key) modulo the number of partitions, as Redis Cluster computes the
slot of a key (with the same rule for hash tags inside the key).  Every client can do the same:

    redis.crc.key_slot(b"ann", 16)

The braces are a hash tag: all keys of a partition (dead letters, delayed messages, the name of its
owner) are in one slot of a cluster, so one transaction can hold them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from redis.crc import key_slot

from forebay_workers.errors import ConfigError

#: The field for the key of a message, if it was published with ``key=`` or no other field has it.
KEY = b"@key"
MOST_PARTITIONS = 4096
_ONE = re.compile(r"(.+):\{(\d+)\}")


@dataclass(frozen=True)
class Partitioned:
    """A stream in ``count`` partitions; ``by`` names the field whose value is the key."""

    name: str
    count: int
    by: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_PARTITIONS:
            raise ConfigError(
                f"Partitioned({self.name!r}, {self.count}): give 1 to {MOST_PARTITIONS}."
            )
        if not self.name or "{" in self.name or "}" in self.name:
            raise ConfigError(
                f"The name {self.name!r} of a partitioned stream is empty, or has braces."
            )

    def stream(self, number: int) -> str:
        """One partition."""
        return f"{self.name}:{{{number}}}"

    def number(self, key: bytes) -> int:
        """The partition of a key."""
        return key_slot(key, self.count)

    def stream_of(self, fields: Sequence[bytes]) -> str:
        """The partition of a message, by the key among its fields."""
        return self.stream(self.number(key_in(fields, self.by, self.name)))


def key_in(fields: Sequence[bytes], by: str | None, name: str) -> bytes:
    """The key of a message: from ``key=`` when it was published, or from its field ``by``."""
    wanted = None if by is None else by.encode()
    found = None
    for at in range(0, len(fields), 2):
        if fields[at] == KEY:
            return fields[at + 1]
        if fields[at] == wanted and found is None:
            found = fields[at + 1]
    if found is not None:
        return found
    if by is None:
        raise ConfigError(
            f"Nothing chooses the partition of {name!r}. Give Partitioned(..., by=field), or key=."
        )
    raise ConfigError(
        f"The message has no {by!r}, which chooses its partition of {name!r}. Or give key=."
    )


def name_of(stream: str) -> str:
    """The name of the partitioned stream; any other stream keeps its name."""
    found = _ONE.fullmatch(stream)
    return stream if found is None else found[1]
