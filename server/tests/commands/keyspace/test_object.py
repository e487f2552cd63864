"""OBJECT."""

import pytest

from server.tests.support.admin_client import AdminClient
from testkit.resp import ReplyError


@pytest.mark.parametrize(
    ("command", "encoding"),
    [
        (["XADD", "k", "1-1", "f", "v"], b"stream"),
        (["SET", "k", "123"], b"int"),
        (["SET", "k", "-9223372036854775808"], b"int"),
        (["SET", "k", "9223372036854775808"], b"embstr"),
        (["SET", "k", "012"], b"embstr"),
        (["SET", "k", "x" * 40], b"embstr"),
        (["SET", "k", "x" * 41], b"raw"),
        (["RPUSH", "k", "a", "b"], b"listpack"),
        (["RPUSH", "k", "x" * 9000], b"quicklist"),
        (["SADD", "k", "1", "2"], b"intset"),
        (["SADD", "k", *map(str, range(513))], b"hashtable"),
        (["SADD", "k", "1", "a"], b"listpack"),
        (["SADD", "k", "x" * 65], b"hashtable"),
    ],
)
def test_encoding_is_what_redis_would_have_chosen(command: list[str], encoding: bytes) -> None:
    client = AdminClient()
    client(*command)
    assert client("OBJECT", "ENCODING", "k") == encoding


def test_all_of_them_answer_nil_for_a_missing_key() -> None:
    client = AdminClient()
    for subcommand in ("ENCODING", "FREQ", "IDLETIME", "REFCOUNT"):
        assert client("OBJECT", subcommand, "k") is None


@pytest.mark.parametrize(
    ("commands", "encoding"),
    [
        (["SET k abc", "APPEND k d"], b"raw"),
        (["APPEND k abc"], b"embstr"),
        (["APPEND k 12"], b"int"),
        (["SET k 12", "APPEND k 3"], b"raw"),
        (["SET k 12", "APPEND k 3", "INCR k"], b"int"),
        (["SET k abc", "SETRANGE k 1 x"], b"raw"),
        (["SETRANGE k 1 x"], b"raw"),
        (["SET k 12", "SETBIT k 0 0"], b"raw"),
        (["SET k 12", "GETBIT k 0"], b"int"),
        (["SET k abc", "BITFIELD k SET u8 0 1"], b"raw"),
        (["SET k abc", "BITFIELD k GET u8 0"], b"embstr"),
        (["SET a 1", "BITOP OR k a a"], b"raw"),
        (["APPEND k a", "APPEND k b", "GETSET k 1"], b"int"),
        (["SET a abc", "APPEND a d", "COPY a k"], b"raw"),
        (["SET a abc", "APPEND a d", "RENAME a k"], b"raw"),
    ],
)
def test_a_string_that_was_changed_in_place_is_raw(commands: list[str], encoding: bytes) -> None:
    client = AdminClient()
    for command in commands:
        client(*command.split())
    assert client("OBJECT", "ENCODING", "k") == encoding


def test_a_short_string_is_embedded_if_its_key_is_short_too() -> None:
    client = AdminClient()
    for key, encoding in (("k" * 31, b"embstr"), ("k" * 32, b"raw")):
        client("SET", key, "x" * 10)
        assert client("OBJECT", "ENCODING", key) == encoding


def test_refcount_is_one() -> None:
    client = AdminClient()
    client("SET", "k", "7")
    assert client("OBJECT", "REFCOUNT", "k") == 1


def test_freq_needs_an_lfu_policy_and_idletime_another_one() -> None:
    client = AdminClient()
    client("SET", "k", "v")
    assert client("OBJECT", "IDLETIME", "k") == 0
    assert "An LFU maxmemory policy is not selected" in str(client("OBJECT", "FREQ", "k"))
    client("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu")
    assert client("OBJECT", "FREQ", "k") == 0
    assert "idle time not tracked" in str(client("OBJECT", "IDLETIME", "k"))


def test_help_and_unknown_subcommands() -> None:
    client = AdminClient()
    assert "ENCODING <key>" in client("OBJECT", "HELP")
    assert client("OBJECT", "COLOUR", "k") == ReplyError(
        "ERR unknown subcommand 'COLOUR'. Try OBJECT HELP."
    )
