"""The process around the server: signals and descriptors."""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from forebay.server.process import OWN_DESCRIPTORS, Signals, make_room_for_clients
from testkit.servers import ServerProcess
from testkit.waiting import wait_until


@pytest.fixture
def heard() -> list[str]:
    return []


@pytest.fixture
def signals(heard: list[str]) -> Iterator[Signals]:
    """The handlers of a server, in this process for a moment."""
    numbers = (*Signals.STOPPING, signal.SIGHUP)
    before = [(number, signal.getsignal(number)) for number in numbers]
    wakeup = signal.set_wakeup_fd(-1)
    signals = Signals(heard.append)
    yield signals
    signals.close()
    for number, handler in before:
        signal.signal(number, handler)
    signal.set_wakeup_fd(wakeup)


def receive(signals: Signals) -> None:
    """Wait for the byte that a signal leaves, then act as the loop does."""
    select.select([signals.fileno()], [], [], 30)
    signals.on_readable()


@pytest.mark.parametrize("number", Signals.STOPPING)
def test_a_signal_reaches_the_loop_by_name(
    signals: Signals, heard: list[str], number: signal.Signals
) -> None:
    os.kill(os.getpid(), number)
    receive(signals)
    assert heard == [number.name]


def test_after_the_first_signal_a_second_one_kills(signals: Signals, heard: list[str]) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    receive(signals)
    assert [signal.getsignal(number) for number in Signals.STOPPING] == [signal.SIG_DFL] * 2


def test_a_hangup_is_ignored(signals: Signals) -> None:
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_room_is_made_for_as_many_clients_as_the_system_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        pytest.skip("this system has no limit")
    try:
        assert make_room_for_clients(10) == 10
        most = make_room_for_clients(hard + 1000)
        assert most == hard - OWN_DESCRIPTORS
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_pid_file_that_cannot_be_written_is_a_warning_in_the_foreground(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server = make_forebay("--pidfile", "/proc/none/pid")
    assert "cannot write the pid file /proc/none/pid" in server.log()
    with server.client() as client:
        assert client("CONFIG", "GET", "pidfile") == [b"pidfile", b""]


def test_turns_are_counted_with_the_time_they_work_and_not_the_time_they_wait(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    with make_forebay().client() as client:

        def fields() -> dict[str, int]:
            lines = client("INFO", "stats").decode().split("\r\n")
            pairs = dict(line.split(":") for line in lines if "eventloop" in line)
            return {name.removeprefix("eventloop_"): int(value) for name, value in pairs.items()}

        begin = time.monotonic()
        first = fields()
        wait_until("ten more turns", lambda: fields()["cycles"] >= first["cycles"] + 10)
        time.sleep(0.5)
        last = fields()
        spent_us = (time.monotonic() - begin) * 1e6
        worked_us = last["duration_sum"] - first["duration_sum"]
        assert 0 < worked_us < spent_us - 400_000
        assert last["duration_cmd_sum"] - first["duration_cmd_sum"] <= worked_us
        assert last["instantaneous_eventloop_duration_usec"] > 0
        assert client("CONFIG", "RESETSTAT") == "OK"
        assert fields()["cycles"] < 10
