"""OBJECT."""

import pytest

from tests.support.admin_client import AdminClient
from tests.support.resp import ReplyError


@pytest.mark.parametrize(
    ("command", "encoding"),
    [
        (["XADD", "k", "1-1", "f", "v"], b"stream"),
        (["SET", "k", "123"], b"int"),
        (["SET", "k", "-9223372036854775808"], b"int"),
        (["SET", "k", "9223372036854775808"], b"embstr"),
        (["SET", "k", "012"], b"embstr"),
        (["SET", "k", "x" * 44], b"embstr"),
        (["SET", "k", "x" * 45], b"raw"),
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


def test_refcount_is_one_but_for_the_small_numbers_that_redis_shares() -> None:
    client = AdminClient()
    client("SET", "shared", "9999")
    client("SET", "own", "10000")
    assert client("OBJECT", "REFCOUNT", "shared") == 2147483647
    assert client("OBJECT", "REFCOUNT", "own") == 1


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
