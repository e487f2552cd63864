"""The stream of a primary, cut anywhere, gives the data of the primary."""

from __future__ import annotations

from random import Random

import pytest

from forebay.commands.api.settings import Settings
from forebay.core.check import check_keyspace
from forebay.engine import roles
from forebay.engine.apply import Applier, Diverged
from server.tests.engine.test_replay import is_history_read
from testkit.compat.scripts import ScriptWriter
from testkit.engine_client import BLOCKED, EngineClient
from testkit.portrait import portrait
from testkit.resp import encode

NOW_MS = 2_000_000


class Follower(EngineClient):
    """An engine with an applier; bytes go in as from a link."""

    def __init__(self) -> None:
        super().__init__(Settings())
        self.applier = Applier(self.engine, self.engine.new_session())
        self.held = bytearray()

    def feed(self, data: bytes) -> int:
        """Apply these bytes; returns how many bytes of the stream are in the data now."""
        self.held += data
        done = self.applier.run(self.held, 0, len(self.held), NOW_MS)
        del self.held[:done]
        return done


def stream_of(seed: int) -> tuple[EngineClient, bytes]:
    client = EngineClient()
    for command in ScriptWriter(seed, deletes=True).script(200, 2):
        if not is_history_read(command):
            client.raw(*command)
    return client, client.engine.effects.take()


@pytest.mark.parametrize("seed", range(8))
def test_a_stream_that_comes_in_pieces_makes_the_same_data(seed: int) -> None:
    client, stream = stream_of(seed)
    follower, dice, at = Follower(), Random(seed), 0
    while at < len(stream):
        n = dice.choice([1, 2, 7, 50, 1000, 5000])
        follower.feed(stream[at : at + n])
        at += n
    assert follower.held == b""
    check_keyspace(follower.engine.keyspace)
    assert portrait(follower.engine.keyspace) == portrait(client.engine.keyspace)


def test_what_is_applied_is_recorded_for_our_own_aof() -> None:
    client, stream = stream_of(3)
    follower = Follower()
    follower.feed(stream)
    again = Follower()
    again.feed(follower.engine.effects.take())
    assert portrait(again.engine.keyspace) == portrait(client.engine.keyspace)


def test_nobody_sees_half_of_a_transaction() -> None:
    follower = Follower()
    words = [("MULTI",), ("SET", "a", "1"), ("SET", "b", "2"), ("EXEC",)]
    stream = b"".join(encode(*line) for line in words)
    for cut in range(len(stream)):
        follower.feed(stream[cut : cut + 1])
        if cut < len(stream) - 1:
            assert follower("EXISTS", "a", "b") == 0
    assert follower("MGET", "a", "b") == [b"1", b"2"]
    recorded = [b" ".join(line) for line in follower.effects()]
    assert recorded == [b"MULTI", b"SELECT 0", b"SET a 1", b"SET b 2", b"EXEC"]


def test_a_transaction_that_is_cut_off_and_sent_again_is_run_once() -> None:
    follower = Follower()
    stream = encode("MULTI") + encode("INCR", "n") + encode("EXEC")
    assert follower.feed(stream[:-3]) == 0
    follower.held.clear()
    fresh = Applier(follower.engine, follower.engine.new_session())
    assert fresh.run(bytearray(stream), 0, len(stream), NOW_MS) == len(stream)
    assert follower("GET", "n") == b"1"


def test_readers_of_a_replica_are_woken_by_its_stream() -> None:
    follower = Follower()
    assert follower("XREAD", "BLOCK", "0", "STREAMS", "s", "$") is BLOCKED
    follower.feed(encode("XADD", "s", "5-1", "f", "v"))
    assert follower.read() == [[b"s", [[b"5-1", [b"f", b"v"]]]]]


def test_pings_and_questions_are_counted_and_change_nothing() -> None:
    follower = Follower()
    stream = encode("PING") + encode("REPLCONF", "GETACK", "*")
    assert follower.feed(stream) == len(stream)
    assert follower.applier.wants_ack
    assert follower.effects() == []


