"""The process around the server: signals and descriptors."""

from __future__ import annotations

import os
import resource
import select
import signal
from collections.abc import Iterator

import pytest

from forebay.server.process import OWN_DESCRIPTORS, Signals, make_room_for_clients


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
    """Wait for the byte that a signal leaves, then do as the loop does."""
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
