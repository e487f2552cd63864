"""Compares the data of a server after a crash with its promises.

    known    = every entry of the last check and every entry that a reply has named since
    entries  = known entries and those that producers had in flight (a prefix, whole
               transactions), without deleted ones; nothing else, no token twice, IDs rising
    groups   = for each consumer connection the state after 0, 1, ... of its requests
               in flight; the state that was found must be one of these, in all details

Every difference is one sentence.  An empty list means that the promise was kept;
the ledger then adopts the state that was found, for the next cycle.
"""

from __future__ import annotations

from collections.abc import Iterator

from reliability.found import Found, FoundGroup, FoundStream
from reliability.ledger import (
    Add,
    ConsumerBook,
    GroupBook,
    GroupRequest,
    Ledger,
    Line,
    Pending,
    Read,
    write_id,
)


def judge(ledger: Ledger, lines: list[Line], found: Found) -> list[str]:
    """All broken promises; if there are none, the ledger adopts the state that was found."""
    faults = list(ledger.complaints)
    faults += [f"{key} is gone" for key in ledger.shown if key not in found.streams]
    if faults:
        return faults
    settled: list[ConsumerBook] = []
    for line in lines:
        if line.book is not None:
            book, differences = settle_consumer(line.book, line, found)
            settled.append(book)
            faults += differences
    for key, stream in found.streams.items():
        faults += stream_faults(ledger, settled, key, stream)
    faults += producer_faults(ledger, lines, found)
    if not faults:
        adopt(ledger, settled, found)
    return faults


def settle_consumer(book: ConsumerBook, line: Line, found: Found) -> tuple[ConsumerBook, list[str]]:
    """How many of the requests in flight were done: the state that fits, or the nearest one."""
    trial = book.copy()
    best, fewest = trial.copy(), list(differences(trial, found))
    for request in line.in_flight:
        if not fewest:
            break
        assert isinstance(request, GroupRequest)
        if isinstance(request, Read):
            settle_read(request, trial, found)
        else:
            request.apply(trial)
        left = list(differences(trial, found))
        if len(left) < len(fewest):
            best, fewest = trial.copy(), left
    return best, fewest


def settle_read(request: Read, book: ConsumerBook, found: Found) -> None:
    """A read without a reply: derive its deliveries from the state that was found, if possible.

    It delivers the entries after the group's last ID without a gap, at most ``count`` a stream,
    and moves the last ID to the last of them.  Anything else is left as a difference.
    """
    record = request.record()
    for key in request.keys:
        group = found.streams[key].groups.get(request.group)
        expected = book.groups.get((key, request.group))
        if group is None or expected is None or group.last_id <= expected.last_id:
            continue
        span = [e for e in sorted(group.pending) if expected.last_id < e <= group.last_id]
        new = [e for e in span if record_fits(record, group.pending[e])]
        there = {e for e in found.streams[key].order if expected.last_id < e <= group.last_id}
        # A deleted entry that was pending already may look just delivered; it does not count.
        old = {e for e in new if e in expected.pending and e not in there}
        is_whole = new and new[-1] == group.last_id and not there - set(new)
        if is_whole and len(new) - len(old) <= request.count:
            request.deliver(book, key, new)


def record_fits(record: Pending, seen: tuple[str, int, int]) -> bool:
    """Whether a pending entry matches the book: owner, count, and time within its range."""
    consumer, time_ms, count = seen
    is_same = consumer == record.consumer and count == record.count
    return is_same and record.from_ms <= time_ms <= record.to_ms


def differences(book: ConsumerBook, found: Found) -> Iterator[str]:
    """The differences between the state that was found and the book."""
    for (key, name), expected in book.groups.items():
        group = found.streams[key].groups.get(name)
        if group is None:
            yield f"group {name} of {key} is gone"
        else:
            yield from group_differences(f"group {name} of {key}", expected, group)
    for key, stream in found.streams.items():
        for name in stream.groups:
            mine = name.endswith(str(book.number))
            if mine and (key, name) not in book.groups:
                yield f"group {name} of {key} is back"
    for key, ids in book.deleted.items():
        back = sorted(ids & found.streams[key].entries.keys())
        yield from (f"{key} {write_id(entry)} was deleted and is back" for entry in back)
    for key, ids in book.live.items():
        lost = sorted(ids - found.streams[key].entries.keys())
        yield from (f"{key} {write_id(entry)} was read and is lost" for entry in lost)


