"""The replicas of this server, as it sees them.

    session --REPLCONF--> Peer --PSYNC--> CONTINUE ------------------------> ONLINE
                                 |                                            ^
                                 '-> WAITS_FOR_CHILD --fork--> WAITS_FOR_END  |  first ACK
                                          (a copy of all data)    |           |
                                                                  '-> TRANSFER

``position`` is the end of the stream that was sent to it, ``acked`` the offset that it reports
as applied, ``synced`` the offset that it reports as on its disk.

Rules
  1. A replica reads the stream from the backlog, from the moment when its copy was made: no
     byte after that may be released before (``Peers.needed``).
  2. A copy that is sent directly from the child's pipe (diskless) ends with a mark; the stream
     follows only after the replica's first ACK, because the replica looks for the mark at the
     end of the received bytes.
  3. Only ONLINE replicas count for WAIT and for min-replicas-to-write.
"""

from __future__ import annotations

from collections.abc import Iterator

from forebay.replication.history import NOWHERE

# States of a replica.
WAITS_FOR_CHILD = "wait_bgsave"  # no child has begun to write its copy yet
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

# Abilities of a replica.
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
        #: The port where it listens, as it reported.
        self.port = 0
        self.announced_host = ""
        self.capabilities: set[str] = set()
        self.version = ""
        self.state = WAITS_FOR_CHILD
        self.is_attached = False
        #: Why its link ends, if the replica is at fault.
        self.fault = ""
        #: It wants a copy of the data and no stream: redis-cli --rdb.
        self.rdb_only = False
        #: It wants an RDB that holds nothing of this kind of data: REPLCONF rdb-filter-only.
        self.rdb_without_data = False
        #: It sent SYNC, the old way: no +FULLRESYNC line, and it acknowledges nothing.
        self.is_old = False
        self.position = NOWHERE
        #: Below every offset, until it has reported.
        self.acked = NOWHERE
        self.synced = NOWHERE
        self.heard_ms = 0
        #: The stream waits for its first ACK.
        self.waits_for_ack = False

    @property
    def address(self) -> tuple[str, int]:
        """The address for others."""
        return self.announced_host or self.host, self.port

    @property
    def offset(self) -> int:
        """Its offset, for people."""
        return max(0, self.acked)

    def is_online(self) -> bool:
        """Whether it follows the stream."""
        return self.state == ONLINE and not self.rdb_only

    def streams(self) -> bool:
        """Whether bytes of the stream may be sent to it now."""
        return self.state == ONLINE and not self.waits_for_ack and not self.rdb_only

    def hear(self, acked: int, synced: int, now_ms: int) -> None:
        """Take its report; an offset never goes back."""
        self.acked = max(self.acked, acked)
        self.synced = max(self.synced, synced)
        self.heard_ms = now_ms

    def lag_s(self, now_ms: int) -> int:
        """Seconds since its last report."""
        return max(0, now_ms - self.heard_ms) // 1000


class Peers:
    """All replicas, in the order of their arrival."""

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
        """It was closed."""
        self.by_number.pop(peer.number, None)

    def in_state(self, state: str) -> list[Peer]:
        """The replicas in one state."""
        return [peer for peer in self if peer.state == state]

    def needed(self, end: int) -> int:
        """The first offset that a replica still needs; ``end`` if there is none."""
        for peer in self.by_number.values():
            if NOWHERE < peer.position < end and not peer.rdb_only:
                end = peer.position
        return end

    def count_acked(self, offset: int) -> int:
        """How many have applied the stream up to this offset."""
        count = 0
        for peer in self.by_number.values():
            if peer.acked >= offset and peer.is_online():
                count += 1
        return count

    def count_synced(self, offset: int) -> int:
        """How many have the stream on disk up to this offset."""
        count = 0
        for peer in self.by_number.values():
            if peer.synced >= offset and peer.is_online():
                count += 1
        return count

    def count_good(self, now_ms: int, max_lag_s: int) -> int:
        """How many have reported within this time, to the nearest second: they report once a
        second, and with whole seconds a silent one would count for one second more.
        """
        since_ms = now_ms - max_lag_s * 1000 - 500
        count = 0
        for peer in self.by_number.values():
            if peer.heard_ms > since_ms and peer.is_online():
                count += 1
        return count
