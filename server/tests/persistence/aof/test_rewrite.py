"""A keyspace written as commands and replayed is the same keyspace."""

from __future__ import annotations

import zlib
from random import Random

import pytest

import forebay
from forebay.core.check import check_keyspace
from forebay.persistence.aof.rewrite import RewriteOptions, rewrite
from testkit.engine_client import EngineClient
from testkit.random_keyspace import fill
from testkit.replaying import commands_only, lasting, replay, rewritten
from testkit.resp import parse, split_replies

KEYSPACES = 100 if forebay.compiled() else 25


def commands(client: EngineClient, options: RewriteOptions | None = None) -> list[list[bytes]]:
    """The commands for the keyspace of a client."""
    text = commands_only(rewritten(client.engine.keyspace, options))
    return [parse(command) for command in split_replies(text)]


def names(client: EngineClient) -> list[bytes]:
    return [command[0] for command in commands(client)]


def same_again(client: EngineClient) -> None:
    """Fail unless the rewritten AOF makes the same keyspace."""
    twin = replay(rewritten(client.engine.keyspace))
    assert lasting(twin.keyspace) == lasting(client.engine.keyspace)


def client_with(*lines: str) -> EngineClient:
    client = EngineClient()
    for line in lines:
        reply = client(*line.split())
        assert not isinstance(reply, Exception), f"{line}: {reply}"
    return client


READ = "XREADGROUP GROUP g alice COUNT 9 STREAMS s >"


@pytest.mark.parametrize("seed", range(KEYSPACES))
def test_a_random_keyspace_comes_back_the_same(seed: int) -> None:
    client = EngineClient(now_ms=5_000_000)
    fill(client, Random(seed), newest=True)
    twin = replay(rewritten(client.engine.keyspace))
    assert lasting(twin.keyspace) == lasting(client.engine.keyspace)
    check_keyspace(twin.keyspace)


def test_an_empty_keyspace_is_an_empty_aof() -> None:
    assert rewritten(EngineClient().engine.keyspace) == b""


def test_strings_lists_sets_and_expiry_times_come_back() -> None:
    client = client_with("SET s hello", "RPUSH l a b a", "SADD m x y", "PEXPIREAT s 4000000000000")
    assert commands(client)[:3] == [
        [b"SELECT", b"0"],
        [b"SET", b"s", b"hello"],
        [b"PEXPIREAT", b"s", b"4000000000000"],
    ]
    same_again(client)


def test_a_key_past_its_time_is_written_with_it() -> None:
    client = client_with("SET k v", "PEXPIREAT k 1000500")
    client.now_ms += 1000
    assert [b"PEXPIREAT", b"k", b"1000500"] in commands(client)


def test_long_lists_and_sets_take_several_commands() -> None:
    client = EngineClient()
    client("RPUSH", "l", *range(1000))
    client("SADD", "m", *range(1000))
    assert names(client).count(b"RPUSH") == names(client).count(b"SADD") == 16
    same_again(client)


def test_each_database_is_selected_once() -> None:
    client = client_with("SET a 1", "SELECT 3", "SET b 2", "SET c 3")
    assert [c for c in commands(client) if c[0] == b"SELECT"] == [
        [b"SELECT", b"0"],
        [b"SELECT", b"3"],
    ]
    same_again(client)


# -- streams ------------------------------------------------------------------------


def test_counters_and_the_last_id_outlive_the_entries_that_made_them() -> None:
    client = client_with("XADD s 1-0 a 1", "XADD s 2-0 a 1", "XADD s 5-5 a 1", "XDEL s 2-0 5-5")
    assert [b"XSETID", b"s", b"5-5", b"ENTRIESADDED", b"3", b"MAXDELETEDID", b"5-5"] in commands(
        client
    )
    same_again(client)


def test_a_stream_may_be_empty_from_birth_or_by_deletion() -> None:
    same_again(client_with("XGROUP CREATE s g $ MKSTREAM"))
    same_again(client_with("XADD s 7-1 a 1", "XTRIM s MAXLEN 0"))
    same_again(client_with("XADD s 7-1 a 1", "XDEL s 7-1", "XSETID s 7-2"))


