"""Conditions that must hold after each turn of a node, and when all is quiet.

when WAIT confirms a write
  - two nodes have it; for WAITAOF, where a power loss cannot remove it
after each turn
  - both halves of a transaction are there, or neither
  - a stream's offset does not go back while the server lives and the stream has its name
  - nothing was logged as an internal error
when all is quiet
  - every node holds the primary's data, by its portrait and to the last byte of the stream:
    the same name, the same offset, the same bytes where backlogs overlap
  - the structures of all data are sound (core/check.py)
  - no number of the ledger is there twice; the confirmed ones are there, under their IDs
  - links: each replica has one, and no other is left over
"""

from __future__ import annotations

from typing import Any

from forebay.core.check import check_keyspace
from forebay.core.stream import Stream
from forebay.replication.backlog import Backlog
from forebay.replication.history import NO_ID
from reliability.simulation.clients import AUDIT, PAIR, Ledger
from testkit.replaying import lasting
from testkit.sim_node import SimNode


class BrokenError(Exception):
    """An invariant does not hold; says which."""


class Watch:
    """The checks after each turn."""

    def __init__(self) -> None:
        self.places: dict[SimNode, tuple[str, int]] = {}
        #: The name of a stream, and of the one that it goes on from.
        self.parents: dict[str, str] = {}

    def born(self, node: SimNode) -> None:
        """A new life: nothing is known about it."""
        self.places.pop(node, None)

    def former_names(self, name: str) -> list[str]:
        """The stream that this one goes on from, the one before that, and so on."""
        names = [name]
        while self.parents.get(names[-1], name) not in names:
            names.append(self.parents[names[-1]])
        return names[1:]

    def look(self, node: SimNode) -> None:
        """Check a node after its turn."""
        if node.log.faults:
            raise BrokenError(f"{node.name} logged: " + " / ".join(node.log.faults[:40]))
        if not node.is_ready:
            return
        values = node.engine.keyspace.databases[0].values
        halves = [values.get(name) for name in PAIR]
        if halves[0] != halves[1]:
            raise BrokenError(f"{node.name} shows half a transaction: {halves}")
        replid, offset = node.place
        before = self.places.get(node)
        if before is not None and before[0] == replid and offset < before[1]:
            raise BrokenError(f"{node.name} went back in {replid}: from {before[1]} to {offset}")
        self.places[node] = replid, offset
        former = node.replication.side.history.replid2
        if former != NO_ID:
            self.parents[replid] = former


def check_holders(nodes: list[SimNode], ids: list[bytes], on_disk: bool) -> None:
    """Entries confirmed just now are on two nodes; a dead or loading node may count."""
    for entry_id in ids:
        ms, seq = map(int, entry_id.split(b"-"))
        holders = [node for node in nodes if not node.is_ready or holds(node, ms, seq)]
        if len(holders) < 2:
            raise BrokenError(f"{entry_id!r} was confirmed, and no replica has it")
        if on_disk and sum(not node.is_ready or keeps(node, entry_id) for node in holders) < 2:
            raise BrokenError(f"{entry_id!r} was confirmed by WAITAOF, and is not on two disks")


def holds(node: SimNode, ms: int, seq: int) -> bool:
    """Whether a node has this entry of the ledger's stream."""
    stream = node.engine.keyspace.databases[0].values.get(AUDIT)
    return isinstance(stream, Stream) and stream.exists(ms, seq)


def keeps(node: SimNode, entry_id: bytes) -> bool:
    """Whether a node that has this entry has it safely on its disk: among the synced bytes of an
    increment of its AOF.  An entry that is in no increment is in the base.
    """
    if node.durability.live.aof is None:
        return False
    disk, word = node.disk, b"\r\n%b\r\n$1\r\nt\r\n" % entry_id
    is_late = False
    for path, file_no in disk.names_to_files.items():
        at = disk.contents[file_no].find(word) if path.endswith(".incr.aof") else -1
        if 0 <= at < disk.synced_size(file_no):
            return True
        is_late = is_late or at >= 0
    return not is_late


# -- quiet points -----------------------------------------------------------------------


def check_quiet(nodes: list[SimNode], primary: SimNode, ledger: Ledger) -> dict[int, bytes]:
    """Check everything that must hold when nothing is in transit; returns the ledger's stream."""
    for node in nodes:
        check_keyspace(node.engine.keyspace)
        if node is not primary:
            check_same(primary, node)
    present = audit_of(primary)
    check_ledger(ledger, present)
    return present


def check_same(primary: SimNode, node: SimNode) -> None:
    """A replica holds the same as its primary."""
    if node.place != primary.place:
        raise BrokenError(f"{node.name} is at {node.place}, {primary.name} at {primary.place}")
    left, right = (lasting(each.engine.keyspace) for each in (primary, node))
    if left != right:
        raise BrokenError(f"{primary.name} and {node.name} differ: {difference(left, right)}")
    one, other = (each.replication.side.backlog for each in (primary, node))
    if one is not None and other is not None:
        check_backlogs(one, other)


def check_backlogs(one: Backlog, other: Backlog) -> None:
    """The parts of the stream that both still have are the same."""
    first = max(one.blocks[0].start, other.blocks[0].start, one.first, other.first)
    if stretch(one, first) != stretch(other, first):
        raise BrokenError(f"the streams differ after {first}")


def stretch(backlog: Backlog, first: int) -> bytes:
    """All bytes from an offset on."""
    whole = b"".join(block.data for block in backlog.blocks)
    return whole[first - backlog.blocks[0].start :]


def difference(left: Any, right: Any) -> str:
    """The first thing that is not the same."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            if key not in left or key not in right:
                missing = "left" if key not in left else "right"
                return f"{key!r} is not in the {missing} one"
            if left[key] != right[key]:
                return f"{key!r}: {difference(left[key], right[key])}"
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        for i, (a, b) in enumerate(zip(left, right, strict=False)):
            if a != b:
                return f"[{i}]: {difference(a, b)}"
    return f"{left!r:.300}, {right!r:.300}"


# -- the ledger ---------------------------------------------------------------------------


def audit_of(node: SimNode) -> dict[int, bytes]:
    """The numbers that a node holds, with their IDs."""
    stream = node.engine.keyspace.databases[0].values.get(AUDIT)
    if not isinstance(stream, Stream):
        return {}
    found: dict[int, bytes] = {}
    for ms, seq, fields in stream.range():
        token = int(fields[1])
        if token in found:
            raise BrokenError(f"{node.name} has {token} twice: {found[token]!r} and {ms}-{seq}")
        found[token] = b"%d-%d" % (ms, seq)
    return found


def check_ledger(ledger: Ledger, present: dict[int, bytes]) -> None:
    """The promised entries are there."""
    if ledger.complaints:
        raise BrokenError(ledger.complaints[0])
    if ledger.is_flushed:
        return
    must = set(ledger.on_disk)
    if not ledger.is_lossy:
        must |= ledger.confirmed
        if not ledger.may_lose_acked:
            must |= ledger.acked.keys()
    lost = sorted(must - present.keys())
    if lost:
        kinds = {
            "on two disks": ledger.on_disk,
            "confirmed": ledger.confirmed,
            "acknowledged": ledger.acked.keys(),
        }
        kind = next(name for name, tokens in kinds.items() if lost[0] in tokens)
        raise BrokenError(f"{len(lost)} numbers are lost, the first is {lost[0]}, {kind}")
    for token in must:
        known = ledger.acked.get(token)
        if known is not None and known != present[token]:
            raise BrokenError(f"{token} has the ID {present[token]!r}, the client got {known!r}")
