"""XGROUP: create, move, destroy groups and their consumers."""

from __future__ import annotations

import pytest

from forebay.commands.api.notify_flags import KEYEVENT, NOTIFY_STREAM
from server.tests.support.replies import BAD_ID, WRONGTYPE
from testkit.engine_client import BLOCKED, EngineClient, ReplyError

KEY_REQUIRED = ReplyError(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to"
    " use the MKSTREAM option to create an empty stream automatically."
)


def bad_options(subcommand: str) -> ReplyError:
    return ReplyError(
        f"ERR unknown subcommand or wrong number of arguments for '{subcommand}'. Try XGROUP HELP."
    )


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    for i in range(1, 6):
        client("XADD", "s", f"{i}-0", "f", "v")
    client.effects()
    return client


def group_info(client: EngineClient, key: str = "s", n: int = 0) -> dict[bytes, object]:
    flat = client("XINFO", "GROUPS", key)[n]
    return dict(zip(flat[::2], flat[1::2], strict=True))


# CREATE


def test_create_answers_ok_and_is_recorded_as_it_came(client: EngineClient) -> None:
    assert client.raw("XGROUP", "CREATE", "s", "g", "$") == b"+OK\r\n"
    assert client.effects() == [[b"XGROUP", b"CREATE", b"s", b"g", b"$"]]


def test_create_at_the_dollar_starts_behind_the_last_entry(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "$")
    assert group_info(client)[b"last-delivered-id"] == b"5-0"
    assert group_info(client)[b"entries-read"] is None


def test_create_takes_an_id_without_sequence(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "3")
    assert group_info(client)[b"last-delivered-id"] == b"3-0"


@pytest.mark.parametrize("bad", ["-", "+", "(1", "x", "1-", "-1", "", "1-2-3", "1" * 128])
def test_create_takes_only_a_strict_id(client: EngineClient, bad: str) -> None:
    assert client("XGROUP", "CREATE", "s", "g", bad) == BAD_ID
    assert client("XINFO", "GROUPS", "s") == []
    assert client.effects() == []


def test_create_of_a_group_that_exists_is_busygroup(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "$")
    client.effects()
    busy = ReplyError("BUSYGROUP Consumer Group name already exists")
    assert client("XGROUP", "CREATE", "s", "g", "0") == busy
    assert client("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM") == busy
    assert client.effects() == []


def test_create_without_the_key_explains_mkstream(client: EngineClient) -> None:
    assert client("XGROUP", "CREATE", "none", "g", "$") == KEY_REQUIRED
    assert client("EXISTS", "none") == 0


def test_mkstream_makes_an_empty_stream(client: EngineClient) -> None:
    assert client("XGROUP", "CREATE", "new", "g", "$", "mkstream") == "OK"
    assert client("XLEN", "new") == 0
    assert client("TYPE", "new") == "stream"
    assert group_info(client, "new")[b"last-delivered-id"] == b"0-0"


def test_mkstream_with_an_id_starts_there(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "new", "g", "7-7", "MKSTREAM")
    assert group_info(client, "new")[b"last-delivered-id"] == b"7-7"


def test_mkstream_with_a_bad_id_makes_no_key(client: EngineClient) -> None:
    assert client("XGROUP", "CREATE", "new", "g", "bad", "MKSTREAM") == BAD_ID
    assert client("EXISTS", "new") == 0


def test_mkstream_on_a_stream_that_exists_is_harmless(client: EngineClient) -> None:
    assert client("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM") == "OK"
    assert client("XLEN", "s") == 5