def test_deliveries_of_one_batch_are_one_command() -> None:
    client = EngineClient()
    for n in range(300):
        client("XADD", "s", f"{n + 1}-0", "n", n)
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "alice", "COUNT", "100", "STREAMS", "s", ">")
    client.now_ms += 1
    client("XREADGROUP", "GROUP", "g", "alice", "COUNT", "200", "STREAMS", "s", ">")
    claims = [command for command in commands(client) if command[0] == b"XCLAIM"]
    assert [command.count(b"XCLAIM") for command in claims] == [1, 1]
    assert [len(command) for command in claims] == [111, 211]
    same_again(client)


def test_no_command_holds_more_than_a_thousand_ids() -> None:
    client = EngineClient()
    for n in range(2500):
        client("XADD", "s", f"{n + 1}-0", "n", n)
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    lengths = [len(command) for command in commands(client) if command[0] == b"XCLAIM"]
    assert lengths == [1035, 1035, 463]
    same_again(client)


def test_owners_times_and_counts_come_back() -> None:
    client = client_with(
        *(f"XADD s {n}-0 a 1" for n in range(1, 9)),
        "XGROUP CREATE s g 0",
        READ,
        "XCLAIM s g bob 0 2-0 4-0 TIME 77 RETRYCOUNT 5",
        "XCLAIM s g bob 0 6-0 TIME 78 RETRYCOUNT 9223372036854775807",
        "XGROUP CREATECONSUMER s g idle",
    )
    assert [b"XGROUP", b"CREATECONSUMER", b"s", b"g", b"idle"] in commands(client)
    same_again(client)


def test_what_nobody_owns_comes_back_in_the_order_of_its_release() -> None:
    client = client_with(
        *(f"XADD s {n}-0 a 1" for n in range(1, 7)),
        "XGROUP CREATE s g 0",
        READ,
        "XNACK s g SILENT IDS 1 5-0",
        "XNACK s g FAIL IDS 2 2-0 1-0",
        "XNACK s g FATAL IDS 1 3-0",
    )
    assert names(client).count(b"XNACK") == 3
    same_again(client)


def test_a_group_that_was_set_back_or_knows_no_number_comes_back() -> None:
    adds = [f"XADD s {n}-0 a 1" for n in range(1, 5)]
    same_again(client_with(*adds, "XGROUP CREATE s g 3-0"))
    same_again(client_with(*adds, "XGROUP CREATE s g 2-0 ENTRIESREAD 2", "XGROUP SETID s g 9-9"))


def test_a_group_that_has_read_more_than_was_added_comes_back() -> None:
    same_again(
        client_with(
            *(f"XADD s {n}-0 a 1" for n in range(1, 5)),
            "XGROUP CREATE s g 4-0 ENTRIESREAD 4",
            "XTRIM s MAXLEN 1",
            "XSETID s 4-0 ENTRIESADDED 2",
        )
    )


# -- ghosts: references to deleted entries ------------------------------------------


@pytest.mark.parametrize(
    "removal",
    [
        "XDEL s 2-0",
        "XDEL s 5-0",
        "XDEL s 1-0 3-0 5-0",
        "XTRIM s MAXLEN 2",
        "XTRIM s MAXLEN 0",
        "XTRIM s MINID 3-0",
    ],
)
def test_what_is_pending_of_deleted_entries_comes_back(removal: str) -> None:
    adds = [f"XADD s {n}-0 a 1" for n in range(1, 6)]
    client = client_with(*adds, "XGROUP CREATE s g 0", READ, removal, "XGROUP CREATE s h 2-0")
    assert len(client("XPENDING", "s", "g", "-", "+", "9")) == 5
    same_again(client)


def test_deleted_entries_on_both_sides_of_live_ones_come_back() -> None:
    client = client_with(
        *(f"XADD s {n}-0 a 1" for n in range(1, 10)),
        "XGROUP CREATE s g 0",
        READ,
        "XTRIM s MAXLEN 7",
        "XDEL s 5-0 7-0",
        "XNACK s g FAIL IDS 2 5-0 1-0",
    )
    assert names(client).count(b"XTRIM") == names(client).count(b"XDEL") == 1
    same_again(client)


