"""Blocking XREADGROUP: the order of clients, the time limit, and what ends the wait."""

from __future__ import annotations

from typing import Any

import pytest

from server.tests.support.replies import WRONGTYPE
from testkit.engine_client import BLOCKED, EngineClient, ReplyError

NOGROUP = ReplyError(
    "NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option"
)


@pytest.fixture
def client() -> EngineClient:
    """An empty stream s with group g."""
    client = EngineClient()
    client("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    client.effects()
    return client


def waiting(client: EngineClient, who: str, *options: str, block_ms: int = 0) -> EngineClient:
    """Another client that waits for new entries of s."""
    other = client.new()
    words = ["GROUP", "g", who, "BLOCK", str(block_ms), *options, "STREAMS", "s", ">"]
    assert other("XREADGROUP", *words) is BLOCKED
    return other


def add(client: EngineClient, *numbers: int, key: str = "s") -> None:
    for n in numbers:
        client("XADD", key, f"{n}-0", "f", "v")


def entries(*numbers: int) -> list[Any]:
    return [[b"s", [[b"%d-0" % n, [b"f", b"v"]] for n in numbers]]]


def in_exec(client: EngineClient, *commands: str) -> None:
    client("MULTI")
    for command in commands:
        client(command)
    client("EXEC")


# Order


def test_who_came_first_is_served_first(client: EngineClient) -> None:
    readers = [waiting(client, f"c{n}") for n in range(4)]
    for n, reader in enumerate(readers, 1):
        add(client, n)
        assert reader.read() == entries(n)
    assert client("XPENDING", "s", "g")[3] == [[b"c%d" % n, b"1"] for n in range(4)]


def test_entries_of_one_transaction_all_go_to_the_first(client: EngineClient) -> None:
    first, second = waiting(client, "a"), waiting(client, "b")
    in_exec(client, "XADD s 1-0 f v", "XADD s 2-0 f v")
    assert first.read() == entries(1, 2)
    assert second.read() is BLOCKED


def test_with_a_count_the_rest_goes_to_the_next(client: EngineClient) -> None:
    first, second = waiting(client, "a", "COUNT", "1"), waiting(client, "b", "COUNT", "5")
    in_exec(client, "XADD s 1-0 f v", "XADD s 2-0 f v", "XADD s 3-0 f v")
    assert first.read() == entries(1)
    assert second.read() == entries(2, 3)


def test_readers_of_other_groups_and_plain_readers_get_it_too(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "h", "$")
    mine = waiting(client, "a")
    other, plain = client.new(), client.new()
    other("XREADGROUP", "GROUP", "h", "x", "BLOCK", "0", "STREAMS", "s", ">")
    plain("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    add(client, 1)
    assert mine.read() == other.read() == plain.read() == entries(1)


def test_the_same_consumer_may_wait_on_many_connections(client: EngineClient) -> None:
    one, two = waiting(client, "a"), waiting(client, "a")
    add(client, 1)
    add(client, 2)
    assert (one.read(), two.read()) == (entries(1), entries(2))


# Time


def test_waiting_again_and_again_keeps_the_deadline(client: EngineClient) -> None:
    readers = [waiting(client, "a", block_ms=100), waiting(client, "b", block_ms=100)]
    for n in range(1, 5):
        client.sleep(20)
        # Another client has the entry already when their turn comes.
        in_exec(client, f"XADD s {n}-0 f v", "XREADGROUP GROUP g thief STREAMS s >")
    client.sleep(19)
    assert [reader.read() for reader in readers] == [BLOCKED, BLOCKED]
    client.sleep(1)
    assert [reader.session.out.take() for reader in readers] == [b"*-1\r\n"] * 2


def test_who_found_nothing_stands_behind_those_who_came_meanwhile(client: EngineClient) -> None:
    first, second = waiting(client, "a"), waiting(client, "b")
    in_exec(client, "XADD s 1-0 f v", "XREADGROUP GROUP g thief STREAMS s >")
    add(client, 2)
    assert (first.read(), second.read()) == (entries(2), BLOCKED)


def test_the_consumer_is_there_and_seen_before_the_wait_ends(client: EngineClient) -> None:
    waiting(client, "a")
    assert client("XINFO", "CONSUMERS", "s", "g")[0][1] == b"a"
    assert client.effects() == [[b"XGROUP", b"CREATECONSUMER", b"s", b"g", b"a"]]


def test_the_entry_is_delivered_at_the_time_of_the_command_that_brought_it(
    client: EngineClient,
) -> None:
    waiting(client, "a")
    client.now_ms += 500
    add(client, 1)
    client.now_ms += 7
    assert client("XPENDING", "s", "g", "-", "+", "1") == [[b"1-0", b"a", 7, 1]]


def test_in_a_transaction_it_answers_at_once(client: EngineClient) -> None:
    client("MULTI")
    client("XREADGROUP", "GROUP", "g", "a", "BLOCK", "0", "STREAMS", "s", ">")
    assert client("EXEC") == [None]


# Changes of the key


@pytest.mark.parametrize(
    "command", ["DEL s", "UNLINK s", "FLUSHDB", "RENAME s x", "XGROUP DESTROY s g"]
)
def test_a_key_or_group_that_goes_ends_the_wait(client: EngineClient, command: str) -> None:
    readers = [waiting(client, "a"), waiting(client, "b")]
    client(command)
    assert [reader.read() for reader in readers] == [NOGROUP, NOGROUP]


@pytest.mark.parametrize("command", ["SET s v", "COPY other s REPLACE", "RENAME other s"])
def test_a_key_of_another_type_ends_the_wait(client: EngineClient, command: str) -> None:
    client("SADD", "other", "m")
    reader = waiting(client, "a")
    client(command)
    assert reader.read() == WRONGTYPE


def test_a_transaction_that_replaces_the_key_ends_the_wait(client: EngineClient) -> None:
    reader = waiting(client, "a")
    in_exec(client, "DEL s", "SADD s m")
    assert reader.read() == WRONGTYPE


def test_an_entry_and_its_key_gone_in_one_transaction(client: EngineClient) -> None:
    reader = waiting(client, "a")
    in_exec(client, "XADD s 1-0 f v", "DEL s")
    assert reader.read() == NOGROUP


def test_a_key_deleted_and_made_again_in_one_transaction(client: EngineClient) -> None:
    reader = waiting(client, "a")
    in_exec(client, "DEL s", "XGROUP CREATE s g 0 MKSTREAM")
    assert reader.read() is BLOCKED
    in_exec(client, "DEL s", "XADD s 9-0 f v")
    assert reader.read() == NOGROUP


def test_a_stream_renamed_onto_the_key_is_read_if_it_has_the_group(client: EngineClient) -> None:
    add(client, 5, key="with")
    client("XGROUP", "CREATE", "with", "g", "0")
    reader = waiting(client, "a")
    client("RENAME", "with", "s")
    assert reader.read() == entries(5)


def test_a_stream_renamed_onto_the_key_without_the_group_ends_the_wait(
    client: EngineClient,
) -> None:
    add(client, 5, key="without")
    reader = waiting(client, "a")
    client("RENAME", "without", "s")
    assert reader.read() == NOGROUP


def test_a_renamed_stream_with_nothing_new_is_waited_for(client: EngineClient) -> None:
    add(client, 5, key="with")
    client("XGROUP", "CREATE", "with", "g", "$")
    reader = waiting(client, "a")
    client("RENAME", "with", "s")
    assert reader.read() is BLOCKED
    add(client, 6)
    assert reader.read() == entries(6)


@pytest.mark.parametrize(
    "command", ["XTRIM s MAXLEN 0", "XDEL s 1-0", "XACK s g 1-0", "XSETID s 99"]
)
def test_commands_that_bring_nothing_wake_nobody(client: EngineClient, command: str) -> None:
    add(client, 1)
    client("XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">")
    reader = waiting(client, "b")
    client(command)
    assert reader.read() is BLOCKED


def test_a_group_set_back_is_noticed_with_the_next_entry(client: EngineClient) -> None:
    add(client, 1)
    client("XGROUP", "SETID", "s", "g", "$")
    reader = waiting(client, "a")
    client("XGROUP", "SETID", "s", "g", "0")
    assert reader.read() is BLOCKED
    add(client, 2)
    assert reader.read() == entries(1, 2)


# Its effects


def test_the_record_of_a_served_wait_follows_the_entry(client: EngineClient) -> None:
    waiting(client, "a")
    client.effects()
    add(client, 1)
    assert [record[0] for record in client.effects()] == [
        b"XADD",
        b"MULTI",
        b"XCLAIM",
        b"XGROUP",
        b"EXEC",
    ]


def test_a_reader_of_many_keys_is_given_what_each_has(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "t", "g", "$", "MKSTREAM")
    reader = client.new()
    words = ["GROUP", "g", "a", "BLOCK", "0", "STREAMS", "s", "t", ">", ">"]
    assert reader("XREADGROUP", *words) is BLOCKED
    in_exec(client, "XADD t 1-0 f v", "XADD s 2-0 f v")
    assert reader.read() == [
        [b"s", [[b"2-0", [b"f", b"v"]]]],
        [b"t", [[b"1-0", [b"f", b"v"]]]],
    ]
    assert reader("XREADGROUP", *words) is BLOCKED
    client("DEL", "t")
    assert isinstance(reader.read(), ReplyError)
