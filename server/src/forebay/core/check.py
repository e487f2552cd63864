"""Every invariant of the data, as functions that fail with a sentence.

Tests call them after each step, and ``forebay check`` calls them on the loaded
data.  They examine a structure from outside, slowly and without trusting any
counter: everything that can be counted is counted again.

    check_rax       the radix tree: rules 1-5 of rax.py, both counters
    check_pending   the slab and its views: see pel.py
    check_group     a group, its consumers and their pending entries: see group.py
    check_node      a listpack of entries, read from both ends: see node.py
    check_stream    nodes, counters and groups of a stream: see stream.py
    check_keyspace  everything, in every database
"""

from __future__ import annotations

from itertools import pairwise

from forebay import mem
from forebay.core import ids, listpack
from forebay.core.group import Consumer, Group
from forebay.core.keyspace import Database, Keyspace
from forebay.core.layout import KEY_WORDS
from forebay.core.members import Members
from forebay.core.node import Node
from forebay.core.pel import Pending
from forebay.core.rax import Branch, Rax
from forebay.core.stream import Stream
from forebay.core.view import View


def check_rax(tree: Rax) -> None:
    """The tree is sorted and compressed, and its two counters are right."""
    keys = 0
    nodes = 0
    todo = [(tree.root, b"", False)]
    while todo:
        branch, above, siblings = todo.pop()
        check_branch(tree, branch, above)
        keys += branch.key is not None
        nodes += 1 + (siblings and len(branch.label) > 1)
        path = above + branch.label
        todo.extend((child, path, len(branch.children) > 1) for child in branch.children)
    assert tree.count == keys, f"count is {tree.count}, but {keys} keys are there"
    assert tree.node_count == nodes, f"node_count is {tree.node_count}, but should be {nodes}"
    listed = [key for key, _ in tree.items()]
    assert listed == sorted(set(listed)), "keys are not in order"


def check_branch(tree: Rax, branch: Branch, above: bytes) -> None:
    """One branch and its edges downwards."""
    is_root = branch is tree.root
    assert is_root == (branch.label == b""), "the root alone has an empty label"
    assert is_root or branch.key is not None or len(branch.children) > 1, (
        f"branch {above + branch.label!r} should be merged with its only child"
    )
    assert branch.key is None or branch.key == above + branch.label, (
        f"key {branch.key!r} lies on the path of {above + branch.label!r}"
    )
    assert (branch.key is None) == (branch.value is None), (
        f"{branch.key!r} and no value, or reverse"
    )
    firsts = bytes(child.label[0] for child in branch.children)
    assert branch.firsts == firsts, f"first bytes are {branch.firsts!r}, should be {firsts!r}"
    assert list(firsts) == sorted(set(firsts)), f"first bytes {firsts!r} are not in order"


def check_pending(pending: Pending) -> None:
    """All views show the same records, each in its order, and no slot is lost."""
    slots = check_view(pending, pending.by_id)
    live = set(slots)
    assert len(live) == len(slots), "a slot is twice in the view by ID"
    assert pending.count == len(slots), f"count is {pending.count}, but {len(slots)} are pending"
    by_time = check_view(pending, pending.by_time)
    assert set(by_time) == live, "the views by ID and by time differ"
    check_owners(pending, live)
    check_slots(pending, live)
    top = pending.top_ms, pending.top_seq
    for slot in live:
        assert (pending.id_ms(slot), pending.id_seq(slot)) <= top, "an ID is above the top"
        assert pending.records.time_word(slot) <= pending.top_time or (
            pending.owner_no(slot) == 0
        ), "a time is above the top"


def check_view(pending: Pending, view: View) -> list[int]:
    """The slots of a view; its chunks are tight and in order."""
    slots = view.slots()
    assert view.count == len(slots), f"the view counts {view.count}, but has {len(slots)}"
    assert view.tail is view.chunks[-1], "the tail is not the last chunk"
    for chunk in view.chunks[view.head :]:
        assert 0 <= chunk.start <= chunk.end <= chunk.room == len(chunk.cells), (
            "chunk out of bounds"
        )
        assert chunk.start < chunk.end or view.count == 0, "an empty chunk was left over"
    check_fences(pending, view)
    keys = [sort_key(pending, slot, view.by_time) for slot in slots]
    assert all(a < b for a, b in pairwise(keys)), "a view is not in order"
    return slots


