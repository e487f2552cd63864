"""The replicas of this server, as it sees them.

    session --REPLCONF--> Peer --PSYNC--> CONTINUE ------------------------> ONLINE
                                 |                                            ^
                                 '-> WAITS_FOR_CHILD --fork--> WAITS_FOR_END  |  first ACK
                                          (a copy of all data)    |           |
                                                                  '-> TRANSFER

``position`` is how far the stream was given to it, ``acked`` how far it says that it has
applied it, ``synced`` how far it says that its disk has it.

Rules
  1. A replica reads the stream from the backlog from the moment when its copy was made: nothing
     of it may be let go before (``Peers.needed``).
  2. A copy that goes straight from the child's pipe (diskless) ends with a mark; the stream
     follows only after the replica's first ACK, because it looks for the mark at the end of
     what it has received.
  3. Only ONLINE replicas count for WAIT and for min-replicas-to-write.
"""

from __future__ import annotations

from collections.abc import Iterator

from forebay.replication.history import NOWHERE

# States of a replica.
WAITS_FOR_CHILD = "wait_bgsave"  # nobody has begun to write its copy yet
WAITS_FOR_END = "wait_bgsave_end"  # a child writes the file that it will get
TRANSFER = "send_bulk"  # it is being sent all data
ONLINE = "online"

#: As INFO prints them.
SHOWN = {
    WAITS_FOR_CHILD: "wait_bgsave",
    WAITS_FOR_END: "wait_bgsave",
    TRANSFER: "send_bulk",
    ONLINE: "online",
}

# What a replica can do.
CAPA_EOF = "eof"
CAPA_PSYNC2 = "psync2"
#: It is a Forebay, and reads every format of this version.
CAPA_FOREBAY = "forebay"


class Peer:
    """One replica."""

    def __init__(self, number: int, host: str) -> None:
        #: The number of its session.
        self.number = number
        self.host = host
        #: Where it listens, by its own word.
        self.port = 0
        self.announced_host = ""
        self.capabilities: set[str] = set()
        self.version = ""
        self.state = WAITS_FOR_CHILD
        self.is_attached = False
        #: Why its link ends, if it is to blame.
        self.fault = ""
        #: It wants a copy of the data and no stream: redis-cli --rdb.
        self.rdb_only = False
        #: It wants an RDB that holds nothing of this kind of data: REPLCONF rdb-filter-only.
        self.rdb_without_data = False
        #: It asked by SYNC, the old way: no +FULLRESYNC line, and it acknowledges nothing.
        self.is_old = False
        self.position = NOWHERE
        #: Not even the beginning, before it was heard.
        self.acked = NOWHERE
        self.synced = NOWHERE
        self.heard_ms = 0
        #: The stream waits for its first word.
        self.waits_for_ack = False

    @property
    def address(self) -> tuple[str, int]:
        """Where others find it."""
        return self.announced_host or self.host, self.port

    @property
    def offset(self) -> int:
        """How far it is, for people."""
        return max(0, self.acked)

    def is_online(self) -> bool:
        """Whether it follows the stream."""
        return self.state == ONLINE and not self.rdb_only

    def streams(self) -> bool:
        """Whether bytes of the stream may be sent to it now."""
        return self.state == ONLINE and not self.waits_for_ack and not self.rdb_only

    def hear(self, acked: int, synced: int, now_ms: int) -> None:
        """It says how far it is; a count never goes back."""
        self.acked = max(self.acked, acked)
        self.synced = max(self.synced, synced)
        self.heard_ms = now_ms

    def lag_s(self, now_ms: int) -> int:
        """Seconds since it was heard."""
        return max(0, now_ms - self.heard_ms) // 1000


class Peers:
    """All of them, in the order in which they came."""

    def __init__(self) -> None:
        self.by_number: dict[int, Peer] = {}

    def __iter__(self) -> Iterator[Peer]:
        return iter(list(self.by_number.values()))

    def __len__(self) -> int:
        return len(self.by_number)

    def add(self, peer: Peer) -> None:
        """A replica has asked for the stream."""
        peer.is_attached = True
        self.by_number[peer.number] = peer

    def remove(self, peer: Peer) -> None:
        """It is gone."""
        self.by_number.pop(peer.number, None)

    def in_state(self, state: str) -> list[Peer]:
        """Those in one state."""
        return [peer for peer in self if peer.state == state]

    def needed(self, end: int) -> int:
        """The offset from which on somebody still needs the stream; ``end`` if nobody does."""
        for peer in self.by_number.values():
            if NOWHERE < peer.position < end and not peer.rdb_only:
                end = peer.position
        return end

    def count_acked(self, offset: int) -> int:
        """How many have applied the stream up to there."""
        count = 0
        for peer in self.by_number.values():
            if peer.acked >= offset and peer.is_online():
                count += 1
        return count

    def count_synced(self, offset: int) -> int:
        """How many have the stream on disk up to there."""
        count = 0
        for peer in self.by_number.values():
            if peer.synced >= offset and peer.is_online():
                count += 1
        return count

    def count_good(self, now_ms: int, max_lag_s: int) -> int:
        """How many were heard not longer ago than this, to the nearest second: they speak once a
        second, and whole seconds would let a silent one count for one more.
        """
        since_ms = now_ms - max_lag_s * 1000 - 500
        count = 0
        for peer in self.by_number.values():
            if peer.heard_ms > since_ms and peer.is_online():
                count += 1
        return count
