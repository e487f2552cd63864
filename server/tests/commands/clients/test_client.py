"""CLIENT: commands of clients about themselves and about each other."""

from __future__ import annotations

import pytest

from server.tests.support.replies import SYNTAX
from testkit.engine_client import BLOCKED, EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def line(client: EngineClient) -> dict[str, str]:
    text = client("CLIENT INFO").decode()
    assert text.endswith("\n")
    return dict(field.split("=", 1) for field in text.split())


def listed(client: EngineClient, *words: object) -> list[int]:
    text = client("CLIENT", "LIST", *words).decode()
    return [int(row.split()[0].removeprefix("id=")) for row in text.splitlines()]


# Itself


def test_every_client_has_a_number_of_its_own(client: EngineClient) -> None:
    other = client.new()
    assert client("CLIENT ID") == client.session.id
    assert other("CLIENT ID") == client.session.id + 1


def test_info_is_its_own_line_of_the_list(client: EngineClient) -> None:
    client.new()
    (row,) = client("CLIENT", "LIST", "ID", client.session.id).decode().splitlines()
    told = client("CLIENT INFO").decode().replace("cmd=client|info", "cmd=client|list")
    assert told.rpartition(" tot-cmds=")[0] == row.rpartition(" tot-cmds=")[0]


def test_a_name_can_be_given_and_taken_away(client: EngineClient) -> None:
    assert client.raw("CLIENT GETNAME") == b"$-1\r\n"
    assert client("CLIENT SETNAME me") == "OK"
    assert client("CLIENT GETNAME") == b"me"
    for bad in ("a b", "a\nb", "é"):
        assert client("CLIENT", "SETNAME", bad) == ReplyError(
            "ERR Client names cannot contain spaces, newlines or special characters."
        )
    assert client("CLIENT", "SETNAME", "") == "OK"
    assert client("CLIENT GETNAME") is None


def test_a_library_may_introduce_itself(client: EngineClient) -> None:
    assert client("CLIENT SETINFO lib-name redis-py") == "OK"
    assert client("CLIENT SETINFO LIB-VER 8.0") == "OK"
    assert (line(client)["lib-name"], line(client)["lib-ver"]) == ("redis-py", "8.0")
    assert client("CLIENT SETINFO FOO x") == ReplyError("ERR Unrecognized option 'FOO'")
    assert client("CLIENT", "SETINFO", "LIB-NAME", "a b") == ReplyError(
        "ERR LIB-NAME cannot contain spaces, newlines or special characters."
    )


def test_the_line_about_a_client_has_its_fields_in_order(client: EngineClient) -> None:
    fields = line(client)
    assert " ".join(fields) == (
        "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free "
        "argv-mem multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name "
        "lib-ver io-thread tot-net-in tot-net-out tot-cmds"
    )
    assert fields["addr"] == "127.0.0.1:50000"
    assert fields["cmd"] == "client|info"
    assert (fields["flags"], fields["user"], fields["resp"]) == ("N", "default", "2")


def test_the_line_follows_what_the_client_does(client: EngineClient) -> None:
    client.now_ms += 7_000
    client("HELLO 3 SETNAME me")
    client("SELECT 3")
    client("WATCH a b")
    client.send("PSUBSCRIBE x*")
    client.session.out.take()
    client.now_ms += 2_500
    observer = client.new()
    text = observer("CLIENT", "LIST", "ID", client.session.id).decode()
    fields = dict(field.split("=", 1) for field in text.split())
    picked = {name: fields[name] for name in ("name", "age", "idle", "flags", "db", "psub")}
    assert picked == {
        "name": "me", "age": "9", "idle": "2", "flags": "P", "db": "3", "psub": "1",
    }  # fmt: skip
    assert (fields["watch"], fields["resp"], fields["cmd"]) == ("2", "3", "psubscribe")


def test_commands_are_counted_when_they_end(client: EngineClient) -> None:
    def ended(other: EngineClient) -> str:
        text = client("CLIENT", "LIST", "ID", other.session.id).decode()
        return text.split("tot-cmds=")[1].rstrip()

    other = client.new()
    assert line(other)["tot-cmds"] == "0"
    other.send("BLPOP k 1")
    assert ended(other) == "1"
    client("RPUSH k x")
    assert ended(other) == "2"
    other.send("BLPOP k 1")
    client.sleep(1000)
    assert ended(other) == "3"
    for words in ("MULTI", "PING", "EXEC"):
        other.send(words)
    assert ended(other) == "6"


