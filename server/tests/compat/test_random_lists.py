"""Random scripts on lists and sets: the same replies, events and numbers of changes."""

from __future__ import annotations

import pytest

import forebay
from server.tests.compat.test_changes import check_counts
from testkit.compat.differ import check, play_on
from testkit.compat.list_commands import random_script
from testkit.compat.scripts import Script
from testkit.resp import RawClient, parse
from testkit.servers import ServerProcess

#: Commands in a script, and scripts in a test; the interpreted leg plays fewer.
LENGTH = 60
SCRIPTS = 90 if forebay.compiled() else 15
SEEDS = range(6)
END_OF_SCRIPT = "end-of-script"
#: Every class of events but misses.
LETTERS = "EAn"


def scripts(seed: int) -> list[Script]:
    return [random_script(seed * 1000 + i, LENGTH) for i in range(SCRIPTS)]


@pytest.mark.oracle
@pytest.mark.parametrize("seed", SEEDS)
def test_scripts_on_lists_and_sets_are_answered_alike(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    check(redis_server, forebay_server, scripts(seed))


def events_of(server: ServerProcess, script: Script) -> list[tuple[bytes, bytes]]:
    """The events and keys that a listener gets while a script is played."""
    with server.client(unix=True) as listener, server.client(unix=True) as client:
        client("CONFIG", "SET", "notify-keyspace-events", LETTERS)
        listener("PSUBSCRIBE", "__keyevent@0__:*", END_OF_SCRIPT)
        listener.read()
        try:
            play_on(client, script)
            client("PUBLISH", END_OF_SCRIPT, "")
        finally:
            client("CONFIG", "SET", "notify-keyspace-events", "")
        return told(listener)


def told(listener: RawClient) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    while True:
        _, pattern, channel, key = parse(listener.read())
        if pattern == END_OF_SCRIPT.encode():
            return found
        found.append((channel.rpartition(b":")[2], key))


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(200, 200 + 2 * len(SEEDS)))
def test_events_come_in_the_same_order(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    script = random_script(seed, LENGTH)
    assert events_of(forebay_server, script) == events_of(redis_server, script)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(300, 300 + 2 * len(SEEDS)))
def test_every_command_counts_its_changes(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    # INFO is parsed in its RESP2 form; even seeds use RESP2.
    check_counts(redis_server, forebay_server, random_script(2 * seed, LENGTH))
