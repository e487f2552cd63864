"""The keyspace: its indexes after any sequence of changes, and the listeners of a change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forebay.core.check import check_keyspace
from forebay.core.keyspace import Database, Keyspace, Waiting


class Ear:
    """A watcher that counts its notifications."""

    def __init__(self) -> None:
        self.heard = 0

    def invalidate(self) -> None:
        self.heard += 1

    def exchange(self, was_there: bool, is_past: bool) -> None:
        self.heard += 1


keys = st.integers(0, 9).map(lambda i: b"k%d" % i)
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["put", "remove", "persist"]), keys),
        st.tuples(st.just("expire"), keys, st.integers(0, 100)),
        st.tuples(st.sampled_from(["clear", "exchange"])),
    ),
    max_size=80,
)


def play(keyspace: Keyspace, step: tuple[object, ...]) -> None:
    db = keyspace.databases[0]
    match step:
        case "put", bytes(key):
            db.put(key, b"value")
        case "remove", bytes(key):
            was_there = key in db.values
            assert db.remove(key) == was_there
        case "persist", bytes(key):
            had_time = key in db.expires
            assert db.persist(key) == had_time
        case "expire", bytes(key), int(when_ms):
            if db.get(key) is not None:
                db.expire_at(key, when_ms)
        case ("clear",):
            db.clear()
        case ("exchange",):
            db.exchange(keyspace.databases[1], now_ms=0)


@given(steps)
def test_the_indexes_always_speak_of_the_keys_that_are_there(
    steps: list[tuple[object, ...]],
) -> None:
    keyspace = Keyspace(2)
    for step in steps:
        play(keyspace, step)
        check_keyspace(keyspace)


@given(st.lists(st.tuples(st.booleans(), keys), max_size=60))
def test_a_key_only_ever_moves_down_while_it_lives(changes: list[tuple[bool, bytes]]) -> None:
    db = Keyspace(1).databases[0]
    before: dict[bytes, int] = {}
    for adds, key in changes:
        if adds:
            db.put(key, b"")
        else:
            db.remove(key)
        assert all(db.place[k] <= at for k, at in before.items() if k in db.place and k != key)
        before = dict(db.place)


def watched(db: Database, *names: bytes) -> list[Ear]:
    ears = [Ear() for _ in names]
    for name, ear in zip(names, ears, strict=True):
        db.watchers[name] = {ear: None}
    return ears


def test_clearing_tells_those_whose_keys_were_there() -> None:
    keyspace = Keyspace(1)
    db = keyspace.databases[0]
    db.put(b"here", b"")
    ears = watched(db, b"here", b"not here")
    db.waiting = {key: Waiting(db, key) for key in (b"here", b"not here")}
    assert db.clear() == 1
    assert [ear.heard for ear in ears] == [1, 0]
    assert keyspace.ready == [db.waiting[b"here"]]


def test_exchanging_tells_those_whose_keys_are_in_either_database() -> None:
    keyspace = Keyspace(2)
    first, second = keyspace.databases
    first.put(b"a", b"")
    second.put(b"b", b"")
    ears = watched(first, b"a", b"b", b"c") + watched(second, b"a", b"b", b"c")
    first.waiting = {key: Waiting(first, key) for key in (b"b", b"c")}
    first.exchange(second, now_ms=0)
    assert [ear.heard for ear in ears] == [1, 1, 0, 1, 1, 0]
    assert keyspace.ready == [first.waiting[b"b"]]


def test_whatever_lets_go_of_a_collection_raises_the_version() -> None:
    keyspace = Keyspace(2)
    db = keyspace.databases[0]
    db.put(b"a", {b"member"})
    versions = [db.version]
    for change in (
        lambda: db.put(b"a", {b"other"}),
        lambda: db.put(b"a", b"text"),
        lambda: (db.put(b"a", {b"member"}), db.remove(b"a")),
        db.clear,
        lambda: db.exchange(keyspace.databases[1], now_ms=0),
    ):
        change()
        versions.append(db.version)
    assert versions == sorted(set(versions))


def test_strings_come_and_go_without_raising_the_version() -> None:
    db = Keyspace(1).databases[0]
    before = db.version
    db.put(b"a", b"1")
    db.put(b"a", b"2")
    db.remove(b"a")
    assert db.version == before