def test_flags_tell_multi_blocked_and_broken_watch(client: EngineClient) -> None:
    waiting, queueing = client.new(), client.new()
    waiting.send("BLPOP k 0")
    queueing("WATCH a")
    client("SET a 1")
    queueing("MULTI")
    queueing("PING")
    rows = client("CLIENT LIST").decode().splitlines()
    flags = [dict(f.split("=", 1) for f in row.split())["flags"] for row in rows]
    assert flags == ["N", "b", "xd"]
    assert "multi=1 " in rows[2]


@pytest.mark.parametrize("mode", ["NO-EVICT", "NO-TOUCH"])
def test_modes_are_switched_on_and_off(client: EngineClient, mode: str) -> None:
    letter = {"NO-EVICT": "e", "NO-TOUCH": "T"}[mode]
    assert client("CLIENT", mode, "on") == "OK"
    assert line(client)["flags"] == letter
    assert client("CLIENT", mode, "OFF") == "OK"
    assert line(client)["flags"] == "N"
    assert client("CLIENT", mode, "maybe") == SYNTAX


def test_what_newer_clients_try_is_unknown_in_the_usual_words(client: EngineClient) -> None:
    assert client("CLIENT", "MAINT_NOTIFICATIONS", "ON") == ReplyError(
        "ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP."
    )


def test_help_lists_the_subcommands(client: EngineClient) -> None:
    lines = client("CLIENT HELP")
    assert lines[0] == "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    for name in client.engine.commands[b"client"].subcommands:
        assert any(text.startswith(name.decode().upper()) for text in lines)


# CLIENT REPLY


def test_replies_can_be_switched_off(client: EngineClient) -> None:
    assert client.raw("CLIENT REPLY OFF") == b""
    assert client.raw("SET a 1") == b""
    assert client.raw("FOO") == b""
    assert client.raw("CLIENT REPLY ON") == b"+OK\r\n"
    assert client("GET a") == b"1"


def test_one_reply_can_be_skipped(client: EngineClient) -> None:
    assert client.raw("CLIENT REPLY SKIP") == b""
    assert client.raw("SET a 1") == b""
    assert client.raw("GET a") == b"$1\r\n1\r\n"
    assert client.raw("CLIENT REPLY MAYBE") == b"-ERR syntax error\r\n"


def test_a_wait_without_replies_ends_in_silence(client: EngineClient) -> None:
    client.send("CLIENT REPLY OFF")
    client.send("BLPOP k 1")
    client.sleep(1000)
    assert client.session.out.take() == b""
    client.send("BLPOP k 0")
    client.new()("RPUSH k x")
    assert client.raw("CLIENT REPLY ON") == b"+OK\r\n"


def test_messages_come_even_without_replies(client: EngineClient) -> None:
    client("HELLO 3")
    client.send("SUBSCRIBE a")
    client.send("CLIENT REPLY OFF")
    client.session.out.take()
    client.send("PUBLISH a x")
    assert client.messages() == [[b"message", b"a", b"x"]]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("mode", ["OFF", "SKIP"])
def test_confirmations_of_subscriptions_are_messages_and_come_too(
    client: EngineClient, version: int, mode: str
) -> None:
    client(f"HELLO {version}")
    client.send(f"CLIENT REPLY {mode}")
    client.send("SUBSCRIBE a b")
    assert client.messages() == [[b"subscribe", b"a", 1], [b"subscribe", b"b", 2]]
    client.send("PSUBSCRIBE p*")
    client.send("SSUBSCRIBE s")
    client.send("PUNSUBSCRIBE")
    client.send("UNSUBSCRIBE a")
    client.send("SUNSUBSCRIBE")
    assert client.messages() == [
        [b"psubscribe", b"p*", 3],
        [b"ssubscribe", b"s", 1],
        [b"punsubscribe", b"p*", 2],
        [b"unsubscribe", b"a", 1],
        [b"sunsubscribe", b"s", 0],
    ]


def test_of_a_silent_transaction_only_confirmations_come(client: EngineClient) -> None:
    client.send("CLIENT REPLY OFF")
    for words in ("MULTI", "GET a", "SUBSCRIBE a", "EXEC"):
        client.send(words)
    assert client.messages() == [[b"subscribe", b"a", 1]]


