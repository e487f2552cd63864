"""DEBUG: which clients may use it, and its answers."""

from pathlib import Path
from typing import Any

import pytest

from server.tests.support.admin_client import AdminClient
from testkit.resp import Push, ReplyError, parse, split_replies

#: DEBUG DIGEST-VALUE and DEBUG DIGEST as redis-server 7.0.15 answers them for the keys below.
VALUE_DIGESTS = {
    "s": "d63ca4167692aaf3d0f958d61e01aecdc81328f0",
    "str": "36b23a1456b2dce2c3ed252c456761301dba8060",
    "num": "89f7f51b707418f666d5b45e053bd5bbbf82ac2b",
    "list": "d5f44352f6226abea9252dad248ef5de0d964396",
    "set": "03ee76a1ebe8db27d61b3ea784011d5acc537675",
    "exp": "311b17018163335616e089f6b951c82c477335ac",
    "nokey": "0" * 40,
}
DATASET_DIGEST = "6bb74036bc9a807868f6687f5ce48159ced7ee2a"


def debugger(**settings: Any) -> AdminClient:
    return AdminClient(enable_debug_command="yes", **settings)


def filled() -> AdminClient:
    client = debugger()
    client("XADD", "s", "1-1", "a", "b", "c", "d")
    client("XADD", "s", "5-0", "a", "1")
    client("XADD", "s", "18446744073709551615-18446744073709551615", "", "")
    client("SET", "str", "hello")
    client("SET", "num", "123")
    client("RPUSH", "list", "a", "1", "b")
    client("SADD", "set", "x", "1", "y")
    client("SET", "exp", "v")
    client("PEXPIREAT", "exp", "99999999999999")
    return client


def test_it_is_off_by_default_and_says_how_to_switch_it_on() -> None:
    assert AdminClient()("DEBUG", "SLEEP", "0") == ReplyError(
        "ERR DEBUG command not allowed. If the enable-debug-command option is set to"
        ' "local", you can run it from a local connection, otherwise you need to set this option'
        " in the configuration file, and then restart the server."
    )


def test_local_admits_loopback_and_unix_sockets_only() -> None:
    client = AdminClient(enable_debug_command="local")
    for addr, works in [
        (b"127.0.0.1:1", True),
        (b"127.9.9.9:1", True),
        (b"[::1]:1", True),
        (b"/tmp/s:0", True),
        (b"10.0.0.1:1", False),
        (b"[2001:db8::1]:1", False),
    ]:
        client.session.addr = addr
        answer = client("DEBUG", "JMAP")
        assert (answer == "OK") is works, addr


def test_digest_value_equals_that_of_redis_for_every_type() -> None:
    digests = filled()("DEBUG", "DIGEST-VALUE", *VALUE_DIGESTS)
    assert digests == list(VALUE_DIGESTS.values())


def test_digest_equals_that_of_redis_over_databases() -> None:
    client = filled()
    client("SELECT", "3")
    client("SET", "other", "x")
    assert client("DEBUG", "DIGEST") == DATASET_DIGEST


def test_digest_does_not_depend_on_the_order_in_which_keys_were_made() -> None:
    one, two = debugger(), debugger()
    for client, keys in ((one, "abc"), (two, "cba")):
        for key in keys:
            client("SET", key, key)
    assert one("DEBUG", "DIGEST") == two("DEBUG", "DIGEST")
    assert debugger()("DEBUG", "DIGEST") == "0" * 40


def test_object_tells_the_encoding_and_fails_without_a_key() -> None:
    client = filled()
    assert " encoding:stream serializedlength:" in client("DEBUG", "OBJECT", "s")
    assert client("DEBUG", "OBJECT", "nokey") == ReplyError("ERR no such key")


def test_sleep_stops_the_server_for_that_long() -> None:
    client = debugger()
    for seconds in ("0.5", "0", "-1", "soon", "inf"):
        assert client("DEBUG", "SLEEP", seconds) == "OK"
    assert client.slept_s == [0.5]


def test_set_active_expire_switches_the_search_for_expired_keys() -> None:
    client = debugger()
    client("DEBUG", "SET-ACTIVE-EXPIRE", "0")
    client("SET", "k", "v", "PX", "10")
    client.sleep(1000)
    assert client("DBSIZE") == 1
    client("DEBUG", "SET-ACTIVE-EXPIRE", "1")
    client.sleep(1000)
    assert client("DBSIZE") == 0


