"""The periodic job that forgets old messages."""

from __future__ import annotations

from forebay.core.idmp_cycle import IdmpCycle
from testkit.engine_client import START_MS, EngineClient


def client_with_streams(count: int) -> EngineClient:
    client = EngineClient()
    for n in range(count):
        client("SET", f"other{n}", "v")
        client("SELECT", n % 3)
        client("XADD", f"s{n}", "IDMP", "p", "i", "*", "f", "v")
    client("SELECT", "0")
    return client


def test_messages_past_their_time_are_forgotten_in_every_database() -> None:
    client = client_with_streams(7)
    cycle = IdmpCycle(client.engine.keyspace)
    assert cycle.run(START_MS + 99_999) == 0
    assert cycle.run(START_MS + 100_000) == 7
    assert client("XINFO", "STREAM", "s0")[18:24] == [
        b"pids-tracked", 0, b"iids-tracked", 0, b"iids-added", 1,
    ]  # fmt: skip


def test_each_stream_has_its_own_duration() -> None:
    client = client_with_streams(1)
    client("XADD", "short", "1-0", "f", "v")
    client("XCFGSET", "short", "IDMP-DURATION", "5")
    client("XADD", "short", "IDMP", "p", "i", "*", "f", "v")
    assert IdmpCycle(client.engine.keyspace).run(START_MS + 5000) == 1


def test_a_small_budget_gets_around_in_several_runs() -> None:
    client = client_with_streams(10)
    cycle = IdmpCycle(client.engine.keyspace)
    runs = [cycle.run(START_MS + 100_000, budget=6) for _ in range(4)]
    assert sum(runs) == 10
    assert max(runs) <= 6


def test_keys_that_come_and_go_between_runs_do_no_harm() -> None:
    client = client_with_streams(10)
    cycle = IdmpCycle(client.engine.keyspace)
    cycle.run(START_MS, budget=9)
    client("FLUSHALL")
    assert cycle.run(START_MS + 100_000) == 0
    client("XADD", "s", "IDMP", "p", "i", "*", "f", "v")
    assert cycle.run(START_MS + 100_000) == 1


def test_ten_runs_a_second_are_made_and_no_more() -> None:
    ran: list[int] = []

    class Counted(IdmpCycle):
        def run(self, now_ms: int, budget: int = 1) -> int:
            ran.append(now_ms - START_MS)
            return 0

    cycle = Counted(client_with_streams(1).engine.keyspace)
    for passed_ms in (0, 10, 99, 100, 150, 200):
        cycle.tick(START_MS + passed_ms)
    assert ran == [0, 100, 200]
    cycle.tick(START_MS - 5000)
    assert ran[-1] == -5000, "the clock was set back"