def test_a_skip_inside_a_transaction_skips_what_comes_after_it(client: EngineClient) -> None:
    for words in ("MULTI", "CLIENT REPLY SKIP", "SUBSCRIBE a"):
        client(words)
    assert client.raw("EXEC") == b"*2\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
    assert client.raw("PING") == b""


# Others


def test_clients_are_listed_by_type_or_number(client: EngineClient) -> None:
    listener = client.new()
    listener.send("SUBSCRIBE a")
    me, other = client.session.id, listener.session.id
    assert listed(client) == [me, other]
    assert listed(client, "TYPE", "normal") == [me]
    assert listed(client, "type", "PUBSUB") == [other]
    assert listed(client, "TYPE", "replica") == listed(client, "TYPE", "master") == []
    assert listed(client, "ID", other, 99, me) == [other, me]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("LIST FOO", "ERR syntax error"),
        ("LIST TYPE", "ERR syntax error"),
        ("LIST ID", "ERR syntax error"),
        ("LIST TYPE foo", "ERR Unknown client type 'foo'"),
        ("LIST ID x", "ERR Invalid client ID"),
        ("KILL 1.1.1.1:1", "ERR No such client"),
        ("KILL ID 0", "ERR client-id should be greater than 0"),
        ("KILL ID x", "ERR client-id should be greater than 0"),
        ("KILL TYPE foo", "ERR Unknown client type 'foo'"),
        ("KILL USER foo", "ERR No such user 'foo'"),
        ("KILL ID 1 SKIPME maybe", "ERR syntax error"),
        ("KILL FOO bar", "ERR syntax error"),
        ("KILL ID 1 ADDR", "ERR syntax error"),
        ("KILL MAXAGE x", "ERR maxage is not an integer or out of range"),
        ("UNBLOCK x", "ERR value is not an integer or out of range"),
        ("UNBLOCK 1 FOO", "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"),
        (
            "UNBLOCK 1 ERROR x",
            "ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.",
        ),
        ("PAUSE x", "ERR timeout is not an integer or out of range"),
        ("PAUSE -1", "ERR timeout is negative"),
        ("PAUSE 9223372036854775807", "ERR timeout is out of range"),
        ("PAUSE 1 FOO", "ERR CLIENT PAUSE mode must be WRITE or ALL"),
        (
            "PAUSE 1 WRITE x",
            "ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.",
        ),
    ],
)
def test_wrong_words_get_the_words_of_redis(client: EngineClient, words: str, error: str) -> None:
    assert client("CLIENT " + words) == ReplyError(error)


def test_clients_can_be_killed_by_what_they_are(client: EngineClient) -> None:
    old = client.new()
    client.now_ms += 60_000
    young, listener = client.new(), client.new()
    listener.send("SUBSCRIBE a")
    young.session.addr = b"10.0.0.1:7"
    young.session.laddr = b"10.0.0.2:6379"
    assert client("CLIENT KILL TYPE pubsub") == 1
    assert listener.session.closing
    assert client("CLIENT KILL ADDR 10.0.0.1:7 LADDR 10.0.0.9:1") == 0
    assert client("CLIENT KILL LADDR 10.0.0.2:6379 USER default") == 1
    assert young.session.closing
    assert client("CLIENT KILL MAXAGE 30") == 1
    assert old.session.closing
    assert not client.session.closing
    assert client("CLIENT", "KILL", "ID", client.session.id) == 0
    assert client("CLIENT", "KILL", "ID", client.session.id, "SKIPME", "no") == 1
    assert client.session.closing


def test_the_old_form_of_kill_answers_ok(client: EngineClient) -> None:
    other = client.new()
    other.session.addr = b"10.0.0.1:7"
    assert client("CLIENT KILL 10.0.0.1:7") == "OK"
    assert other.session.closing
    assert client.engine.take_touched() == [other.session]


# CLIENT PAUSE


def test_a_pause_holds_back_all_commands_until_it_ends(client: EngineClient) -> None:
    other = client.new()
    assert client("CLIENT PAUSE 1000") == "OK"
    assert other("PING") is BLOCKED
    assert client("GET a") is BLOCKED
    assert client.engine.blocking.blocked_clients == 2
    client.sleep(999)
    assert other.read() is BLOCKED
    client.sleep(1)
    assert other.read() == "PONG"
    assert client.messages() == [None]
    assert client("PING") == "PONG"


