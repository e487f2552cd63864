"""The loop itself, in this process: faults, listeners that fail."""

from __future__ import annotations

import errno
import os

import pytest

from forebay.server.net.listen import Door
from forebay.server.net.turn_end import Participant
from forebay.server.server import Server
from testkit.hand_server import Client, HandClock
from testkit.resp import encode


def test_one_turn_receives_runs_and_answers(client: Client) -> None:
    assert client.ask(encode("PING") * 3) == b"+PONG\r\n" * 3


def test_a_turn_that_is_interrupted_by_nothing_just_ends(server: Server, client: Client) -> None:
    server.loop.next_beat_ms = 0
    server.loop.turn()
    assert client.answer() == b"(nothing)"


def test_a_fault_in_a_watcher_is_logged_and_the_loop_goes_on(
    server: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise RuntimeError("out of tune")

    reading, writing = os.pipe()
    server.loop.watch(reading, fail)
    os.write(writing, b"x")
    server.loop.turn()
    server.loop.unwatch(reading)
    assert "out of tune" in capsys.readouterr().out
    assert client.ask(encode("PING")) == b"+PONG\r\n"
    os.close(reading)
    os.close(writing)


def test_a_fault_in_periodic_work_is_logged_and_the_loop_goes_on(
    server: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    class Clumsy(Participant):
        def beat(self) -> None:
            raise RuntimeError("missed the beat")

    server.loop.turn_end.join(Clumsy())
    server.loop.next_beat_ms = 0
    assert client.ask(encode("PING")) == b"+PONG\r\n"
    assert "missed the beat" in capsys.readouterr().out


def test_no_command_runs_after_the_loop_was_stopped(server: Server, client: Client) -> None:
    server.stop()
    assert client.ask(encode("SET", "b", "2")) == b"(nothing)"
    assert not server.engine.keyspace.databases[0].values


DAY_MS = 86_400_000


@pytest.mark.parametrize("step_ms", [DAY_MS, -DAY_MS, -3_600_000])
def test_a_wait_ends_by_the_monotonic_clock_whatever_happens_to_the_wall_clock(
    server: Server, client: Client, clock: HandClock, step_ms: int
) -> None:
    assert client.ask(encode("XREAD", "BLOCK", "500", "STREAMS", "s", "$")) == b"(nothing)"
    clock.wall_ms += step_ms
    server.loop.next_beat_ms = 0
    server.loop.turn()
    assert client.answer() == b"(nothing)"
    clock.pass_ms(501)
    server.loop.turn()
    assert client.answer() == b"*-1\r\n"


def test_ids_keep_growing_when_the_wall_clock_is_set_back(client: Client, clock: HandClock) -> None:
    first = client.ask(encode("XADD", "s", "*", "f", "v"))
    clock.wall_ms -= DAY_MS
    second = client.ask(encode("XADD", "s", "*", "f", "v"))
    clock.wall_ms += 2 * DAY_MS
    third = client.ask(encode("XADD", "s", "*", "f", "v"))
    assert first == b"$15\r\n1700000000000-0\r\n"
    assert second == b"$15\r\n1700000000000-1\r\n"
    assert third == b"$15\r\n%d-0\r\n" % (1_700_000_000_000 + DAY_MS)


def test_nobody_is_idle_because_the_wall_clock_was_set(
    server: Server, client: Client, clock: HandClock
) -> None:
    server.settings.timeout_s = 60
    client.ask(encode("PING"))
    clock.wall_ms += DAY_MS
    assert client.ask(b"") == b"(nothing)"
    server.visit_clients()
    assert client.conn.fd >= 0
    clock.pass_ms(61_000)
    server.visit_clients()
    assert client.conn.fd < 0


class FailingSocket:
    """A listening socket whose accept always fails."""

    def __init__(self, number: int) -> None:
        self.fault = OSError(number, os.strerror(number))
        self.tries = 0

    def accept(self) -> None:
        self.tries += 1
        raise self.fault


@pytest.mark.parametrize("number", [errno.ECONNABORTED, errno.EPROTO, errno.EPERM])
def test_arrivals_that_are_gone_already_do_not_shut_the_door(number: int) -> None:
    """CVE-2025-48367: and they do not hold up the loop either."""
    sock = FailingSocket(number)
    door = Door(sock, "test", "test")  # type: ignore[arg-type]
    assert door.accept(20) == []
    assert door.fault == ""
    assert sock.tries == 20


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINVAL])
def test_a_door_that_cannot_let_anybody_in_says_why(number: int) -> None:
    sock = FailingSocket(number)
    door = Door(sock, "test", "test")  # type: ignore[arg-type]
    assert door.accept(20) == []
    assert door.fault == os.strerror(number)
    assert sock.tries == 1


def test_a_connection_closed_twice_is_closed_once(server: Server, client: Client) -> None:
    server.loop.close(client.conn)
    server.loop.close(client.conn)
    assert server.loop.count == 0
    assert client.socket.recv(10) == b""
