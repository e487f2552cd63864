"""SUBSCRIBE, PSUBSCRIBE, UNSUBSCRIBE, PUNSUBSCRIBE, PUBLISH, PUBSUB, and the subscribed mode."""

from __future__ import annotations

import pytest

from testkit.engine_client import EngineClient, ReplyError
from testkit.resp import Push


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_each_channel_is_confirmed_with_the_number_of_subscriptions(client: EngineClient) -> None:
    assert client.raw("SUBSCRIBE a a b") == (
        b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
        b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
        b"*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
    )
    assert client("PSUBSCRIBE", "x*") == [b"psubscribe", b"x*", 3]
    assert client("UNSUBSCRIBE", "zz") == [b"unsubscribe", b"zz", 3]


def test_unsubscribe_without_names_drops_all_or_confirms_nothing(client: EngineClient) -> None:
    client.send("SUBSCRIBE a b")
    client.send("PSUBSCRIBE p*")
    client.messages()
    client.send("UNSUBSCRIBE")
    assert client.messages() == [[b"unsubscribe", b"a", 2], [b"unsubscribe", b"b", 1]]
    assert client.raw("UNSUBSCRIBE") == b"*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:1\r\n"
    assert client("PUNSUBSCRIBE") == [b"punsubscribe", b"p*", 0]
    assert client("PUNSUBSCRIBE") == [b"punsubscribe", None, 0]
    assert client("PING") == "PONG"


def test_a_message_reaches_channels_then_patterns(client: EngineClient) -> None:
    listener = client.new()
    for words in ("SUBSCRIBE news", "PSUBSCRIBE n*", "PSUBSCRIBE ?ews", "PSUBSCRIBE other*"):
        listener.send(words)
    listener.messages()
    assert client("PUBLISH news hello") == 3
    assert listener.messages() == [
        [b"message", b"news", b"hello"],
        [b"pmessage", b"n*", b"news", b"hello"],
        [b"pmessage", b"?ews", b"news", b"hello"],
    ]
    assert client("PUBLISH zero x") == 0
    assert client.engine.take_touched() == [listener.session]


def test_a_client_that_went_away_hears_nothing(client: EngineClient) -> None:
    listener = client.new()
    listener.send("SUBSCRIBE news")
    listener.send("PSUBSCRIBE *")
    listener.close()
    assert client("PUBLISH news x") == 0
    assert client("PUBSUB CHANNELS") == []


def test_a_subscribed_resp2_client_may_do_little_else(client: EngineClient) -> None:
    client("SUBSCRIBE a")
    for words, name in (("GET x", "get"), ("CLIENT ID", "client|id"), ("MULTI", "multi")):
        assert client(words) == ReplyError(
            f"ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
            "RESET are allowed in this context"
        )
    assert client("PING") == [b"pong", b""]
    assert client("PING hi") == [b"pong", b"hi"]
    assert client("RESET") == "RESET"
    assert client("GET x") is None


def test_a_subscribed_resp3_client_may_do_everything(client: EngineClient) -> None:
    client("HELLO 3")
    assert client("SUBSCRIBE a") == Push([b"subscribe", b"a", 1])
    assert client("PING") == "PONG"
    assert client("GET x") is None
    client("HELLO 2")
    assert client("PING") == [b"pong", b""]


def test_a_message_to_oneself_comes_behind_the_reply(client: EngineClient) -> None:
    client("HELLO 3")
    client.send("SUBSCRIBE a")
    client.messages()
    assert client.raw("PUBLISH a hi") == (b":1\r\n>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n")
    for words in ("MULTI", "PUBLISH a 1", "PING"):
        client(words)
    client.send("EXEC")
    assert client.messages() == [[1, "PONG"], Push([b"message", b"a", b"1"])]


def test_pubsub_tells_who_listens(client: EngineClient) -> None:
    for channel in ("a", "b", "ab"):
        client.new().send(f"SUBSCRIBE {channel}")
    client.new().send("SUBSCRIBE a")
    client.new().send("PSUBSCRIBE x*")
    client.new().send("PSUBSCRIBE x*")
    assert sorted(client("PUBSUB CHANNELS")) == [b"a", b"ab", b"b"]
    assert sorted(client("PUBSUB", "CHANNELS", "a*")) == [b"a", b"ab"]
    assert client("PUBSUB NUMSUB a none") == [b"a", 2, b"none", 0]
    assert client("PUBSUB NUMSUB") == []
    assert client("PUBSUB NUMPAT") == 1
    assert client("PUBSUB CHANNELS a b") == ReplyError(
        "ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP."
    )
    assert client("PUBSUB HELP")[0].startswith("PUBSUB <subcommand>")


def test_subscriptions_can_be_queued(client: EngineClient) -> None:
    for words in ("MULTI", "SUBSCRIBE q", "PING"):
        client(words)
    assert client("EXEC") == [[b"subscribe", b"q", 1], [b"pong", b""]]
