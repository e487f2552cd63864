"""Judges a history in Jepsen's manner: each broken promise is one sentence.

    lost           an entry, a delivery or an acknowledgement that was confirmed is gone
    doubled        a token at two IDs, or an entry that was delivered as new twice
    out of order   A had ended before B began, and yet B's ID is lower; a later delivery of new
                   entries goes back to earlier ones
    phantom        an entry that no client sent, or whose XADD was refused; an entry that counts
                   as acknowledged though no client acknowledged it

Tokens are unique, so no search is needed: each check is one pass over the operations in the
order of their times or IDs.  So 60,000 operations take about a second.

*Not* promised: an operation without a confirmation may be lost in a failover
(``Verdict.forgotten`` counts such entries), and an old primary without replicas may have done it.
An operation without a reply may have been done or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reliability.history import (
    CONFIRMED,
    NEVER,
    REFUSED,
    Ack,
    Add,
    FinalGroup,
    FinalStream,
    History,
    Read,
)
from reliability.ledger import Id, write_id


@dataclass
class Verdict:
    """The broken promises, and how many unconfirmed entries the failovers lost."""

    faults: list[str] = field(default_factory=list)
    forgotten: int = 0


def check(history: History) -> Verdict:
    """Check everything about every stream."""
    verdict = Verdict()
    for name, final in history.final.items():
        adds = {add.token: add for add in history.adds if add.stream == name}
        reads = [read for read in history.reads if read.stream == name]
        acks = [ack for ack in history.acks if ack.stream == name]
        stream = StreamCheck(name, final, adds)
        verdict.faults += stream.entries()
        verdict.faults += stream.order()
        verdict.forgotten += stream.forgotten()
        for group, end in final.groups.items():
            theirs = [read for read in reads if read.group == group]
            acked = [ack for ack in acks if ack.group == group]
            verdict.faults += GroupCheck(stream, group, end, theirs, acked).all()
    return verdict


class StreamCheck:
    """The entries of one stream, against those that were sent."""

    def __init__(self, name: str, final: FinalStream, adds: dict[str, Add]) -> None:
        self.name, self.final, self.adds = name, final, adds
        self.ids = {token: entry for entry, token in final.entries}
        self.tokens = dict(final.entries)

    def entries(self) -> Iterator[str]:
        """Lost, doubled and phantom entries, and entries with another ID than the reply said."""
        if len(self.ids) != len(self.final.entries):
            yield from self.doubled()
        for token, entry in self.ids.items():
            yield from self.phantom(entry, token)
        for add in self.adds.values():
            found = self.ids.get(add.token)
            if found is None and add.outcome == CONFIRMED:
                yield f"lost: {self.name} {write_id(add.id)}, {add.token}, was confirmed"
            elif found is not None and add.was_answered and found != add.id:
                told = f"was said to be {write_id(add.id)} and is {write_id(found)}"
                yield f"moved: {self.name} {add.token} {told}"

    def doubled(self) -> Iterator[str]:
        """Tokens that are at two IDs."""
        seen: dict[str, Id] = {}
        for entry, token in self.final.entries:
            if token in seen:
                both = f"{write_id(seen[token])} and at {write_id(entry)}"
                yield f"doubled: {self.name} {token} is at {both}"
            seen[token] = entry

    def phantom(self, entry: Id, token: str) -> Iterator[str]:
        """Entries that no operation can have made."""
        add = self.adds.get(token)
        if add is None:
            yield f"phantom: {self.name} {write_id(entry)} holds {token}, which nobody sent"
        elif add.outcome == REFUSED:
            yield f"phantom: {self.name} {write_id(entry)}, {token}, was refused to its sender"

    def order(self) -> Iterator[str]:
        """IDs rise with time: in the order of IDs, no operation may have ended before the latest
        start so far."""
        latest_s, latest = -NEVER, ""
        previous: Id = (0, 0)
        for entry, token in self.final.entries:
            if entry <= previous:
                yield f"out of order: {self.name} {write_id(entry)} after {write_id(previous)}"
            previous = entry
            add = self.adds.get(token)
            if add is None:
                continue
            if add.was_answered and add.ended_s < latest_s:
                told = f"{token} ended before {latest}, and has a higher ID"
                yield f"out of order: {self.name} {told}"
            if add.began_s > latest_s:
                latest_s, latest = add.began_s, f"{token} began"

    def forgotten(self) -> int:
        """Entries that were acknowledged, not confirmed, and are gone."""
        return sum(
            add.was_answered and add.outcome != CONFIRMED and add.token not in self.ids
            for add in self.adds.values()
        )


class GroupCheck:
    """The deliveries and acknowledgements of one group."""

    def __init__(
        self,
        stream: StreamCheck,
        name: str,
        end: FinalGroup,
        reads: list[Read],
        acks: list[Ack],
    ) -> None:
        self.stream, self.name, self.end = stream, f"{stream.name} {name}", end
        self.reads, self.acks = reads, acks
        self.confirmed_acks = earliest(acks)

    def all(self) -> Iterator[str]:
        """Run every check of a group."""
        for read in self.reads:
            yield from self.delivered(read)
        yield from self.went_back()
        yield from self.lost_acks()
        yield from self.phantom_acks()

    def delivered(self, read: Read) -> Iterator[str]:
        """Entries were delivered as they were sent, confirmed ones are still there, and none was
        acknowledged for good before."""
        previous: Id = (0, 0)
        for entry, token in read.entries:
            where = f"{self.name} {write_id(entry)}"
            if entry <= previous:
                yield f"out of order: {where} was delivered after {write_id(previous)}"
            previous = entry
            if token not in self.stream.adds:
                yield f"phantom: {where} was delivered with {token}, which nobody sent"
            elif read.outcome == CONFIRMED and self.stream.tokens.get(entry) != token:
                found = self.stream.tokens.get(entry)
                yield f"lost: {where}, {token}, was delivered and confirmed, and is {found}"
            if read.outcome == CONFIRMED and self.confirmed_acks.get(entry, NEVER) < read.began_s:
                yield f"lost: {where} was delivered again after its confirmed acknowledgement"

    def went_back(self) -> Iterator[str]:
        """A read of new entries that began after another had ended must deliver later ones.  Only
        confirmed reads count: an old primary that is cut off may deliver anything."""
        news = [read for read in self.reads if not read.is_claim and read.entries]
        news = [read for read in news if read.outcome == CONFIRMED]
        ended = sorted(news, key=_ended_s)
        at, reached = 0, (0, 0)
        for read in sorted(news, key=_began_s):
            while at < len(ended) and ended[at].ended_s < read.began_s:
                reached = max(reached, ended[at].entries[-1][0])
                at += 1
            first = read.entries[0][0]
            if first <= reached:
                what = "doubled" if first == reached else "out of order"
                news_of = f"{write_id(first)} was delivered as new to {read.client}"
                yield f"{what}: {self.name} {news_of} after {write_id(reached)} was confirmed"

    def lost_acks(self) -> Iterator[str]:
        """A confirmed acknowledgement is for good."""
        for entry in sorted(self.end.pending & self.confirmed_acks.keys()):
            yield f"lost: the acknowledgement of {self.name} {write_id(entry)} was confirmed"

    def phantom_acks(self) -> Iterator[str]:
        """Every entry that the group has read is pending, or a client has acknowledged it."""
        asked = {entry for ack in self.acks if ack.outcome != REFUSED for entry in ack.ids}
        for entry in self.stream.tokens:
            if entry <= self.end.last_id and entry not in asked and entry not in self.end.pending:
                yield f"phantom: nobody acknowledged {self.name} {write_id(entry)}"
        for ack in self.acks:
            if ack.count > len(ack.ids):
                yield f"phantom: {self.name} counted {ack.count} of {len(ack.ids)} acknowledgements"


def earliest(acks: list[Ack]) -> dict[Id, float]:
    """When each entry was first acknowledged for good.  If the reply counted fewer than were
    named, some were not pending, and nothing is promised of them."""
    found: dict[Id, float] = {}
    for ack in acks:
        if ack.outcome == CONFIRMED and ack.count == len(ack.ids):
            for entry in ack.ids:
                found[entry] = min(found.get(entry, NEVER), ack.ended_s)
    return found


def _began_s(read: Read) -> float:
    return read.began_s


def _ended_s(read: Read) -> float:
    return read.ended_s