def test_an_empty_line_is_left_to_the_link() -> None:
    follower = Follower()
    ping = encode("PING")
    assert follower.feed(ping + b"\n" + ping) == len(ping)
    assert bytes(follower.held) == b"\n" + ping


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("HSET", "h", "f", "v"), "'HSET h f v' is not known here"),
        (("XADD", "s", "1-1", "f", "v"), "is answered with 'ERR The ID specified"),
        (("XGROUP", "NOSUCH", "s"), "is not known here"),
        (("SET", "only"), "is not known here"),
    ],
)
def test_a_command_that_cannot_be_done_here_ends_the_link(line: tuple[str, ...], says: str) -> None:
    follower = Follower()
    follower.feed(encode("XADD", "s", "5-1", "f", "v"))
    with pytest.raises(Diverged) as caught:
        follower.feed(encode(*line))
    assert says in str(caught.value)


def test_bytes_that_are_no_commands_end_the_link() -> None:
    with pytest.raises(Diverged, match="broken"):
        Follower().feed(b"*1\r\n$x\r\n")


def test_foreign_commands_are_left_out_and_counted_if_the_operator_says_so() -> None:
    follower = Follower()
    follower.applier.skip_foreign = True
    follower.feed(encode("HSET", "h", "f", "v") * 2 + encode("SET", "a", "1"))
    assert follower.applier.left_out == {"HSET": 2}
    assert len(follower.applier.news) == 1
    assert follower("GET", "a") == b"1"


def test_the_stream_of_a_database_goes_on_where_it_was() -> None:
    follower = Follower()
    follower.feed(encode("SELECT", "3") + encode("SET", "a", "1"))
    follower.feed(encode("SET", "b", "2"))
    assert follower("DBSIZE") == 0
    follower("SELECT", "3")
    assert follower("MGET", "a", "b") == [b"1", b"2"]


def test_a_delivery_has_the_time_of_the_primary_though_its_clock_is_ahead() -> None:
    client, follower = EngineClient(now_ms=NOW_MS + 5000), Follower()
    client("XADD", "s", "1-0", "f", "v")
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "ann", "STREAMS", "s", ">")
    client("XCLAIM", "s", "g", "bob", "0", "1-0")
    follower.feed(client.engine.effects.take())
    assert portrait(follower.engine.keyspace) == portrait(client.engine.keyspace)


def test_an_expired_key_stays_until_the_primary_deletes_it() -> None:
    follower = Follower()
    roles.set_role(follower.engine, is_replica=True)
    follower.feed(encode("SET", "a", "1", "PXAT", str(follower.now_ms + 10)))
    follower.sleep(1000)
    assert follower("GET", "a") is None
    assert len(follower.engine.keyspace.databases[0]) == 1
    follower.feed(encode("DEL", "a"))
    assert len(follower.engine.keyspace.databases[0]) == 0


def test_a_writable_replica_leaves_out_what_its_own_data_does_not_allow() -> None:
    follower = Follower()
    follower.configure(replica_read_only=False)
    follower("SET", "n", "text")
    follower.feed(encode("INCRBY", "n", "1") * 2 + encode("SET", "a", "1"))
    assert follower("MGET", "n", "a") == [b"text", b"1"]
    assert follower.applier.left_out == {"INCRBY": 2}
    (line,) = follower.applier.news
    assert "'INCRBY n 1' is answered with 'ERR value is not an integer" in line
    with pytest.raises(Diverged, match="HSET"):
        follower.feed(encode("HSET", "h", "f", "v"))


def test_a_slow_command_of_the_primary_goes_to_the_slow_log() -> None:
    follower = Follower()
    follower.configure(slowlog_slower_than_us=0)
    follower.feed(encode("SET", "a", "1") + encode("PING"))
    assert [call.argv for call in follower.engine.slowlog.entries(-1)] == [[b"SET", b"a", b"1"]]


def test_commands_of_the_primary_are_counted_and_monitored() -> None:
    follower = Follower()
    watcher = follower.new()
    watcher("MONITOR")
    before = follower.engine.stats.commands
    follower.feed(encode("MULTI") + encode("SADD", "s", "a") * 2 + encode("EXEC") + encode("PING"))
    assert follower.engine.stats.commands == before + 2
    assert follower.engine.call_counts.of(follower.engine.commands[b"sadd"]).calls == 2
    assert [line.split("] ")[1] for line in watcher.messages()] == ['"SADD" "s" "a"'] * 2