def test_create_on_another_type_is_wrongtype(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XGROUP", "CREATE", "str", "g", "$") == WRONGTYPE
    assert client("XGROUP", "CREATE", "str", "g", "bad", "MKSTREAM") == WRONGTYPE


def test_entriesread_sets_the_counter(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "3", "ENTRIESREAD", "3")
    assert group_info(client)[b"entries-read"] == 3
    assert group_info(client)[b"lag"] == 2


def test_entriesread_is_capped_to_the_entries_added(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "3", "ENTRIESREAD", "9223372036854775807")
    assert group_info(client)[b"entries-read"] == 5


def test_entriesread_minus_one_means_unknown(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "3", "ENTRIESREAD", "-1")
    assert group_info(client)[b"entries-read"] is None


def test_options_of_create_come_in_any_order_and_case(client: EngineClient) -> None:
    assert client("XGROUP", "CREATE", "a", "g", "$", "entriesread", "0", "MkStream") == "OK"
    assert client("XGROUP", "CREATE", "b", "g", "$", "MKSTREAM", "ENTRIESREAD", "0") == "OK"


def test_entriesread_must_be_a_number_from_minus_one_on(client: EngineClient) -> None:
    negative = ReplyError("ERR value for ENTRIESREAD must be positive or -1")
    assert client("XGROUP", "CREATE", "s", "g", "$", "ENTRIESREAD", "-2") == negative
    not_a_number = ReplyError("ERR value is not an integer or out of range")
    assert client("XGROUP", "CREATE", "s", "g", "$", "ENTRIESREAD", "x") == not_a_number


@pytest.mark.parametrize("tail", [["FOO"], ["ENTRIESREAD"], ["MKSTREAM", "x"], ["MKSTREAM"] * 4])
def test_create_refuses_options_that_it_does_not_know(
    client: EngineClient, tail: list[str]
) -> None:
    assert client("XGROUP", "CREATE", "s", "g", "$", *tail) == bad_options("CREATE")


def test_option_errors_come_before_the_key_is_looked_up(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XGROUP", "create", "str", "g", "$", "FOO") == bad_options("create")
    assert client("XGROUP", "CREATE", "none", "g", "$", "FOO") == bad_options("CREATE")


def test_a_key_error_comes_before_the_number_of_options(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XGROUP", "CREATE", "str", "g", "$", *["MKSTREAM"] * 4) == WRONGTYPE


def test_names_may_be_empty_or_binary(client: EngineClient) -> None:
    assert client("XGROUP", "CREATE", "s", "", "$") == "OK"
    assert client("XGROUP", "CREATE", "s", b"\x00\r\n\xff", "$") == "OK"
    assert [group_info(client, n=n)[b"name"] for n in (0, 1)] == [b"", b"\x00\r\n\xff"]


# SETID


def test_setid_moves_the_group_and_forgets_the_counter(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0", "ENTRIESREAD", "0")
    client.effects()
    assert client.raw("XGROUP", "SETID", "s", "g", "4") == b"+OK\r\n"
    info = group_info(client)
    assert (info[b"last-delivered-id"], info[b"entries-read"]) == (b"4-0", None)
    assert client.effects() == [[b"XGROUP", b"SETID", b"s", b"g", b"4"]]


def test_setid_takes_the_dollar_and_both_ends(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    for given, expected in [
        ("$", b"5-0"),
        ("-", b"0-0"),
        ("+", b"18446744073709551615-18446744073709551615"),
    ]:
        assert client("XGROUP", "SETID", "s", "g", given) == "OK"
        assert group_info(client)[b"last-delivered-id"] == expected


@pytest.mark.parametrize("bad", ["(1", "x", "", "1-"])
def test_setid_refuses_what_is_no_id(client: EngineClient, bad: str) -> None:
    client("XGROUP", "CREATE", "s", "g", "2")
    assert client("XGROUP", "SETID", "s", "g", bad) == BAD_ID
    assert group_info(client)[b"last-delivered-id"] == b"2-0"


def test_setid_keeps_what_is_pending(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "a", "COUNT", "2", "STREAMS", "s", ">")
    client("XGROUP", "SETID", "s", "g", "0")
    assert client("XPENDING", "s", "g")[0] == 2


def test_setid_sets_and_caps_entriesread(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XGROUP", "SETID", "s", "g", "2", "ENTRIESREAD", "2")
    assert group_info(client)[b"entries-read"] == 2
    client("XGROUP", "SETID", "s", "g", "2", "ENTRIESREAD", "99")
    assert group_info(client)[b"entries-read"] == 5


def test_setid_refuses_mkstream_and_too_many_options(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    assert client("XGROUP", "SETID", "s", "g", "1", "MKSTREAM") == bad_options("SETID")
    assert client("XGROUP", "SETID", "s", "g", "1", "ENTRIESREAD") == bad_options("SETID")
    twice = ["ENTRIESREAD", "1", "ENTRIESREAD", "1"]
    assert client("XGROUP", "SETID", "s", "g", "1", *twice) == bad_options("SETID")
    assert client("XGROUP", "SETID", "s", "g", "1", "ENTRIESREAD", "-7") == ReplyError(
        "ERR value for ENTRIESREAD must be positive or -1"
    )


# DESTROY


def test_destroy_answers_one_then_zero(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client.effects()
    assert client.raw("XGROUP", "DESTROY", "s", "g") == b":1\r\n"
    assert client.raw("XGROUP", "DESTROY", "s", "g") == b":0\r\n"
    assert client.effects() == [[b"XGROUP", b"DESTROY", b"s", b"g"]]


def test_destroy_forgets_what_was_pending(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">")
    client("XGROUP", "DESTROY", "s", "g")
    client("XGROUP", "CREATE", "s", "g", "0")
    assert client("XPENDING", "s", "g") == [0, None, None, None]


def test_destroy_wakes_a_blocked_reader_with_nogroup(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "$")
    reader = client.new()
    read = ["XREADGROUP", "GROUP", "g", "a", "BLOCK", "0", "STREAMS", "s", ">"]
    assert reader(*read) is BLOCKED
    client("XGROUP", "DESTROY", "s", "g")
    assert reader.read() == ReplyError(
        "NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option"
    )


# CREATECONSUMER and DELCONSUMER


def test_createconsumer_answers_one_then_zero(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client.effects()
    assert client.raw("XGROUP", "CREATECONSUMER", "s", "g", "a") == b":1\r\n"
    assert client.raw("XGROUP", "CREATECONSUMER", "s", "g", "a") == b":0\r\n"
    assert client.effects() == [[b"XGROUP", b"CREATECONSUMER", b"s", b"g", b"a"]]
    assert client("XINFO", "CONSUMERS", "s", "g") == [
        [b"name", b"a", b"pending", 0, b"idle", 0, b"inactive", -1]
    ]


def test_delconsumer_answers_how_much_it_had_and_drops_it(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "a", "COUNT", "3", "STREAMS", "s", ">")
    client("XREADGROUP", "GROUP", "g", "b", "STREAMS", "s", ">")
    client.effects()
    assert client.raw("XGROUP", "DELCONSUMER", "s", "g", "a") == b":3\r\n"
    assert client("XPENDING", "s", "g") == [2, b"4-0", b"5-0", [[b"b", b"2"]]]
    assert client.raw("XGROUP", "DELCONSUMER", "s", "g", "a") == b":0\r\n"
    assert client.effects() == [[b"XGROUP", b"DELCONSUMER", b"s", b"g", b"a"]]


def test_delconsumer_of_a_consumer_without_pending_is_recorded_too(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XGROUP", "CREATECONSUMER", "s", "g", "a")
    client.effects()
    assert client("XGROUP", "DELCONSUMER", "s", "g", "a") == 0
    assert len(client.effects()) == 1


# Common rules


@pytest.mark.parametrize(
    "call",
    [
        ["SETID", "s", "g", "0"],
        ["CREATECONSUMER", "s", "g", "a"],
        ["DELCONSUMER", "s", "g", "a"],
    ],
)
def test_a_missing_group_is_nogroup(client: EngineClient, call: list[str]) -> None:
    assert client("XGROUP", *call) == ReplyError(
        "NOGROUP No such consumer group 'g' for key name 's'"
    )


@pytest.mark.parametrize(
    "tail",
    [["SETID", "0"], ["DESTROY"], ["CREATECONSUMER", "a"], ["DELCONSUMER", "a"]],
    ids=lambda tail: tail[0],
)
def test_every_subcommand_needs_the_key_and_its_type(client: EngineClient, tail: list[str]) -> None:
    client("SET", "str", "v")
    assert client("XGROUP", tail[0], "none", "g", *tail[1:]) == KEY_REQUIRED
    assert client("XGROUP", tail[0], "str", "g", *tail[1:]) == WRONGTYPE


def test_names_in_errors_end_at_a_nul_and_lose_their_line_ends(client: EngineClient) -> None:
    assert client.raw("XGROUP", "SETID", "s", b"a\r\nb\0c", "0") == (
        b"-NOGROUP No such consumer group 'a  b' for key name 's'\r\n"
    )


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (["CREATE", "s", "g"], "xgroup|create"),
        (["SETID", "s", "g"], "xgroup|setid"),
        (["DESTROY", "s"], "xgroup|destroy"),
        (["DESTROY", "s", "g", "x"], "xgroup|destroy"),
        (["CREATECONSUMER", "s", "g"], "xgroup|createconsumer"),
        (["DELCONSUMER", "s", "g", "c", "x"], "xgroup|delconsumer"),
        (["HELP", "x"], "xgroup|help"),
    ],
)
def test_the_arity_error_names_the_subcommand(
    client: EngineClient, call: list[str], name: str
) -> None:
    assert client("XGROUP", *call) == ReplyError(
        f"ERR wrong number of arguments for '{name}' command"
    )


def test_an_unknown_subcommand_points_to_help(client: EngineClient) -> None:
    assert client("XGROUP", "foo", "s", "g") == ReplyError(
        "ERR unknown subcommand 'foo'. Try XGROUP HELP."
    )


def test_help_is_an_array_of_simple_strings(client: EngineClient) -> None:
    raw = client.raw("XGROUP", "HELP")
    assert raw.startswith(
        b"*17\r\n+XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
        b"+CREATE <key> <groupname> <id|$> [option]\r\n"
    )
    assert raw.endswith(b"+HELP\r\n+    Print this help.\r\n")


def test_group_changes_raise_their_events(client: EngineClient) -> None:
    client.configure(notify_flags=KEYEVENT | NOTIFY_STREAM)
    listener = client.new()
    listener("PSUBSCRIBE", "__keyevent@0__:*")
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XGROUP", "SETID", "s", "g", "1")
    client("XGROUP", "CREATECONSUMER", "s", "g", "a")
    client("XGROUP", "CREATECONSUMER", "s", "g", "a")
    client("XGROUP", "DELCONSUMER", "s", "g", "a")
    client("XGROUP", "DELCONSUMER", "s", "g", "a")
    client("XGROUP", "DESTROY", "s", "g")
    client("XGROUP", "DESTROY", "s", "g")
    events = [message[2].rpartition(b":")[2] for message in listener.messages()]
    assert events == [
        b"xgroup-create",
        b"xgroup-setid",
        b"xgroup-createconsumer",
        b"xgroup-delconsumer",
        b"xgroup-destroy",
    ]


def test_group_changes_do_not_disturb_who_watches_the_key(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH", "s")
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XGROUP", "SETID", "s", "g", "1")
    client("XGROUP", "CREATECONSUMER", "s", "g", "a")
    client("XGROUP", "DELCONSUMER", "s", "g", "a")
    client("XGROUP", "DESTROY", "s", "g")
    watcher("MULTI")
    watcher("PING")
    assert watcher("EXEC") == ["PONG"]


def test_a_stream_made_by_mkstream_does_disturb_who_watches_the_key(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH", "new")
    client("XGROUP", "CREATE", "new", "g", "$", "MKSTREAM")
    watcher("MULTI")
    watcher("PING")
    assert watcher("EXEC") is None
