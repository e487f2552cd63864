"""The cycle that removes expired keys that no client accesses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forebay.commands.keyspace.expiry import expire_cycle, next_expiry_ms
from server.tests.support.keyspace_events import listen
from testkit.engine_client import BLOCKED, START_MS, EngineClient

#: How many keys are removed in one turn (engine.py).
EXPIRY_BUDGET = 500


def test_keys_go_away_by_themselves() -> None:
    client = EngineClient()
    events = listen(client, "Ex")
    client("SET a 1 PX 100")
    client("SET b 1 PX 5000")
    client.effects()
    client.sleep(1000)
    assert client("DBSIZE") == 1
    assert client.effects() == [[b"DEL", b"a"]]
    assert events() == [(0, "expired", "a")]


def test_each_key_is_a_unit_of_its_own_in_its_database() -> None:
    client = EngineClient()
    client("SET a 1 PX 100")
    client("SELECT 2")
    client("SET b 1 PX 50")
    client("SET c 1 PX 60")
    client.effects()
    client.sleep(1000)
    assert client.effects() == [
        [b"DEL", b"b"],
        [b"DEL", b"c"],
        [b"SELECT", b"0"],
        [b"DEL", b"a"],
    ]


def cycle(client: EngineClient, budget: int) -> bool:
    client.engine.ctx.now_ms = client.now_ms
    return expire_cycle(client.engine.ctx, budget)


def test_one_call_does_no_more_than_its_budget() -> None:
    client = EngineClient()
    for i in range(10):
        client("SET", i, "1", "PX", 10 + i)
    client.now_ms += 1000
    assert cycle(client, 4) is True
    assert client("DBSIZE") == 6
    assert sorted(client("SCAN 0")[1]) == []
    assert cycle(client, 100) is False
    assert next_expiry_ms(client.engine.keyspace) is None


def test_what_a_turn_leaves_over_goes_in_the_next_one_at_once() -> None:
    client = EngineClient()
    for i in range(EXPIRY_BUDGET + 100):
        client("SET", i, "1", "PX", 10)
    client.now_ms += 1000
    client.engine.before_sleep(client.now_ms)
    assert client("DBSIZE") == 100
    client.engine.before_sleep(client.now_ms)
    assert client("DBSIZE") == 0
    assert client.engine.stats.expired_unasked == EXPIRY_BUDGET + 100


def test_a_time_that_was_changed_or_taken_away_does_not_count() -> None:
    client = EngineClient()
    for key in ("later", "never", "gone"):
        client("SET", key, "1", "PX", "10")
    client("PEXPIRE later 5000")
    client("PERSIST never")
    client("DEL gone")
    client("SET gone 2")
    client.now_ms += 100
    assert cycle(client, 100) is False
    assert client("DBSIZE") == 3


def test_the_next_time_is_known() -> None:
    client = EngineClient()
    client("SET a 1 PX 100")
    client("SELECT 1")
    client("SET b 1 PX 50")
    assert next_expiry_ms(client.engine.keyspace) == START_MS + 51


def test_a_key_whose_time_is_set_again_and_again_costs_no_memory() -> None:
    client = EngineClient()
    for i in range(1000):
        client("SET", "lock", "1", "PX", 1000 + i)
        client("SET", "cursor", "1", "PX", 1000)
        client("DEL cursor")
    assert len(client.engine.keyspace.databases[0].deadlines) < 100


def test_a_group_reader_is_told_when_its_stream_expires() -> None:
    client = EngineClient()
    client("XGROUP CREATE s g 0 MKSTREAM")
    client("PEXPIRE s 100")
    reader = client.new()
    assert reader("XREADGROUP GROUP g c BLOCK 0 STREAMS s >") is BLOCKED
    client.sleep(1000)
    assert reader.read().args[0].startswith("NOGROUP")


step = st.one_of(
    st.tuples(st.just("SET"), st.integers(0, 5), st.integers(1, 50)),
    st.tuples(st.just("PEXPIRE"), st.integers(0, 5), st.integers(1, 50)),
    st.tuples(st.sampled_from(["PERSIST", "DEL"]), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("wait"), st.just(0), st.integers(1, 30)),
)


@given(st.lists(step, max_size=60))
def test_after_a_cycle_exactly_the_keys_that_are_not_past_their_time_are_left(
    steps: list[tuple[str, int, int]],
) -> None:
    client = EngineClient()
    model: dict[int, int | None] = {}
    for name, key, number in steps:
        if name == "wait":
            client.now_ms += number
            assert cycle(client, 1000) is False
            model = {k: t for k, t in model.items() if t is None or client.now_ms <= t}
            assert set(map(int, client.engine.keyspace.databases[0].values)) == set(model)
        elif name == "SET":
            client("SET", key, "1", "PX", number)
            model[key] = client.now_ms + number
        elif name == "PEXPIRE":
            if client("PEXPIRE", key, number):
                model[key] = client.now_ms + number
        else:
            client(name, key)
            if name == "DEL":
                model.pop(key, None)
            elif key in model:
                model[key] = None
