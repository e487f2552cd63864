"""SSUBSCRIBE, SUNSUBSCRIBE, SPUBLISH, PUBSUB SHARD*, READONLY: one node without a cluster.

The expected replies are those of redis-server 8.6.3.
"""

from __future__ import annotations

import pytest

from testkit.engine_client import EngineClient, ReplyError
from testkit.resp import Push


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_shard_channels_are_counted_for_themselves(client: EngineClient) -> None:
    client.send("SSUBSCRIBE a b a")
    assert client.messages() == [
        [b"ssubscribe", b"a", 1],
        [b"ssubscribe", b"b", 2],
        [b"ssubscribe", b"a", 2],
    ]
    assert client("SUBSCRIBE a") == [b"subscribe", b"a", 1]
    assert client("PSUBSCRIBE a*") == [b"psubscribe", b"a*", 2]
    assert client("SUNSUBSCRIBE a") == [b"sunsubscribe", b"a", 1]
    assert client("UNSUBSCRIBE") == [b"unsubscribe", b"a", 1]
    assert client("PUNSUBSCRIBE") == [b"punsubscribe", b"a*", 0]
    assert client("PING") == [b"pong", b""]
    assert client("SUNSUBSCRIBE") == [b"sunsubscribe", b"b", 0]
    assert client("SUNSUBSCRIBE") == [b"sunsubscribe", None, 0]
    assert client("PING") == "PONG"


def test_a_shard_message_reaches_neither_channels_nor_patterns(client: EngineClient) -> None:
    shard, plain = client.new(), client.new()
    shard.send("SSUBSCRIBE news")
    plain.send("SUBSCRIBE news")
    plain.send("PSUBSCRIBE *")
    shard.messages()
    plain.messages()
    assert client("SPUBLISH news one") == 1
    assert client("PUBLISH news two") == 2
    assert client("SPUBLISH nobody x") == 0
    assert shard.messages() == [[b"smessage", b"news", b"one"]]
    assert [message[0] for message in plain.messages()] == [b"message", b"pmessage"]


def test_in_resp3_everything_is_a_push_and_ones_own_message_comes_after_the_reply(
    client: EngineClient,
) -> None:
    client("HELLO 3")
    assert client("SSUBSCRIBE me") == Push([b"ssubscribe", b"me", 1])
    assert client.raw("SPUBLISH me x") == (b":1\r\n>3\r\n$8\r\nsmessage\r\n$2\r\nme\r\n$1\r\nx\r\n")


def test_pubsub_tells_of_shard_channels(client: EngineClient) -> None:
    listener, other = client.new(), client.new()
    listener.send("SSUBSCRIBE apple pear")
    other.send("SSUBSCRIBE apple")
    other.send("SUBSCRIBE plain")
    assert sorted(client("PUBSUB SHARDCHANNELS")) == [b"apple", b"pear"]
    assert client("PUBSUB SHARDCHANNELS a*") == [b"apple"]
    assert client("PUBSUB CHANNELS") == [b"plain"]
    assert client("PUBSUB SHARDNUMSUB") == []
    assert client("PUBSUB SHARDNUMSUB apple pear plain") == [
        b"apple", 2, b"pear", 1, b"plain", 0,
    ]  # fmt: skip
    assert client("PUBSUB SHARDCHANNELS a b") == ReplyError(
        "ERR unknown subcommand or wrong number of arguments for 'SHARDCHANNELS'. Try PUBSUB HELP."
    )
    listener.close()
    other.send("RESET")
    assert client("PUBSUB SHARDCHANNELS") == []


def test_a_listener_of_shard_channels_is_a_pubsub_client(client: EngineClient) -> None:
    client.send("SSUBSCRIBE a b")
    text = client.new()("CLIENT", "LIST", "TYPE", "pubsub").decode()
    assert " flags=P " in text
    assert " sub=0 psub=0 ssub=2 " in text
    client.session.out.take()
    assert client("GET a").args[0].startswith("ERR Can't execute 'get'")


def test_inside_a_transaction_ssubscribe_is_refused(client: EngineClient) -> None:
    for words in ("MULTI", "SSUBSCRIBE q", "SUNSUBSCRIBE q", "SPUBLISH q x"):
        client(words)
    assert client("EXEC") == [
        ReplyError("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"),
        [b"sunsubscribe", b"q", 0],
        0,
    ]


@pytest.mark.parametrize("name", ["READONLY", "READWRITE", "ASKING"])
def test_what_is_said_to_nodes_of_a_cluster_is_refused(client: EngineClient, name: str) -> None:
    assert client(name) == ReplyError("ERR This instance has cluster support disabled")
    assert client(f"{name} x") == ReplyError(
        f"ERR wrong number of arguments for '{name.lower()}' command"
    )