def test_a_pause_of_writes_lets_reads_pass(client: EngineClient) -> None:
    client("CLIENT PAUSE 1000 WRITE")
    other = client.new()
    assert client("GET a") is None
    assert other("SET a 1") is BLOCKED
    assert client("PUBLISH a x") is BLOCKED


def test_exec_is_held_back_for_the_writes_it_would_run(client: EngineClient) -> None:
    client("CLIENT PAUSE 1000 WRITE")
    client("MULTI")
    client("GET a")
    assert client("EXEC") == [None]
    other = client.new()
    client("CLIENT UNPAUSE")
    client.sleep(0)
    other("MULTI")
    other("SET a 1")
    client("CLIENT PAUSE 1000 WRITE")
    assert other("EXEC") is BLOCKED
    assert client("CLIENT UNPAUSE") == "OK"
    client.sleep(0)
    assert other.read() == ["OK"]


def test_a_longer_pause_is_not_cut_short(client: EngineClient) -> None:
    client("CLIENT PAUSE 1000 WRITE")
    client("CLIENT PAUSE 10 WRITE")
    client.sleep(500)
    other = client.new()
    assert other("SET a 1") is BLOCKED
    other.close()
    assert client.engine.blocking.blocked_clients == 0


def test_a_pause_ends_when_it_said_though_the_loop_has_not_slept_since(
    client: EngineClient,
) -> None:
    client("CLIENT PAUSE 1000")
    client.now_ms += 999
    assert client.new()("SET a 1") is BLOCKED
    client.now_ms += 1
    assert client("SET a 2") == "OK"


def test_a_client_killed_by_another_that_was_held_back_runs_nothing(client: EngineClient) -> None:
    client("CLIENT PAUSE 1000")
    killer, victim = client.new(), client.new()
    assert killer("CLIENT", "KILL", "ID", victim.session.id) is BLOCKED
    assert victim("SET a 1") is BLOCKED
    client.sleep(1000)
    assert killer.read() == 1
    assert client("EXISTS a") == 0


def test_a_wait_that_was_held_back_has_its_full_time(client: EngineClient) -> None:
    client("CLIENT PAUSE 1000")
    waiting = client.new()
    assert waiting("BLPOP k 2") is BLOCKED
    client.sleep(1000)
    assert client.engine.blocking.blocked_clients == 1
    client.sleep(1999)
    assert waiting.read() is BLOCKED
    client.sleep(1)
    assert waiting.messages() == [None]


def test_nothing_expires_during_a_pause(client: EngineClient) -> None:
    client("SET a 1 PX 100")
    client("CLIENT PAUSE 1000 WRITE")
    client.effects()
    client.sleep(500)
    assert client.effects() == []
    client.sleep(600)
    assert client.effects() == [[b"DEL", b"a"]]


def test_during_a_pause_an_expired_key_is_gone_for_readers_but_stays(client: EngineClient) -> None:
    client("SET a 1 PX 100")
    client("XADD s 1-1 f v")
    client("PEXPIRE s 100")
    client("CLIENT PAUSE 1000 WRITE")
    client.effects()
    client.sleep(500)
    for words in ("GET a", "XRANGE s - +", "TTL a", "EXISTS a s", "KEYS *", "SCAN 0"):
        assert client(words) in (None, [], -2, 0, [b"0", []])
    assert client("DBSIZE") == 2
    assert client("RANDOMKEY") in (b"a", b"s")
    assert client.effects() == []
    assert client.engine.stats.expired_keys == 0
    client.sleep(600)
    assert client("DBSIZE") == 0
    assert client("RANDOMKEY") is None
    assert sorted(client.effects()) == [[b"DEL", b"a"], [b"DEL", b"s"]]


def test_a_write_of_the_transaction_that_paused_removes_what_is_expired(
    client: EngineClient,
) -> None:
    client("SET a 1 PX 100")
    client("DEBUG SET-ACTIVE-EXPIRE 0")
    client.now_ms += 101
    for words in ("MULTI", "CLIENT PAUSE 100 WRITE", "GET a", "DBSIZE", "APPEND a x", "TTL a"):
        client(words)
    assert client("EXEC") == ["OK", None, 1, 1, -1]