def check_fences(pending: Pending, view: View) -> None:
    """Each fence lies between the last record before it and the first after it."""
    assert len(view.fences) == KEY_WORDS * len(view.chunks), "chunks and fences differ in number"
    for no in range(view.head + 1, len(view.chunks)):
        before, chunk = view.chunks[no - 1], view.chunks[no]
        ms, seq, time = view.fences[KEY_WORDS * no : KEY_WORDS * (no + 1)]
        fence = (time, ms, seq) if view.by_time else (ms, seq)
        lower = raw_key(pending, before.cells[before.end - 1], view.by_time)
        upper = raw_key(pending, chunk.cells[chunk.start], view.by_time)
        assert lower < fence <= upper, "a fence is on the wrong side of a record"


def raw_key(pending: Pending, slot: int, by_time: bool) -> tuple[int, ...]:
    """The words that a view compares."""
    entry_id = pending.id_ms(slot), pending.id_seq(slot)
    return (pending.records.time_word(slot), *entry_id) if by_time else entry_id


def sort_key(pending: Pending, slot: int, by_time: bool) -> tuple[int, ...]:
    """The sort key of a record in a view."""
    entry_id = pending.id_ms(slot), pending.id_seq(slot)
    if not by_time:
        return entry_id
    owned = pending.owner_no(slot) != 0
    return owned, pending.records.time_word(slot), *entry_id


def check_owners(pending: Pending, live: set[int]) -> None:
    """Each record is in the view of its owner and in no other."""
    unowned = [slot for slot in live if pending.owner_no(slot) == 0]
    assert pending.nacked == len(unowned), f"nacked is {pending.nacked}, should be {len(unowned)}"
    assert all(pending.time_ms(slot) == 0 for slot in unowned), "an unowned record has a time"
    assert pending.owners[0] is None, "number 0 is nobody's"
    owned = 0
    for number, view in enumerate(pending.owners):
        if view is None:
            continue
        slots = check_view(pending, view)
        owned += len(slots)
        assert all(slot in live for slot in slots), f"owner {number} holds a free slot"
        assert all(pending.owner_no(slot) == number for slot in slots), f"not all are {number}'s"
    assert owned == len(live) - len(unowned), "a record is in no owner's view"
    free = [n for n, view in enumerate(pending.owners) if view is None and n > 0]
    assert sorted(pending.free_numbers) == free, "the list of free owner numbers is wrong"


def check_slots(pending: Pending, live: set[int]) -> None:
    """Every slot is in use or in the chain of free ones; all large counts are in use."""
    records = pending.records
    free, slot = set[int](), records.free
    while slot != 0:
        assert slot not in free, "the chain of free slots is a ring"
        free.add(slot)
        slot = records.id_ms(slot)
    assert not free & live, "a slot is free and in use"
    assert free | live == set(range(1, records.used)), "a slot was lost"
    assert records.used <= records.room, "more slots than room"
    large = {slot for slot in live if pending.deliveries(slot) >= mem.U32_MAX}
    assert set(records.large) == large, "large delivery counts are not those of the records"


def check_group(group: Group) -> None:
    """Consumers and owners are the same, and the pending entries are sound."""
    check_pending(group.pending)
    check_rax(group.consumers)
    consumers: list[tuple[bytes, Consumer]] = group.consumers.items()
    for name, consumer in consumers:
        assert consumer.name == name, f"consumer {consumer.name!r} is filed under {name!r}"
        assert group.consumer_by_number(consumer.number) is consumer, f"{name!r} has a wrong number"
        assert group.pending.owners[consumer.number] is consumer.view, f"{name!r} has a wrong view"
    numbers = [number for number, known in enumerate(group.numbered) if known is not None]
    owners = [number for number, view in enumerate(group.pending.owners) if view is not None]
    assert numbers == owners, "an owner of pending entries is no consumer"
    assert len(numbers) == group.consumers.count, "a numbered consumer has no name"
    assert group.entries_read >= -1, f"entries_read is {group.entries_read}"


def read_elements(blob: bytes) -> list[tuple[int, int, int | bytes]]:
    """Every element of a listpack: where it starts, where it ends, its value."""
    assert int.from_bytes(blob[:4], "little") == len(blob), "the header has a wrong size"
    found: list[tuple[int, int, int | bytes]] = []
    at = 6
    while blob[at] != 255:
        after = listpack.skip(blob, at)
        is_int = listpack.is_int(blob, at)
        found.append((at, after, int(listpack.element(blob, at)) if is_int else b""))
        assert listpack.back(blob, after) == at, f"the element at {at} cannot be found from its end"
        at = after
    assert at == len(blob) - 1, "bytes after the end mark"
    count = int.from_bytes(blob[4:6], "little")
    assert count == min(len(found), 65535), f"the header counts {count}, there are {len(found)}"
    return found


