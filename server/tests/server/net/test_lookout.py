"""The lookout for answers of replicas before the loop sleeps: when it runs, and what it delays."""

from __future__ import annotations

from threading import Thread

import pytest

from forebay.server.net.lookout import MOST_LEFT_OUT, Lookout
from forebay.server.server import Server
from testkit.hand_server import Client, HandClock
from testkit.resp import encode

NOTHING = b"(nothing)"
WRITE_AND_WAIT = encode("SET", "k", "v") + encode("WAIT", 1, 0)


class PassingClock(HandClock):
    """A clock that advances with each reading, so that the lookout ends."""

    def __init__(self) -> None:
        super().__init__()
        self.passed_us = 0

    def us(self) -> int:
        self.passed_us += 10
        return self.steady_ms * 1000 + self.passed_us


@pytest.fixture
def clock() -> HandClock:
    return PassingClock()


@pytest.fixture
def asking(server: Server) -> Server:
    """A running server whose next turn asks replicas."""
    server.loop.running = True
    server.loop.turn_end.is_expecting = True
    return server


def test_a_client_in_wait_gets_its_replies_in_one_piece(asking: Server, client: Client) -> None:
    assert client.ask(WRITE_AND_WAIT) == NOTHING
    asking.engine.blocking.unblock(client.conn.session, None)
    assert client.ask(b"") == b"+OK\r\n:0\r\n"


def test_its_write_is_answered_before_the_loop_sleeps(asking: Server, client: Client) -> None:
    assert client.ask(WRITE_AND_WAIT) == NOTHING
    asking.loop.next_beat_ms = asking.loop.clock.monotonic_ms() + 60_000
    turn = Thread(target=asking.loop.turn)
    turn.start()
    client.socket.settimeout(20)
    try:
        assert client.socket.recv(100) == b"+OK\r\n"
        assert client.conn.session.blocked is not None
    finally:
        client.socket.send(encode("PING"))
        turn.join()


def test_a_reply_is_held_back_only_once(asking: Server, client: Client) -> None:
    assert client.ask(WRITE_AND_WAIT) == NOTHING
    other = Client(asking)
    asking.loop.turn_end.is_expecting = True
    assert other.ask(WRITE_AND_WAIT) == NOTHING
    assert client.answer() == b"+OK\r\n"
    other.socket.close()


def test_other_clients_are_answered_at_once(asking: Server, client: Client) -> None:
    other = Client(asking)
    other.socket.send(encode("PING"))
    assert client.ask(WRITE_AND_WAIT) == NOTHING
    assert other.answer() == b"+PONG\r\n"
    other.socket.close()


def test_a_server_that_stops_holds_nothing_back(asking: Server, client: Client) -> None:
    asking.loop.running = False
    assert client.ask(WRITE_AND_WAIT) == b"+OK\r\n"


def test_nothing_is_held_back_while_looks_are_left_out(asking: Server, client: Client) -> None:
    asking.loop.for_answers.learn(False)
    assert client.ask(WRITE_AND_WAIT) == b"+OK\r\n"


def test_looks_for_requests_and_for_answers_are_judged_apart(
    server: Server, client: Client
) -> None:
    server.loop.running = True
    for _ in range(3):
        server.loop.turn_end.has_confirmed = True
        assert client.ask(encode("PING")) == b"+PONG\r\n", "nothing is held back"
        assert client.ask(b"") == NOTHING
    assert server.loop.for_requests.penalty == 3, "one look was left out after the first in vain"
    assert server.loop.for_answers.is_due()
    server.loop.turn_end.is_expecting = True
    assert client.ask(WRITE_AND_WAIT) == NOTHING


def test_looks_in_vain_are_taken_less_and_less_often() -> None:
    lookout = Lookout()
    left_out = []
    for _ in range(12):
        lookout.learn(False)
        left_out.append(0)
        while not lookout.is_due():
            left_out[-1] += 1
    assert left_out == [min(2**n - 1, MOST_LEFT_OUT) for n in range(1, 13)]
    lookout.learn(True)
    assert lookout.is_due()
