"""Client side caching in the engine: cases that random scripts against redis-server do not reach.

The messages themselves are compared with redis-server's in compat/test_tracking.py.
"""

from __future__ import annotations

import pytest
import redis.lock

from server.tests.support.replies import SYNTAX
from testkit.engine_client import EngineClient, ReplyError
from testkit.resp import parse, split_replies


@pytest.fixture
def reader() -> EngineClient:
    client = EngineClient()
    client.send("HELLO", "3")
    client.messages()
    return client


def told(client: EngineClient) -> list[object]:
    """The keys that were announced to a client."""
    messages = [each for each in client.messages() if isinstance(each, list)]
    return [keys for kind, keys in messages if kind == b"invalidate"]


def test_nobody_hears_of_changes_while_nobody_tracks(reader: EngineClient) -> None:
    databases = reader.engine.keyspace.databases
    assert all(db.tracker is None for db in databases)
    assert reader("CLIENT TRACKING ON") == "OK"
    assert all(db.tracker is not None for db in databases)
    assert reader("CLIENT TRACKING OFF") == "OK"
    assert all(db.tracker is None for db in databases)


def test_a_key_that_expires_is_announced(reader: EngineClient) -> None:
    reader.send("CLIENT TRACKING ON")
    reader.send("SET k v PX 50")
    reader.send("GET k")
    reader.messages()
    reader.sleep(100)
    assert told(reader) == [[b"k"]]


def test_what_a_wait_hands_out_is_announced(reader: EngineClient) -> None:
    writer = reader.new()
    reader.send("CLIENT TRACKING ON")
    reader.send("XLEN s")
    reader.messages()
    writer.send("XADD s * f v")
    assert told(reader) == [[b"s"]]
    writer.send("XADD s * f v")
    assert told(reader) == []


def test_the_own_change_is_announced_after_the_reply(reader: EngineClient) -> None:
    reader.send("CLIENT TRACKING ON")
    reader.send("GET k")
    reader.messages()
    replies = split_replies(reader.raw("SET k v"))
    assert [parse(reply) for reply in replies] == ["OK", [b"invalidate", [b"k"]]]


def test_a_script_that_reads_is_remembered(reader: EngineClient) -> None:
    reader.send("CLIENT TRACKING ON")
    reader.send("EVAL", redis.lock.Lock.LUA_RELEASE_SCRIPT, 1, "lock", "me")
    assert reader.messages() == ["OK", 0]
    reader.new().send("SET lock x")
    assert told(reader) == [[b"lock"]]


def test_a_broken_redirection_is_told_and_shown(reader: EngineClient) -> None:
    target = reader.new()
    number = target("CLIENT ID")
    reader.send("CLIENT", "TRACKING", "ON", "REDIRECT", number)
    reader.send("GET k")
    reader.messages()
    target.close()
    reader.new().send("SET k v")
    assert reader.messages() == [[b"tracking-redir-broken", number]]
    info = reader("CLIENT TRACKINGINFO")
    assert b"broken_redirect" in info[b"flags"]
    assert reader("CLIENT GETREDIR") == number
    assert info[b"redirect"] == number


def test_a_redirection_must_lead_to_a_client(reader: EngineClient) -> None:
    assert reader("CLIENT TRACKING ON REDIRECT 999") == ReplyError(
        "ERR The client ID you want redirect to does not exist"
    )
    assert reader("CLIENT TRACKING ON REDIRECT 1 REDIRECT 1") == ReplyError(
        "ERR A client can only redirect to a single other client"
    )


@pytest.mark.parametrize("words", ["CLIENT TRACKING maybe", "CLIENT TRACKING ON FASTER"])
def test_other_words_are_refused(reader: EngineClient, words: str) -> None:
    assert reader(words) == SYNTAX


def test_prefixes_of_one_client_must_not_overlap(reader: EngineClient) -> None:
    assert reader("CLIENT TRACKING ON BCAST PREFIX foo PREFIX foobar") == ReplyError(
        "ERR Prefix 'foo' overlaps with another provided prefix 'foobar'. "
        "Prefixes for a single client must not overlap."
    )
    assert reader("CLIENT TRACKING ON BCAST PREFIX a PREFIX b") == "OK"
    assert reader("CLIENT TRACKING ON BCAST PREFIX bc") == ReplyError(
        "ERR Prefix 'bc' overlaps with an existing prefix 'b'. "
        "Prefixes for a single client must not overlap."
    )


def test_a_turn_is_broadcast_once_with_its_keys_in_order(reader: EngineClient) -> None:
    reader.send("CLIENT TRACKING ON BCAST PREFIX k:")
    reader.messages()
    writer = reader.new()
    for key in ("k:2", "k:1", "other", "k:2"):
        writer.send("SET", key, "v")
    assert told(reader) == []
    reader.sleep(0)
    assert told(reader) == [[b"k:1", b"k:2"]]


def test_the_oldest_keys_make_room_for_new_ones(reader: EngineClient) -> None:
    reader.configure(tracking_table_max_keys=2)
    reader.send("CLIENT TRACKING ON")
    for key in ("a", "b", "c"):
        reader.send("GET", key)
    assert told(reader) == [[b"a"]]
    assert (len(reader.engine.tracking.table), reader.engine.tracking.items) == (2, 2)


def test_a_lower_limit_is_reached_without_another_read(reader: EngineClient) -> None:
    reader.send("CLIENT TRACKING ON")
    for number in range(2500):
        reader.send("GET", number)
    reader.configure(tracking_table_max_keys=10)
    reader.send("GET", "last")
    reader.messages()
    for _ in range(3):
        reader.sleep(1)
    assert len(reader.engine.tracking.table) == 10


def test_clients_that_went_do_not_pile_up_under_a_key(reader: EngineClient) -> None:
    reader.send("CLIENT TRACKING ON")
    for _ in range(200):
        passer_by = reader.new()
        passer_by.send("CLIENT TRACKING ON")
        passer_by.send("GET k")
        passer_by.close()
    assert reader.engine.tracking.items <= 17


def test_the_last_client_takes_the_table_with_it(reader: EngineClient) -> None:
    other = reader.new()
    other.send("CLIENT TRACKING ON")
    other.send("GET k")
    tracking = reader.engine.tracking
    assert (len(tracking.clients), len(tracking.table), tracking.items) == (1, 1, 1)
    other.close()
    assert (len(tracking.clients), len(tracking.table), tracking.items) == (0, 0, 0)
    assert reader.engine.keyspace.databases[0].tracker is None


def test_reset_ends_it(reader: EngineClient) -> None:
    reader.send("CLIENT TRACKING ON BCAST PREFIX a")
    reader.send("RESET")
    reader.messages()
    assert reader("CLIENT TRACKINGINFO")[1] == [b"off"]
    assert not reader.engine.tracking.prefixes


def test_the_list_of_clients_shows_it(reader: EngineClient) -> None:
    number = reader.new()("CLIENT ID")
    reader.send("CLIENT", "TRACKING", "ON", "BCAST", "REDIRECT", number)
    reader.messages()
    line = reader("CLIENT INFO").decode()
    assert " flags=tB " in line
    assert f" redir={number} " in line


def test_caching_needs_its_mode(reader: EngineClient) -> None:
    assert reader("CLIENT CACHING YES") == ReplyError(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
        "OPTOUT mode enabled"
    )
    reader.send("CLIENT TRACKING ON OPTIN")
    reader.messages()
    assert reader("CLIENT CACHING NO") == ReplyError(
        "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
    )
    assert reader("CLIENT CACHING maybe") == SYNTAX
