"""One stream as commands that create it: entries, counters, groups, pending entries, messages.

    XADD key id field value ...                    each live entry, and each ghost at its place
    XSETID key last ENTRIESADDED n MAXDELETEDID id
    XGROUP CREATE key group last ENTRIESREAD n     each group ...
    XGROUP CREATECONSUMER key group name           ... its consumers that have nothing pending
    XCLAIM key group name 0 id id ... TIME t JUSTID RETRYCOUNT n FORCE    those that have
    XNACK key group FAIL IDS n id ... RETRYCOUNT n FORCE       unowned entries, in order
    XCFGSET key IDMP-DURATION s IDMP-MAXSIZE n     if the settings are not the usual ones
    XIDMPRECORD key pid iid id                     each message that is remembered
    XTRIM key MAXLEN n / XDEL key id ...           remove the ghosts again
    XSETID ...                                     remove their traces

Ghosts.  An entry can be deleted while it is pending, or while the stream remembers
it as the entry of a producer's message.  XCLAIM and XIDMPRECORD accept no ID that
is not in the stream.  So the entry is added with some content, claimed, and
deleted again, which repeats how the record lost its entry.  Ghosts before the
first live entry are removed by XTRIM, because only XDEL leaves a trace in
max-deleted-id; ghosts after it were originally deleted by XDEL.

Entries pending with the same owner, time and count make one XCLAIM.

Rule: between two calls the stream must not change.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.core import ids
from forebay.core.cursor import Cursor
from forebay.core.finder import Finder
from forebay.core.group import Group
from forebay.core.stream import Stream
from forebay.core.view import View
from forebay.persistence.aof.base_writer import BaseWriter

#: The maximum number of IDs in one command.
IDS_PER_COMMAND = 1024
# XADD key id ...
ADD_ARGS = 3
# XCLAIM key group consumer 0 ... TIME ms JUSTID RETRYCOUNT n FORCE
CLAIM_ARGS = 11
# XNACK key group FAIL IDS n ... RETRYCOUNT n FORCE
NACK_ARGS = 9


class Run:
    """IDs of pending entries that fit in one command."""

    def __init__(self) -> None:
        self.ids: array[int] = array("Q", bytes(16 * IDS_PER_COMMAND))
        self.w: mem.Words = mem.words(self.ids)
        self.n = 0
        self.time_ms = 0
        self.deliveries = 0

    def goes_on(self, time_ms: int, deliveries: int) -> bool:
        """Whether an entry with these properties can join the run."""
        if self.n == 0:
            return True
        if self.n == IDS_PER_COMMAND:
            return False
        return self.time_ms == time_ms and self.deliveries == deliveries

    def add(self, ms: int, seq: int, time_ms: int, deliveries: int) -> None:
        """Add one entry."""
        self.time_ms = time_ms
        self.deliveries = deliveries
        self.w[2 * self.n] = ms
        self.w[2 * self.n + 1] = seq
        self.n += 1


class StreamRewriter:
    """Writes one stream: call entries() until it returns False, then finish()."""

    def __init__(self, base: BaseWriter, key: bytes, stream: Stream) -> None:
        self.base = base
        self.out = base.out
        self.key = key
        self.stream = stream
        self.cursor: Cursor = stream.cursor()
        self.cursor.open(0, 0, mem.U64_MAX, mem.U64_MAX, False)
        self.ghosts = find_ghosts(stream)
        self.ghost_words = len(self.ghosts)
        self.next_ghost = 0
        self.run = Run()

    # -- entries ----------------------------------------------------------------

    def entries(self) -> bool:
        """Write entries up to the end of a stretch; whether there may be more."""
        cursor = self.cursor
        while cursor.next():
            if self.next_ghost < self.ghost_words:
                self.ghosts_before(cursor.ms, cursor.seq)
            self.entry(cursor)
            if self.base.flush_if_full():
                return True
        self.ghosts_before(mem.U64_MAX, mem.U64_MAX)
        if self.stream.length == 0 and self.ghost_words == 0:
            self.base.command([b"XADD", self.key, b"MAXLEN", b"0", b"0-1", b"x", b"y"])
        return False

    def entry(self, cursor: Cursor) -> None:
        """The XADD of the entry under the cursor."""
        fields = cursor.fields()
        out = self.out
        out.array(ADD_ARGS + len(fields))
        out.bulk(b"XADD")
        out.bulk(self.key)
        out.stream_id(cursor.ms, cursor.seq)
        for text in fields:
            out.bulk(text)

    def ghosts_before(self, ms: int, seq: int) -> None:
        """Add the ghosts up to an ID."""
        at = self.next_ghost
        ghosts = self.ghosts
        while at < self.ghost_words and not mem.before(ms, seq, ghosts[at], ghosts[at + 1]):
            name = ids.text(ghosts[at], ghosts[at + 1])
            self.base.command([b"XADD", self.key, name, b"x", b"y"])
            self.base.flush_if_full()
            at += 2
        self.next_ghost = at

    # -- the rest ---------------------------------------------------------------

    def idmp_settings(self) -> None:
        """Write the settings for remembered messages."""
        duration_s = b"%d" % self.stream.idmp_duration_s
        maxsize = b"%d" % self.stream.idmp_maxsize
        self.base.command(
            [b"XCFGSET", self.key, b"IDMP-DURATION", duration_s, b"IDMP-MAXSIZE", maxsize]
        )

    def finish(self) -> None:
        """Write everything except the entries."""
        stream = self.stream
        last_ms, last_seq = stream.last_ms, stream.last_seq
        added = own_added = stream.entries_added
        # XGROUP CREATE lets no group have read more than was added; a later XSETID may have changed
        # that.
        for group in stream.groups.values():
            added = max(added, group.entries_read)
        is_final = self.ghost_words == 0 and added == own_added
        if self.ghost_words > 0:
            top_ms, top_seq = self.ghosts[self.ghost_words - 2], self.ghosts[self.ghost_words - 1]
            if mem.before(last_ms, last_seq, top_ms, top_seq):
                last_ms, last_seq = top_ms, top_seq
        self.set_id(last_ms, last_seq, added)
        for group in stream.groups.values():
            self.group(group)
        self.messages()
        if not is_final:
            self.bury_ghosts()
            self.set_id(stream.last_ms, stream.last_seq, own_added)

    def set_id(self, ms: int, seq: int, added: int) -> None:
        """Last ID and counters; MAXDELETEDID is omitted if nothing was deleted."""
        stream = self.stream
        words = [b"XSETID", self.key, ids.text(ms, seq), b"ENTRIESADDED", b"%d" % added]
        if stream.maxdel_ms != 0 or stream.maxdel_seq != 0:
            words += [b"MAXDELETEDID", ids.text(stream.maxdel_ms, stream.maxdel_seq)]
        self.base.command(words)

    def messages(self) -> None:
        """The remembered messages of producers, oldest first."""
        stream = self.stream
        producers = stream.idmp.producers if stream.idmp is not None else {}
        for pid, iids in producers.items():
            for iid, (ms, seq) in iids.items():
                if not is_lost(stream, ms, seq):
                    self.base.command([b"XIDMPRECORD", self.key, pid, iid, ids.text(ms, seq)])
                    self.base.flush_if_full()

    def bury_ghosts(self) -> None:
        """Remove ghosts before the first live entry by a trim, those after it by name."""
        stream = self.stream
        words = self.ghost_words
        at = 0
        while at < words and self.is_in_front(self.ghosts[at], self.ghosts[at + 1]):
            at += 2
        left = stream.length + (words - at) // 2
        if at > 0:
            self.base.command([b"XTRIM", self.key, b"MAXLEN", b"%d" % left])
        while at < words:
            end = min(at + 2 * IDS_PER_COMMAND, words)
            names = [ids.text(self.ghosts[i], self.ghosts[i + 1]) for i in range(at, end, 2)]
            self.base.command([b"XDEL", self.key, *names])
            at = end

    def is_in_front(self, ms: int, seq: int) -> bool:
        """Whether there is no live entry before this ID."""
        stream = self.stream
        return stream.length == 0 or mem.before(ms, seq, stream.first_ms, stream.first_seq)

    # -- groups -----------------------------------------------------------------

    def group(self, group: Group) -> None:
        """A group, its consumers and all pending entries."""
        base = self.base
        pending = group.pending
        last = ids.text(group.last_ms, group.last_seq)
        read = b"%d" % group.entries_read
        base.command([b"XGROUP", b"CREATE", self.key, group.name, last, b"ENTRIESREAD", read])
        for consumer in group.consumers.values():
            count = consumer.view.count
            if count > 0:
                self.walk(group, consumer.view, count, consumer.name)
            else:
                base.command([b"XGROUP", b"CREATECONSUMER", self.key, group.name, consumer.name])
                base.flush_if_full()
        self.walk(group, pending.by_time, pending.nacked, None)

    def walk(self, group: Group, view: View, count: int, owner: bytes | None) -> None:
        """The first records of a view, all with one owner or none."""
        pending = group.pending
        run = self.run
        slot = view.first()
        for _ in range(count):
            time_ms = pending.time_ms(slot)
            deliveries = pending.deliveries(slot)
            if not run.goes_on(time_ms, deliveries):
                self.end_run(group.name, owner)
            run.add(pending.id_ms(slot), pending.id_seq(slot), time_ms, deliveries)
            slot = view.after(slot)
        self.end_run(group.name, owner)

    def end_run(self, group: bytes, owner: bytes | None) -> None:
        """Write the run, if it has entries, and begin another."""
        if self.run.n > 0:
            self.write_run(group, owner)
            self.run.n = 0
            self.base.flush_if_full()

    def write_run(self, group: bytes, owner: bytes | None) -> None:
        """One XCLAIM for the run, or XNACK if the entries have no owner."""
        run = self.run
        out = self.out
        deliveries = b"%d" % run.deliveries
        if owner is not None:
            self.open_claim(group, owner)
        else:
            self.open_nack(group)
        for i in range(run.n):
            out.stream_id(run.w[2 * i], run.w[2 * i + 1])
        if owner is not None:
            out.bulk(b"TIME")
            out.bulk(b"%d" % run.time_ms)
            out.bulk(b"JUSTID")
        out.bulk(b"RETRYCOUNT")
        out.bulk(deliveries)
        out.bulk(b"FORCE")

    def open_claim(self, group: bytes, owner: bytes) -> None:
        """XCLAIM up to its IDs."""
        out = self.out
        out.array(CLAIM_ARGS + self.run.n)
        out.bulk(b"XCLAIM")
        out.bulk(self.key)
        out.bulk(group)
        out.bulk(owner)
        out.bulk(b"0")

    def open_nack(self, group: bytes) -> None:
        """XNACK up to its IDs."""
        out = self.out
        out.array(NACK_ARGS + self.run.n)
        out.bulk(b"XNACK")
        out.bulk(self.key)
        out.bulk(group)
        out.bulk(b"FAIL")
        out.bulk(b"IDS")
        out.bulk(b"%d" % self.run.n)


def is_lost(stream: Stream, ms: int, seq: int) -> bool:
    """Whether a ghost is impossible: XDEL would leave a trace above the last ID.

    Only an XTRIM ACKED and then an XSETID downwards lead to this state.
    """
    return stream.length > 0 and mem.before(stream.last_ms, stream.last_seq, ms, seq)


def find_ghosts(stream: Stream) -> array[int]:
    """The IDs that records name and that are not in the stream, in order."""
    finder = Finder(stream)
    found: set[bytes] = set()
    for group in stream.groups.values():
        view = group.pending.by_id
        slot = view.first()
        while slot >= 0:
            ms, seq = view.records.id_ms(slot), view.records.id_seq(slot)
            if not finder.find(ms, seq):
                found.add(ids.key(ms, seq))
            slot = view.after(slot)
    if stream.idmp is not None:
        for iids in stream.idmp.producers.values():
            for ms, seq in iids.values():
                if not finder.find(ms, seq):
                    found.add(ids.key(ms, seq))
    ghosts = array("Q")
    for key in sorted(found):
        ms, seq = ids.from_key(key)
        if not is_lost(stream, ms, seq):
            ghosts.append(ms)
            ghosts.append(seq)
    return ghosts
