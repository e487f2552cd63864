"""Clients that idle, wait, never read or have no password, and full memory (R16 to R19, R21).

Few of each; no times are asserted.  The attackers themselves must report a fault.
"""

from __future__ import annotations

import time
from pathlib import Path

from reliability import crowd_goals, glutton_goals, memory_goals, pings, reader_goals
from reliability.goals import Outcome
from testkit.servers import ServerProcess
from testkit.waiting import wait_until

SEED = 20261121
#: Failures about times, which depend on how busy the machine is.
TIMES = "PING took"


def broken(outcome: Outcome) -> list[str]:
    """The failures that are not about times."""
    return [fault for fault in outcome.failures if TIMES not in fault]


def test_the_connection_above_the_limit_is_told_so(scratch: Path) -> None:
    few = 30
    server = crowd_goals.start_forebay(scratch / "full", "--maxclients", str(few))
    crowd: list[crowd_goals.RawClient] = []
    try:
        crowd_goals.gather(server, crowd, few)
        crowd_goals.settle(crowd)
        assert crowd_goals.one_too_many(server) == []
        crowd.pop().close()
        wait_until("there is room again", lambda: is_welcome(server))
    finally:
        for client in crowd:
            client.close()
        server.stop()


def is_welcome(server: ServerProcess) -> bool:
    """Whether a new client is accepted; the server closes its side of closed connections later."""
    with server.client() as client:
        return bool(client("PING") == "PONG")


def test_waiting_clients_are_served_in_order_and_leave_nothing(scratch: Path) -> None:
    outcome = crowd_goals.blocked_clients(120, SEED, scratch)
    assert broken(outcome) == []
    assert outcome.figures["entries"] > 20


def test_an_entry_that_passes_somebody_is_seen() -> None:
    assert crowd_goals.order_faults({1: b"1-0", 2: b"2-0"}, [b"1-0", b"2-0"]) == []
    assert crowd_goals.order_faults({1: b"2-0", 2: b"1-0"}, [b"1-0", b"2-0"]) == [
        "1 clients got an entry before one who came first"
    ]
    assert crowd_goals.order_faults({1: b"1-0", 2: b"1-0"}, [b"1-0"]) == [
        "an entry went to two clients"
    ]
    assert crowd_goals.order_faults({1: b"3-0"}, [b"1-0"]) == [
        "a client got an entry that was never written"
    ]


def test_clients_that_do_not_read_are_closed_at_their_limit(scratch: Path) -> None:
    outcome = glutton_goals.slow_consumers(8, SEED, scratch)
    assert broken(outcome) == []


def test_readers_of_whole_streams_are_closed_or_served_one_after_another(scratch: Path) -> None:
    outcome = reader_goals.whole_streams(8, SEED, scratch)
    assert broken(outcome) == []
    assert outcome.figures["limited_grown_mb"] < outcome.figures["default_grown_mb"] / 2


def test_a_long_stop_is_a_wait_of_all_who_would_have_asked_meanwhile() -> None:
    waits = [0.2] * 100 + [50.0]
    due = pings.as_if_due(waits)
    assert len(due) == 150
    assert pings.p99(due) == 49.0
    assert pings.p99(waits[:100]) == 0.2


def seen(*waits_ms: float) -> pings.Pings:
    """The waits of a client that has ended."""
    found = object.__new__(pings.Pings)
    found.forget()
    found.times_s = [(time.monotonic(), wait_ms / 1000) for wait_ms in waits_ms]
    found.fault = ""
    return found


def test_who_holds_up_others_longer_than_redis_is_noticed() -> None:
    for ours, theirs, faults in ((30.0, 40.0, 0), (50.0, 40.0, 1)):
        outcome = Outcome()
        glutton_goals.judge_waits(outcome, seen(0.1, ours), seen(0.1, theirs))
        assert len(outcome.failures) == faults
        outcome = Outcome()
        reader_goals.judge(outcome, "limited", seen(0.1, ours), theirs)
        assert len(outcome.failures) == faults


def test_who_holds_up_others_for_long_is_noticed_though_redis_does_too() -> None:
    for ours, theirs, faults in ((74.0, 900.0, 0), (76.0, 900.0, 1), (76.0, None, 1)):
        outcome = Outcome()
        peer = None if theirs is None else seen(0.1, theirs)
        glutton_goals.judge_waits(outcome, seen(0.1, ours), peer)
        assert len(outcome.failures) == faults


def test_strangers_cost_little(scratch: Path) -> None:
    outcome = glutton_goals.strangers_cost(200, SEED, scratch)
    assert broken(outcome) == []


def test_a_full_server_says_so_in_the_known_words(scratch: Path) -> None:
    outcome = memory_goals.full_memory(1000, SEED, scratch)
    assert broken(outcome) == []
    assert outcome.figures["refused"] > 0
    assert outcome.figures["exchanged"] > 0