def test_what_was_trimmed_leaves_no_trace_of_a_deletion() -> None:
    adds = [f"XADD s {n}-0 a 1" for n in range(1, 4)]
    client = client_with(*adds, "XGROUP CREATE s g 0", READ, "XTRIM s MAXLEN 1")
    stream = replay(rewritten(client.engine.keyspace)).keyspace.databases[0].get(b"s")
    assert (stream.maxdel_ms, stream.maxdel_seq) == (0, 0)


def test_a_last_id_below_a_pending_entry_comes_back() -> None:
    client = client_with(
        "XADD s 5-0 a 1", "XGROUP CREATE s g 0", READ, "XTRIM s MAXLEN 0", "XSETID s 1-0"
    )
    same_again(client)


def test_more_deleted_entries_than_one_command_takes_come_back() -> None:
    client = EngineClient()
    client("XADD", "s", "0-1", "a", "1")
    for n in range(1, 1500):
        client("XADD", "s", f"{n}-0", "n", n)
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    client("XDEL", "s", *(f"{n}-0" for n in range(1, 1500)))
    assert names(client).count(b"XDEL") == 2
    same_again(client)


# -- messages of producers ----------------------------------------------------------


def test_messages_come_back_with_those_whose_entries_are_gone() -> None:
    client = client_with(
        "XADD s IDMP p 1 * a 1",
        "XADD s IDMP p 2 * a 1",
        "XADD s IDMP q 1 * a 1",
        "XTRIM s MAXLEN 2",
    )
    assert names(client).count(b"XIDMPRECORD") == 3
    same_again(client)


def test_settings_are_written_unless_every_server_has_them() -> None:
    client = client_with("XADD s 1-0 a 1")
    assert b"XCFGSET" not in names(client)
    options = RewriteOptions(idmp_duration_s=200, idmp_maxsize=100)
    assert [b"XCFGSET", b"s", b"IDMP-DURATION", b"100", b"IDMP-MAXSIZE", b"100"] in commands(
        client, options
    )
    client("XCFGSET", "s", "IDMP-MAXSIZE", "7")
    assert b"XCFGSET" in names(client)
    same_again(client)


def test_a_message_whose_entry_cannot_be_made_is_left_out() -> None:
    client = client_with(
        "XADD s 1-0 a 1",
        "XGROUP CREATE s g 0-1",
        "XREADGROUP GROUP g alice COUNT 1 STREAMS s >",
        "XADD s IDMP p 1 * a 1",
        "XGROUP SETID s g $",
        "XTRIM s ACKED MAXLEN 0",
        "XSETID s 1-0",
    )
    assert client("XLEN", "s") == 1
    assert b"XIDMPRECORD" not in names(client)
    replay(rewritten(client.engine.keyspace))


# -- the text -----------------------------------------------------------------------


def test_seals_are_chained_and_stand_some_kilobytes_apart() -> None:
    client = EngineClient()
    for n in range(3000):
        client("XADD", "s", f"{n + 1}-0", "field", "value")
    pieces: list[bytes] = []
    for _ in rewrite(client.engine.keyspace, pieces.append):
        pass
    crc = 0
    for piece in pieces:
        text, seal = piece[:-15], piece[-15:]
        crc = zlib.crc32(text, crc)
        assert seal == b"#CRC:%08x\r\n" % crc
    assert all(len(piece) < 40_000 for piece in pieces)
    assert len(pieces) > 5


def test_the_number_of_keys_is_told_on_the_way() -> None:
    client = client_with("SET a 1")
    client("SET", "big", "x" * 100_000)
    client("RPUSH", "l", *["x" * 100] * 1000)
    told = list(rewrite(client.engine.keyspace, lambda piece: None))
    assert told == sorted(told)
    assert told[-1] == 3
    assert len(told) > 4
