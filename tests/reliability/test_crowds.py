"""Clients that idle, wait, never read or have no password, and full memory (R16 to R19, R21).

Few of each; no time is asserted.  The attackers themselves must see what is wrong.
"""

from __future__ import annotations

from pathlib import Path

from reliability import crowd_goals, glutton_goals, memory_goals
from reliability.goals import Outcome
from testkit.servers import ServerProcess
from testkit.waiting import wait_until

SEED = 20261121
#: What a goal says of times, which a busy machine decides.
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
    """The server closes in its own time the connection that a client has closed."""
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


def test_strangers_cost_little(scratch: Path) -> None:
    outcome = glutton_goals.strangers_cost(200, SEED, scratch)
    assert broken(outcome) == []


def test_a_full_server_says_so_in_the_known_words(scratch: Path) -> None:
    outcome = memory_goals.full_memory(1000, SEED, scratch)
    assert broken(outcome) == []
    assert outcome.figures["refused"] > 0
    assert outcome.figures["exchanged"] > 0