@pytest.mark.parametrize(
    ("name", "resp2", "resp3"),
    [
        ("string", b"Hello World", b"Hello World"),
        ("integer", 12345, 12345),
        ("double", b"3.141", 3.141),
        (
            "bignum",
            b"1234567999999999999999999999999999999",
            1234567999999999999999999999999999999,
        ),
        ("null", None, None),
        ("array", [0, 1, 2], [0, 1, 2]),
        ("set", [0, 1, 2], [0, 1, 2]),
        ("map", [0, 0, 1, 1, 2, 0], {0: False, 1: True, 2: False}),
        ("verbatim", b"This is a verbatim\nstring", b"txt:This is a verbatim\nstring"),
        ("true", 1, True),
        ("false", 0, False),
    ],
)
def test_protocol_answers_one_reply_of_each_type(name: str, resp2: object, resp3: object) -> None:
    client = debugger()
    assert client("DEBUG", "PROTOCOL", name) == resp2
    client("HELLO", "3")
    assert client("DEBUG", "PROTOCOL", name) == resp3


def test_protocol_push_and_attribute_come_before_a_real_reply() -> None:
    client = debugger()
    assert "RESP2 is not supported" in str(client("DEBUG", "PROTOCOL", "push"))
    plain = client("DEBUG", "PROTOCOL", "attrib")
    assert plain == b"Some real reply following the attribute"
    client("HELLO", "3")
    push, reply = split_replies(client.raw("DEBUG", "PROTOCOL", "push"))
    assert parse(push) == Push([b"server-cpu-usage", 42])
    assert parse(reply) == b"Some real reply following the push reply"
    attribute = client.raw("DEBUG", "PROTOCOL", "attrib")
    assert attribute.startswith(b"|1\r\n$14\r\nkey-popularity\r\n")
    assert attribute.endswith(b"$%d\r\n%b\r\n" % (len(plain), plain))


def test_an_unknown_type_lists_the_known_ones() -> None:
    assert "string|integer|double" in str(debugger()("DEBUG", "PROTOCOL", "poem"))


def test_stringmatch_answers_whether_the_pattern_fits() -> None:
    client = debugger()
    assert client("DEBUG", "STRINGMATCH-LEN", "a*c", "abbc") == 1
    assert client("DEBUG", "STRINGMATCH-LEN", "a*c", "abb") == 0


def test_reload_goes_to_the_snapshot_and_back(tmp_path: Path) -> None:
    client = debugger(data_dir=str(tmp_path))
    client("XADD", "s", "1-1", "f", "v")
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "me", "STREAMS", "s", ">")
    client("SET", "a", "1", "PXAT", "99999999999999")
    digest = client("DEBUG", "DIGEST")
    assert client("DEBUG", "RELOAD") == "OK"
    assert client("DEBUG", "DIGEST") == digest
    assert client("XPENDING", "s", "g")[0] == 1


def test_reload_without_saving_takes_the_snapshot_that_is_there(tmp_path: Path) -> None:
    client = debugger(data_dir=str(tmp_path))
    client("SET", "a", "saved")
    client("SAVE")
    client("SET", "a", "changed")
    client("SET", "b", "new")
    assert client("DEBUG", "RELOAD", "NOSAVE") == "OK"
    assert client("MGET", "a", "b") == [b"saved", None]
    client("SET", "a", "changed")
    client("SET", "b", "new")
    assert client("DEBUG", "RELOAD", "NOSAVE", "NOFLUSH", "MERGE") == "OK"
    assert client("MGET", "a", "b") == [b"saved", b"new"]


def test_reload_without_a_snapshot_fails(tmp_path: Path) -> None:
    client = debugger(data_dir=str(tmp_path))
    assert client("DEBUG", "RELOAD", "NOSAVE") == ReplyError(
        "ERR Error trying to load the RDB dump, check server logs."
    )
    assert client("DEBUG", "RELOAD", "NOSAFE") == ReplyError(
        "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."
    )


def test_reload_and_loadaof_are_not_for_transactions() -> None:
    for words in (["RELOAD"], ["LOADAOF"]):
        client = debugger()
        client("MULTI")
        client("DEBUG", *words)
        assert client("EXEC") == [ReplyError("ERR Command not allowed inside a transaction")]


def test_unknown_subcommands_and_wrong_counts_get_the_same_error() -> None:
    for words in (["dance"], ["sleep"], ["digest", "x"]):
        assert debugger()("DEBUG", *words) == ReplyError(
            f"ERR unknown subcommand or wrong number of arguments for '{words[0]}'. Try DEBUG HELP."
        )
    assert "DIGEST" in debugger()("DEBUG", "HELP")