def group_differences(where: str, expected: GroupBook, group: FoundGroup) -> Iterator[str]:
    """One group, in all details that can be known."""
    yield from (f"{where}: {fault}" for fault in group.faults)
    if group.last_id != expected.last_id:
        yield f"{where}: last ID {write_id(group.last_id)}, not {write_id(expected.last_id)}"
    if group.consumers != expected.consumers:
        yield f"{where}: consumers {sorted(group.consumers)}, not {sorted(expected.consumers)}"
    for entry in sorted(expected.pending.keys() | group.pending.keys()):
        record, seen = expected.pending.get(entry), group.pending.get(entry)
        if record is None:
            yield f"{where}: {write_id(entry)} is pending again"
        elif seen is None:
            yield f"{where}: {write_id(entry)} is no longer pending"
        elif not record_fits(record, seen):
            yield f"{where}: {write_id(entry)} is pending as {seen}, not {record}"


def stream_faults(
    ledger: Ledger, settled: list[ConsumerBook], key: str, stream: FoundStream
) -> Iterator[str]:
    """The entries and counters of one stream."""
    known = ledger.entries[key] | ledger.shown[key]
    deleted = set().union(*(book.deleted.get(key, set()) for book in settled))
    for entry in sorted(known.keys() - deleted - stream.entries.keys()):
        yield f"{key} {write_id(entry)} {known[entry]} was acknowledged and is lost"
    for entry, token in stream.entries.items():
        if known.get(entry, token) != token:
            yield f"{key} {write_id(entry)} is {token}, not {known[entry]}"
    if any(a >= b for a, b in zip(stream.order, stream.order[1:], strict=False)):
        yield f"{key}: IDs do not rise"
    if stream.length != len(stream.order):
        yield f"{key}: length {stream.length} beside {len(stream.order)} entries"
    ids = known.keys() | stream.entries.keys()
    last = max(ids | {ledger.last_id[key]})
    if stream.last_id != last:
        yield f"{key}: last ID {write_id(stream.last_id)}, not {write_id(last)}"
    top = max(deleted | {ledger.max_deleted[key]})
    if stream.max_deleted != top:
        yield f"{key}: largest deleted ID {write_id(stream.max_deleted)}, not {write_id(top)}"
    added = ledger.added[key] + len(ids - ledger.entries[key].keys())
    if stream.added != added:
        yield f"{key}: entries-added {stream.added}, not {added}"


def producer_faults(ledger: Ledger, lines: list[Line], found: Found) -> Iterator[str]:
    """Entries that no reply named: they must be a prefix of what a producer had in flight."""
    done = {
        token
        for key, stream in found.streams.items()
        for token in (ledger.shown[key] | stream.entries).values()
    }
    in_flight: set[str] = set()
    counters = dict(ledger.counters)
    for line in lines:
        adds = [request for request in line.in_flight if isinstance(request, Add)]
        in_flight.update(token for request in adds for token in request.tokens)
        yield from prefix_faults(adds, done)
        for request in adds:
            if request.counter and request.tokens[0] in done:
                counters[request.counter] += 1
    yield from foreign_entries(ledger, found, in_flight)
    for name, value in counters.items():
        if found.counters[name] != value:
            yield f"{name} is {found.counters[name]}, not {value}"


def foreign_entries(ledger: Ledger, found: Found, in_flight: set[str]) -> Iterator[str]:
    """Entries that no producer sent, or that are there under two IDs."""
    tokens: set[str] = set()
    for key, stream in found.streams.items():
        known = ledger.entries[key].keys() | ledger.shown[key].keys()
        for entry, token in stream.entries.items():
            if entry not in known and token not in in_flight:
                yield f"{key} {write_id(entry)} {token} came from nowhere"
            if token in tokens:
                yield f"{key} {write_id(entry)} {token} is there under two IDs"
            tokens.add(token)


def prefix_faults(adds: list[Add], done: set[str]) -> Iterator[str]:
    """Requests of one connection are done in order, and a transaction wholly or not at all."""
    has_ended = False
    for request in adds:
        there = [token for token in request.tokens if token in done]
        if there and len(there) < len(request.tokens):
            yield f"a transaction was torn: {there} without the rest of {request.tokens}"
        if there and has_ended:
            yield f"{there[0]} is there, but a request sent before it is not"
        has_ended = has_ended or not there


def adopt(ledger: Ledger, settled: list[ConsumerBook], found: Found) -> None:
    """Start the next cycle from the state that was found good."""
    ledger.counters = dict(found.counters)
    ledger.consumers = settled
    for key, stream in found.streams.items():
        ledger.entries[key] = dict(stream.entries)
        ledger.shown[key] = {}
        ledger.last_id[key] = stream.last_id
        ledger.max_deleted[key] = stream.max_deleted
        ledger.added[key] = stream.added
    for book in settled:
        book.deleted = {key: set() for key in book.deleted}