def check_node(node: Node) -> list[tuple[int, int, bool]]:
    """The records of a node as (ms, seq, live); the listpack and its counters are sound."""
    values = [value for _, _, value in read_elements(node.blob())]
    count, deleted, nfields = values[0], values[1], values[2]
    assert isinstance(nfields, int), "the number of fields is no number"
    assert (count, deleted, nfields) == (node.count, node.deleted, node.nfields), "stale counters"
    assert values[3 + nfields] == 0, "the master entry does not end in 0"
    at = 4 + nfields
    records: list[tuple[int, int, bool]] = []
    while at < len(values):
        flags, ms, seq = values[at : at + 3]
        assert isinstance(flags, int) and isinstance(ms, int) and isinstance(seq, int)
        assert 0 <= flags <= 3, f"unknown flags {flags}"
        size = 3 + nfields if flags & 2 else 4 + 2 * int(values[at + 3])
        assert values[at + size] == size, "lp-count is not the size of its entry"
        where = (node.ms + ms) % 2**64, (node.seq + seq) % 2**64
        records.append((*where, not flags & 1))
        at += size + 1
    live = sum(record[2] for record in records)
    assert (live, len(records) - live) == (count, deleted), "count or deleted is not true"
    assert records[0][:2] == (node.ms, node.seq), "the node is not named after its first record"
    assert node.last_record() == records[-1][:2], "the last record is not found from the end"
    return records


def check_stream(stream: Stream) -> None:
    """Invariants 1 to 5 of stream.py."""
    check_rax(stream.nodes)
    records: list[tuple[int, int, bool]] = []
    for key, node in stream.nodes.items():
        assert ids.from_key(key) == (node.ms, node.seq), "a node is filed under a wrong ID"
        assert node.count > 0, "an empty node was left over"
        assert node is stream.tail or isinstance(node.buf, bytes) or node.deleted, "not sealed"
        records.extend(check_node(node))
    where = [record[:2] for record in records]
    assert all(a < b for a, b in pairwise(where)), "records are not in order"
    live = [record[:2] for record in records if record[2]]
    last_id = stream.last_ms, stream.last_seq
    first_id = stream.first_ms, stream.first_seq
    assert stream.tail is stream.nodes.last_value(), "the tail is not the last node"
    assert stream.length == len(live), f"length is {stream.length}, {len(live)} entries are there"
    assert not where or where[-1] <= last_id, "a record is above the last ID"
    assert first_id == (live[0] if live else (0, 0)), "first_id is not the first entry's"
    assert stream.entries_added >= stream.length, "fewer entries added than there are"
    for name, group in stream.groups.items():
        assert group.name == name, f"group {group.name!r} is filed under {name!r}"
        check_group(group)


def check_indexes(db: Database) -> None:
    """The list of keys and the heap of deadlines agree with the dictionaries."""
    assert db.expires.keys() <= db.values.keys(), f"database {db.index}: a lost key expires"
    assert len(db.order) == len(db.values), f"database {db.index}: order has lost or kept keys"
    assert db.place.keys() == db.values.keys(), f"database {db.index}: place is not of the keys"
    for i, key in enumerate(db.order):
        assert db.place[key] == i, f"database {db.index}: {key!r} is not where place says"
    pairs = set(db.deadlines)
    for key, when_ms in db.expires.items():
        assert (when_ms, key) in pairs, f"database {db.index}: nobody would expire {key!r}"


def check_members(members: Members) -> None:
    """The order of a set, if it has one, has every member once."""
    if members.order is not None:
        assert members.place.keys() == members, "place is not of the members"
        for member, i in members.place.items():
            assert members.order[i] == member, f"{member!r} is not where place says"
        assert len(members.order) == len(members), "order has lost or kept members"


def check_keyspace(keyspace: Keyspace) -> None:
    """Check every stream of every database, and that the indexes name existing keys."""
    for db in keyspace.databases:
        check_indexes(db)
        for value in db.values.values():
            if isinstance(value, Stream):
                check_stream(value)
            elif isinstance(value, Members):
                check_members(value)
