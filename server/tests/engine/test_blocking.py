"""Waiting for a key: which clients are woken, in which order, with what data, and which are not."""

from __future__ import annotations

import pytest

from forebay.engine.ticker import Ticker
from server.tests.support.replies import WRONGTYPE
from testkit.engine_client import BLOCKED, EngineClient, ReplyError

NOGROUP = ReplyError(
    "NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option"
)


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def reader(client: EngineClient, words: str) -> EngineClient:
    """A new client that runs a command and must wait."""
    other = client.new()
    assert other(words) is BLOCKED
    return other


def group_reader(client: EngineClient, name: str, block_ms: int = 0) -> EngineClient:
    return reader(client, f"XREADGROUP GROUP g {name} BLOCK {block_ms} STREAMS s >")


def counts(client: EngineClient) -> tuple[int, int, int]:
    blocking = client.engine.blocking
    return (
        blocking.blocked_clients,
        blocking.blocking_keys,
        blocking.blocking_keys_on_missing,
    )


def entry(number: str) -> list[object]:
    return [[b"s", [[number.encode(), [b"f", b"v"]]]]]


# Which clients are served


def test_an_xread_waits_for_the_next_entry(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 0 STREAMS s $")
    assert waiting.read() is BLOCKED
    client("XADD s 1-1 f v")
    assert waiting.read() == entry("1-1")
    assert counts(client) == (0, 0, 0)


def test_one_entry_is_read_by_all_who_wait_with_xread(client: EngineClient) -> None:
    readers = [reader(client, "XREAD BLOCK 0 STREAMS s $") for _ in range(3)]
    client("XADD s 1-1 f v")
    assert [r.read() for r in readers] == [entry("1-1")] * 3


def test_in_a_group_the_first_who_waited_gets_the_entry(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    first, second = group_reader(client, "a"), group_reader(client, "b")
    client("XADD s 1-1 f v")
    assert first.read() == entry("1-1")
    assert second.read() is BLOCKED
    client("XADD s 2-1 f v")
    assert second.read() == entry("2-1")


def test_who_finds_nothing_goes_to_the_tail(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    client("XGROUP CREATE s h $")
    other_group = reader(client, "XREADGROUP GROUP h x BLOCK 0 STREAMS s >")
    a, b, c = (group_reader(client, name) for name in "abc")
    client("XADD s 1-1 f v")
    assert other_group.read() == entry("1-1")
    assert a.read() == entry("1-1")
    assert b.read() is c.read() is BLOCKED
    a.send("XREADGROUP GROUP g a BLOCK 0 STREAMS s >")
    for number, who in (("2-1", b), ("3-1", c), ("4-1", a)):
        client(f"XADD s {number} f v")
        assert who.read() == entry(number)


def test_several_entries_of_a_transaction_come_together(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 0 STREAMS s $")
    for words in ("MULTI", "XADD s 1-1 f v", "XADD s 2-1 f v"):
        client(words)
        assert waiting.read() is BLOCKED
    client("EXEC")
    assert waiting.read() == [[b"s", [[b"1-1", [b"f", b"v"]], [b"2-1", [b"f", b"v"]]]]]


def test_a_reader_of_several_keys_is_served_by_the_first_that_has_something(
    client: EngineClient,
) -> None:
    waiting = reader(client, "XREAD BLOCK 0 STREAMS a s a $ $ $")
    assert counts(client) == (1, 2, 0)
    client("XADD s 1-1 f v")
    assert waiting.read() == entry("1-1")
    client("XADD a 1-1 f v")
    assert waiting.read() is None
    assert counts(client) == (0, 0, 0)


def test_lists_and_streams_wait_in_one_queue_but_each_for_its_type(client: EngineClient) -> None:
    stream_reader = reader(client, "XREAD BLOCK 0 STREAMS k $")
    list_reader = reader(client, "BLPOP k 0")
    assert counts(client) == (2, 1, 0)
    client("RPUSH k x")
    assert list_reader.read() == [b"k", b"x"]
    assert stream_reader.read() is BLOCKED
    client("XADD k 1-1 f v")
    assert stream_reader.read() == [[b"k", [[b"1-1", [b"f", b"v"]]]]]


def test_what_serving_signals_is_served_too(client: EngineClient) -> None:
    first = reader(client, "BLPOP k 0")
    second = reader(client, "BLPOP k 0")
    client("RPUSH k x y")
    assert first.read() == [b"k", b"x"]
    assert second.read() == [b"k", b"y"]
    assert client("EXISTS k") == 0


def test_a_waiting_command_of_another_database_is_not_woken(client: EngineClient) -> None:
    other = client.new()
    other("SELECT 1")
    other.send("XREAD BLOCK 0 STREAMS s $")
    client("XADD s 1-1 f v")
    assert other.read() is BLOCKED


# Changes of the key


def test_an_xread_keeps_waiting_when_its_key_goes_or_changes_type(client: EngineClient) -> None:
    client("XADD s 666-0 f v")
    waiting = reader(client, "XREAD BLOCK 0 STREAMS s $")
    for words in ("DEL s", "SET s x", "DEL s", "SADD s x", "FLUSHALL"):
        client(words)
        assert waiting.read() is BLOCKED
    client("XADD s 667-0 f v")
    assert waiting.read() == entry("667-0")


def test_an_entry_that_is_gone_before_the_end_of_exec_wakes_nobody(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 0 STREAMS s $")
    for words in ("MULTI", "XADD s 1-1 f v", "DEL s", "EXEC"):
        client(words)
    assert waiting.read() is BLOCKED
    for words in ("MULTI", "XADD s 1-1 f v", "DEL s", "LPUSH s x", "EXEC"):
        client(words)
    assert waiting.read() is BLOCKED


@pytest.mark.parametrize(
    "words", ["DEL s", "UNLINK s", "FLUSHDB", "FLUSHALL", "RENAME s t", "SWAPDB 0 1", "MOVE s 1"]
)
def test_a_group_reader_learns_that_its_key_is_gone(client: EngineClient, words: str) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    waiting = group_reader(client, "a")
    assert counts(client) == (1, 1, 1)
    client(words)
    assert waiting.read() == NOGROUP
    assert counts(client) == (0, 0, 0)


def test_a_group_reader_learns_that_its_key_has_expired(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    waiting = group_reader(client, "a")
    client("PEXPIRE s 100")
    client.sleep(90)
    assert waiting.read() is BLOCKED
    client.sleep(30)
    assert waiting.read() == NOGROUP


def test_a_group_reader_learns_that_its_key_is_something_else(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    waiting = group_reader(client, "a")
    client("SET s x")
    assert waiting.read() == WRONGTYPE
    client("DEL s")
    client("XGROUP CREATE s g $ MKSTREAM")
    waiting = group_reader(client, "a")
    for words in ("MULTI", "DEL s", "SADD s x", "EXEC"):
        client(words)
    assert waiting.read() == WRONGTYPE


def test_a_stream_renamed_onto_the_key_is_read_if_it_has_the_group(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    client("XGROUP CREATE t g $ MKSTREAM")
    client("XADD t 5-0 f v")
    waiting = group_reader(client, "a")
    client("RENAME t s")
    assert waiting.read() == entry("5-0")
    client("XADD u 6-0 f v")
    waiting = group_reader(client, "a")
    client("RENAME u s")
    assert waiting.read() == NOGROUP


# Time


def test_a_wait_that_runs_out_is_a_null_array(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 100 STREAMS s $")
    client.sleep(99)
    assert waiting.session.out.take() == b""
    client.sleep(1)
    assert waiting.session.out.take() == b"*-1\r\n"
    waiting("HELLO 3")
    waiting.send("XREAD BLOCK 100 STREAMS s $")
    client.sleep(100)
    assert waiting.session.out.take() == b"_\r\n"


def test_waiting_again_keeps_the_first_deadline(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    first, second = group_reader(client, "a", 1000), group_reader(client, "b", 1000)
    client.sleep(600)
    client("XADD s 1-1 f v")
    assert first.read() == entry("1-1")
    assert second.read() is BLOCKED
    client.sleep(399)
    assert second.read() is BLOCKED
    client.sleep(1)
    assert second.messages() == [None]
    assert counts(client) == (0, 0, 0)


def test_deadlines_are_met_in_their_order(client: EngineClient) -> None:
    waits = {ms: reader(client, f"XREAD BLOCK {ms} STREAMS s $") for ms in (300, 100, 200)}
    assert client.engine.next_deadline_ms() == client.now_ms + 100
    client.sleep(200)
    assert [waits[ms].session.blocked is None for ms in (100, 200, 300)] == [True, True, False]


def test_many_short_waits_do_not_pile_up_deadlines(client: EngineClient) -> None:
    waiting = client.new()
    for i in range(1000):
        assert waiting(f"XREAD BLOCK 100000 STREAMS s {i}-1") is BLOCKED
        client(f"XADD s {i + 1}-1 f v")
        assert waiting.read() is not BLOCKED
    assert len(client.engine.blocking.deadlines.heap) < 200


def test_a_claim_alarm_looks_again_without_any_command(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    client("XADD s 1-1 f v")
    assert client("XREADGROUP GROUP g a STREAMS s >") == entry("1-1")
    waiting = reader(client, "XREADGROUP GROUP g b BLOCK 5000 CLAIM 500 STREAMS s >")
    client.sleep(499)
    assert waiting.read() is BLOCKED
    client.sleep(1)
    assert waiting.read() == [[b"s", [[b"1-1", [b"f", b"v"], 500, 1]]]]


# Ways out


def test_client_unblock_answers_as_a_timeout_or_with_an_error(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 0 STREAMS s $")
    for reason in ([], ["TIMEOUT"]):
        assert client("CLIENT", "UNBLOCK", waiting.session.id, *reason) == 1
        assert waiting.messages() == [None]
        waiting.send("XREAD BLOCK 0 STREAMS s $")
    assert client("CLIENT", "UNBLOCK", waiting.session.id, "ERROR") == 1
    assert waiting.read() == ReplyError("UNBLOCKED client unblocked via CLIENT UNBLOCK")
    assert client("CLIENT", "UNBLOCK", waiting.session.id) == 0
    assert counts(client) == (0, 0, 0)


def test_a_client_that_goes_away_waits_no_longer(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    gone, stays = group_reader(client, "a", 500), group_reader(client, "b")
    gone.close()
    assert counts(client) == (1, 1, 1)
    client("XADD s 1-1 f v")
    assert stays.read() == entry("1-1")
    assert client("XPENDING s g")[3] == [[b"b", b"1"]]
    client.sleep(1000)


def test_a_killed_client_takes_nothing_with_it(client: EngineClient) -> None:
    killed = reader(client, "BLPOP k 0")
    client("CLIENT", "KILL", "ID", killed.session.id)
    client("RPUSH k x")
    assert client("LLEN k") == 1


def test_inside_exec_nothing_waits(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    for words in (
        "MULTI",
        "XREAD BLOCK 0 STREAMS s $",
        "XREADGROUP GROUP g a BLOCK 0 STREAMS s >",
        "BLPOP k 0",
    ):
        client(words)
    assert client.raw("EXEC") == b"*3\r\n*-1\r\n*-1\r\n*-1\r\n"


# Counters and effects


def test_a_wait_counts_as_one_call_when_it_ends(client: EngineClient) -> None:
    def counted() -> tuple[int, int]:
        count = client.engine.call_counts.of(client.engine.commands[b"xreadgroup"])
        return count.calls, count.failed_calls

    client("XGROUP CREATE s g $ MKSTREAM")
    group_reader(client, "a")
    group_reader(client, "b")
    assert counted() == (0, 0)
    client("XADD s 1-1 f v")
    assert counted() == (1, 0)
    client("DEL s")
    assert counted() == (2, 1)
    client.engine.stats.reset()
    reader(client, "XREAD BLOCK 10 STREAMS s $")
    client.sleep(10)
    assert client.engine.stats.commands == 1


def test_a_served_group_read_is_a_unit_of_its_own(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    group_reader(client, "a")
    client.effects()
    client("XADD s 1-1 f v")
    names = [command[0] for command in client.effects()]
    assert names == [b"XADD", b"MULTI", b"XCLAIM", b"XGROUP", b"EXEC"]


# Waiting again


def test_a_client_waits_with_the_same_command_time_after_time(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    words = "XREADGROUP GROUP g a BLOCK 0 STREAMS s >"
    waiting = reader(client, words)
    for n in range(1, 5):
        client(f"XADD s {n}-1 f v")
        assert waiting.read() == entry(f"{n}-1")
        assert counts(client) == (0, 0, 0)
        assert waiting(words) is BLOCKED
        assert counts(client) == (1, 1, 1)


def test_each_wait_with_the_same_command_has_its_own_deadline(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 100 STREAMS s 0-1")
    client.sleep(60)
    client("XADD s 0-2 f v")
    assert waiting.read() == entry("0-2")
    client("DEL s")
    assert waiting("XREAD BLOCK 100 STREAMS s 0-1") is BLOCKED
    client.sleep(60)
    assert waiting.read() is BLOCKED
    client.sleep(40)
    assert waiting.read() is None
    assert counts(client) == (0, 0, 0)


def test_the_same_command_in_another_database_waits_there(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 0 STREAMS s 0-0")
    client("XADD s 1-1 f v")
    assert waiting.read() == entry("1-1")
    waiting("SELECT 1")
    assert waiting("XREAD BLOCK 0 STREAMS s 0-0") is BLOCKED
    client("XADD s 2-1 f v")
    assert waiting.read() is BLOCKED
    client("SELECT 1")
    client("XADD s 3-1 f v")
    assert waiting.read() == entry("3-1")


def test_another_command_waits_for_what_it_says_itself(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 0 STREAMS s 0-0")
    client("XADD s 1-1 f v")
    assert waiting.read() == entry("1-1")
    assert waiting("XREAD BLOCK 0 STREAMS t 0-0") is BLOCKED
    client("XADD s 2-1 f v")
    assert waiting.read() is BLOCKED
    client("XADD t 3-1 f v")
    assert waiting.read() == [[b"t", [[b"3-1", [b"f", b"v"]]]]]


def test_the_time_spent_in_vain_is_that_of_one_wait(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    words = "XREADGROUP GROUP g a BLOCK 0 STREAMS s >"
    waiting = reader(client, words)
    waiting.session.blocked.spent_us = 1_000_000
    client("XADD s 1-1 f v")
    assert waiting.read() == entry("1-1")
    assert waiting(words) is BLOCKED
    assert waiting.session.blocked.spent_us < 1_000_000


def test_nothing_large_is_kept_of_a_wait_that_is_over(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 0 STREAMS s t 0-0 0-0")
    client("XADD s 1-1 f v")
    assert waiting.read() == entry("1-1")
    assert waiting.session.waited is None
    client("CLIENT PAUSE 100 ALL")
    assert waiting(f"SET k {'x' * 1000}") is BLOCKED
    client.sleep(100)
    assert waiting.read() == "OK"
    assert waiting.session.waited is None


def test_the_server_hears_of_everybody_who_was_answered(client: EngineClient) -> None:
    waiting = reader(client, "XREAD BLOCK 0 STREAMS s $")
    bored = reader(client, "XREAD BLOCK 10 STREAMS t $")
    assert client.engine.take_touched() == []
    client("XADD s 1-1 f v")
    assert client.engine.take_touched() == [waiting.session]
    client.sleep(10)
    assert client.engine.take_touched() == [bored.session]
    assert client.engine.take_touched() == []


def test_ten_thousand_waiting_clients_are_woken_in_order(client: EngineClient) -> None:
    client("XGROUP CREATE s g $ MKSTREAM")
    readers = [client.new() for _ in range(10_000)]
    for number, waiting in enumerate(readers):
        waiting.send(f"BLPOP k{number} 0")
    for number in range(0, 10_000, 100):
        client(f"RPUSH k{number} x")
        assert readers[number].read() == [b"k%d" % number, b"x"]
    assert counts(client) == (9_900, 9_900, 0)


class LateTicker(Ticker):
    """A clock that is ahead of the turn, as after a slow command."""

    late_ms = 0

    def wall_us(self, now_ms: int) -> int:
        return (now_ms + self.late_ms) * 1000


def test_a_key_that_expired_while_its_transaction_ran_serves_nobody(client: EngineClient) -> None:
    clock = client.engine.ticker = LateTicker()
    waiting = reader(client, "BLPOP k 1")
    for words in ("MULTI", "RPUSH k a", "PEXPIRE k 100"):
        client(words)
    client.effects()
    clock.late_ms = 200
    assert client("EXEC") == [1, 1]
    assert waiting.read() is BLOCKED
    assert client("EXISTS k") == 0
    assert client.effects()[-1] == [b"DEL", b"k"]
    clock.late_ms = 0
    client.sleep(1000)
    assert waiting.read() is None


def test_a_group_whose_stream_expired_while_its_transaction_ran_is_gone(
    client: EngineClient,
) -> None:
    clock = client.engine.ticker = LateTicker()
    client("XGROUP CREATE s g $ MKSTREAM")
    waiting = group_reader(client, "a")
    for words in ("MULTI", "XADD s 1-1 f v", "PEXPIRE s 100"):
        client(words)
    clock.late_ms = 200
    client("EXEC")
    assert waiting.read().args[0].startswith("NOGROUP No such key 's'")


def test_a_reader_that_was_woken_in_vain_gives_up_when_it_said_at_first() -> None:
    first = EngineClient()
    first("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    second, writer = first.new(), first.new()
    for client in (first, second):
        client.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", 1000, "STREAMS", "s", ">")
    first.sleep(900)
    writer("XADD", "s", "1-1", "f", "v")
    assert first.read() == [[b"s", [[b"1-1", [b"f", b"v"]]]]]
    first.sleep(99)
    assert second.read() is BLOCKED
    first.sleep(1)
    assert second.messages() == [None]
    assert second.session.blocked is None
