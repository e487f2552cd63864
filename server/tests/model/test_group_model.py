"""A group on a real stream against a plain list of entries, step by step."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from forebay.core.check import check_group
from forebay.core.group import Group, drop_references, is_referenced, lag, min_last_id
from forebay.core.stream import Stream

Id = tuple[int, int]
names = st.sampled_from([b"", b"alice", b"al", b"bob"])
picks = st.integers(0, 30)


class GroupModel(RuleBasedStateMachine):
    """Entries are added, read, acknowledged, claimed, released and deleted."""

    @initialize(late=st.booleans(), before=st.integers(0, 3))
    def begin(self, late: bool, before: int) -> None:
        self.stream = Stream()
        self.added: list[Id] = []
        self.live: list[Id] = []
        self.now_ms = 1000
        for _ in range(before):
            self.append(1)
        last = self.added[-1] if late and self.added else (0, 0)
        known = len(self.added) if late else 0
        self.group = Group(b"g", *last, known)
        self.other = Group(b"other", 2**64 - 1, 2**64 - 1, -1)
        self.stream.groups.insert(b"g", self.group)
        self.stream.groups.insert(b"other", self.other)
        self.owner: dict[Id, bytes] = {}
        self.released: list[Id] = []

    def last(self) -> Id:
        return self.group.last_ms, self.group.last_seq

    @rule(step=st.sampled_from([1, 255, 256, 2**40]))
    def append(self, step: int) -> None:
        ms, seq = self.added[-1] if self.added else (5, 0)
        entry_id = (ms, seq + 1) if step == 1 else (ms + step, 0)
        self.stream.add(*entry_id, [b"f", b"v"])
        self.added.append(entry_id)
        self.live.append(entry_id)

    @rule(name=names, noack=st.booleans(), n=st.integers(1, 4))
    def read(self, name: bytes, noack: bool, n: int) -> None:
        consumer = self.group.consumer(name) or self.group.create_consumer(name, self.now_ms)
        self.now_ms += 1
        for entry_id in [i for i in self.live if i > self.last()][:n]:
            self.group.deliver(self.stream, *entry_id, consumer, self.now_ms, noack)
            if not noack:
                assert consumer.active_ms == self.now_ms
                self.own(entry_id, name)
                assert self.group.pending.deliveries(self.group.pending.find(*entry_id)) == 1

    def own(self, entry_id: Id, name: bytes) -> None:
        self.owner[entry_id] = name
        if entry_id in self.released:
            self.released.remove(entry_id)

    def forget(self, entry_id: Id) -> None:
        self.owner.pop(entry_id, None)
        if entry_id in self.released:
            self.released.remove(entry_id)

    @rule(pick=picks)
    def acknowledge(self, pick: int) -> None:
        if self.added:
            entry_id = self.added[pick % len(self.added)]
            assert self.group.ack(*entry_id) is (entry_id in self.owner)
            self.forget(entry_id)

    @rule(pick=picks, name=names)
    def claim(self, pick: int, name: bytes) -> None:
        consumer = self.group.consumer(name)
        if self.owner and consumer is not None:
            entry_id = sorted(self.owner)[pick % len(self.owner)]
            self.now_ms += 1
            self.group.claim(self.group.pending.find(*entry_id), consumer, self.now_ms, 7)
            self.own(entry_id, name)

    @rule(pick=picks)
    def release(self, pick: int) -> None:
        if self.owner:
            entry_id = sorted(self.owner)[pick % len(self.owner)]
            self.group.nack(self.group.pending.find(*entry_id), 2**63 - 1)
            self.forget(entry_id)
            self.owner[entry_id] = b"nobody"
            self.released.append(entry_id)

    @rule(name=names)
    def leave(self, name: bytes) -> None:
        doomed = [i for i, owner in self.owner.items() if owner == name]
        assert self.group.delete_consumer(name) == len(doomed)
        for entry_id in doomed:
            self.forget(entry_id)

    @rule(pick=picks, drop=st.booleans())
    def delete(self, pick: int, drop: bool) -> None:
        if self.live:
            entry_id = self.live.pop(pick % len(self.live))
            self.stream.delete(*entry_id)
            if drop:
                assert drop_references(self.stream, *entry_id) == (entry_id in self.owner)
                self.forget(entry_id)

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "released"):
            return
        check_group(self.group)
        check_group(self.group.copy())
        pending = self.group.pending
        found = {(pending.id_ms(s), pending.id_seq(s)): s for s in pending.by_id.slots()}
        assert sorted(found) == sorted(self.owner)
        for entry_id, slot in found.items():
            name = self.group.owner_name(slot) if pending.owner_no(slot) else b"nobody"
            assert name == self.owner[entry_id]
        zone = self.group.copy().pending.by_time.slots()[: pending.nacked]
        twin = self.group.copy().pending
        assert [(twin.id_ms(s), twin.id_seq(s)) for s in zone] == self.released

    @invariant()
    def counters_are_right_or_unknown(self) -> None:
        if not hasattr(self, "released"):
            return
        behind = [i for i in self.live if i > self.last()]
        assert lag(self.stream, self.group) in (None, len(behind))
        if self.stream.maxdel_ms == 0 and self.last() in ((0, 0), *self.added):
            assert lag(self.stream, self.group) == len(behind)
        read = [i for i in self.added if i <= self.last()]
        assert self.group.entries_read in (-1, len(read))

    @invariant()
    def references_are_what_is_unread_or_pending(self) -> None:
        if not hasattr(self, "released"):
            return
        low = min_last_id(self.stream)
        assert low == self.last()
        for entry_id in self.added:
            wanted = entry_id > self.last() or entry_id in self.owner
            assert is_referenced(self.stream, *entry_id, *low) is wanted


TestGroupModel = GroupModel.TestCase
TestGroupModel.settings = settings(max_examples=80, stateful_step_count=30)
