"""XREADGROUP against a group kept in two dictionaries: replies and pending records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from forebay.core.check import check_keyspace
from testkit.engine_client import START_MS, EngineClient

NOBODY = ""
NUMBERS = st.integers(1, 25)
WHO = st.sampled_from(["a", "b", "c"])
COUNT = st.sampled_from([None, None, 1, 2, 5])
IDLE = st.sampled_from([None, None, 0, 10, 50, 1000])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 4)),
        st.tuples(st.just("add"), st.integers(1, 4)),
        st.tuples(st.just("new"), WHO, COUNT, COUNT, IDLE, st.booleans()),
        st.tuples(st.just("new"), WHO, COUNT, COUNT, IDLE, st.booleans()),
        st.tuples(st.just("history"), WHO, NUMBERS, COUNT),
        st.tuples(st.just("delete"), NUMBERS),
        st.tuples(st.just("ack"), NUMBERS),
        st.tuples(st.just("nack"), NUMBERS),
        st.tuples(st.just("setid"), NUMBERS),
        st.tuples(st.just("pass"), st.integers(1, 60)),
    ),
    max_size=50,
)


@dataclass
class Record:
    """One pending entry; among those with the same ``time`` the first one is the oldest."""

    owner: str
    time: int
    count: int
    turn: int


@dataclass
class Model:
    """Entries n-0 of one stream and one group on it."""

    now: int = START_MS
    last: int = 0
    live: set[int] = field(default_factory=set)
    read_up_to: int = 0
    pending: dict[int, Record] = field(default_factory=dict)
    turns: int = 0

    def give(self, n: int, who: str, count: int) -> None:
        """The entry belongs to this consumer, or to none, from now on."""
        self.turns += 1
        self.pending[n] = Record(who, 0 if who == NOBODY else self.now, count, self.turns)

    def by_age(self) -> list[int]:
        """Released entries in the order of their release, then the others, longest idle first."""
        held = self.pending
        return sorted(held, key=lambda n: (held[n].time, held[n].turn))

    def idle(self, n: int) -> int:
        return self.now - self.pending[n].time

    def claim(self, who: str, limit: float, min_idle: int) -> list[Any]:
        taken: list[tuple[int, int, int]] = []
        for n in self.by_age():
            if len(taken) >= limit or self.idle(n) < min_idle:
                break
            if n in self.live:
                taken.append((n, self.idle(n), self.pending[n].count))
        for n, _, count in taken:
            self.give(n, who, count + 1)
        return taken

    def deliver(self, who: str, limit: float, noack: bool) -> list[int]:
        news = sorted(n for n in self.live if n > self.read_up_to)
        taken = news[: len(news) if limit == float("inf") else int(limit)]
        for n in taken:
            self.read_up_to = n
            if not noack:
                self.give(n, who, 1)
        return taken

    def history(self, who: str, above: int, limit: float) -> list[Any]:
        own = sorted(n for n, r in self.pending.items() if r.owner == who and n > above)
        shown = own[: len(own) if limit == float("inf") else int(limit)]
        for n in shown:
            if n in self.live:
                self.give(n, who, self.pending[n].count + 1)
        return [(n, n in self.live) for n in shown]

    def rows(self) -> list[list[Any]]:
        """The rows of XPENDING."""
        return [
            [b"%d-0" % n, r.owner.encode(), -1 if r.owner == NOBODY else self.now - r.time, r.count]
            for n, r in sorted(self.pending.items())
        ]


def options(**values: int | None) -> list[str]:
    return [w for name, v in values.items() if v is not None for w in (name.upper(), str(v))]


def number(entry_id: bytes) -> int:
    return int(entry_id.removesuffix(b"-0"))


def read_new(client: EngineClient, model: Model, step: tuple[Any, ...]) -> None:
    _, who, count, maxcount, min_idle, noack = step
    if count is not None and maxcount is not None and maxcount < count:
        maxcount = count
    words = options(count=count, maxcount=maxcount, claim=min_idle) + ["NOACK"] * noack
    reply = client("XREADGROUP", "GROUP", "g", who, *words, "STREAMS", "s", ">")
    limit = min(float("inf") if n is None else n for n in (count, maxcount))
    claimed = [] if min_idle is None else model.claim(who, limit, min_idle)
    news = model.deliver(who, limit - len(claimed), noack)
    entries = [] if reply is None else reply[0][1]
    assert [number(entry[0]) for entry in entries] == [n for n, _, _ in claimed] + news
    if min_idle is not None:
        tails = [(idle, count) for _, idle, count in claimed] + [(0, 0)] * len(news)
        assert [tuple(entry[2:]) for entry in entries] == tails


def apply(client: EngineClient, model: Model, step: tuple[Any, ...]) -> None:
    """Do one step on both, and compare their answers."""
    match step:
        case "add", gap:
            model.last += gap
            model.live.add(model.last)
            client("XADD", "s", f"{model.last}-0", "f", "v")
        case "new", *_:
            read_new(client, model, step)
        case "history", who, above, count:
            words = [*options(count=count), "STREAMS", "s", f"{above}-0"]
            ((_, entries),) = client("XREADGROUP", "GROUP", "g", who, *words)
            expected = model.history(who, above, float("inf") if count is None else count)
            assert [(number(e[0]), e[1] is not None) for e in entries] == expected
        case "delete", n:
            assert client("XDEL", "s", f"{n}-0") == (n in model.live)
            model.live.discard(n)
        case "ack", n:
            assert client("XACK", "s", "g", f"{n}-0") == (n in model.pending)
            model.pending.pop(n, None)
        case "nack", n:
            assert client("XNACK", "s", "g", "FAIL", "IDS", "1", f"{n}-0") == (n in model.pending)
            if n in model.pending:
                model.give(n, NOBODY, model.pending[n].count)
        case "setid", n:
            client("XGROUP", "SETID", "s", "g", f"{n}-0")
            model.read_up_to = n
        case "pass", ms:
            model.now = client.now_ms = model.now + ms


#: An entry delivered again in the same millisecond as another comes after it, as in Redis.
TWO_OF_ONE_TIME = [
    ("add", 1),
    ("add", 1),
    ("new", "a", None, None, None, False),
    ("nack", 1),
    ("new", "a", None, None, 10, False),
    ("new", "a", None, None, 0, False),
]


@given(STEPS)
@example(TWO_OF_ONE_TIME)
@settings(max_examples=200)
def test_a_group_gives_out_what_the_model_gives_out(steps: list[tuple[Any, ...]]) -> None:
    client, model = EngineClient(stream_node_max_entries=4), Model()
    client("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    for step in steps:
        apply(client, model, step)
        assert client("XPENDING", "s", "g", "-", "+", "100") == model.rows()
    check_keyspace(client.engine.keyspace)
