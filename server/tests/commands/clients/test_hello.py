"""HELLO, AUTH, RESET, QUIT, PING, ECHO, SELECT: the connection itself."""

from __future__ import annotations

import pytest

from testkit.engine_client import EngineClient, ReplyError

WRONGPASS = ReplyError("WRONGPASS invalid username-password pair or user is disabled.")
NOAUTH = ReplyError("NOAUTH Authentication required.")


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


@pytest.fixture
def stranger() -> EngineClient:
    return EngineClient(requirepass=b"secret")


def test_hello_tells_who_we_are_in_the_protocol_asked_for(client: EngineClient) -> None:
    flat = client("HELLO")
    assert flat[::2] == [b"server", b"version", b"proto", b"id", b"mode", b"role", b"modules"]
    assert flat[1:6:2] == [b"redis", b"8.10.0", 2]
    assert client("HELLO 3") == {
        b"server": b"redis",
        b"version": b"8.10.0",
        b"proto": 3,
        b"id": client.session.id,
        b"mode": b"standalone",
        b"role": b"master",
        b"modules": [],
    }
    assert client.raw("GET none") == b"_\r\n"
    assert client("HELLO")[b"proto"] == 3
    client("HELLO 2")
    assert client.raw("GET none") == b"$-1\r\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("HELLO 4", "NOPROTO unsupported protocol version"),
        ("HELLO 1", "NOPROTO unsupported protocol version"),
        ("HELLO x", "ERR Protocol version is not an integer or out of range"),
        ("HELLO 3 AUTH", "ERR Syntax error in HELLO option 'AUTH'"),
        ("HELLO 3 AUTH default", "ERR Syntax error in HELLO option 'AUTH'"),
        ("HELLO 3 setname", "ERR Syntax error in HELLO option 'setname'"),
        ("HELLO 3 FOO", "ERR Syntax error in HELLO option 'FOO'"),
        ("HELLO 3 AUTH nobody x", WRONGPASS.args[0]),
    ],
)
def test_a_hello_that_fails_changes_nothing(client: EngineClient, words: str, error: str) -> None:
    assert client(words) == ReplyError(error)
    assert client.session.out.resp == 2
    assert client.session.name == b""


def test_hello_may_name_the_client(client: EngineClient) -> None:
    client("HELLO 3 SETNAME me")
    assert client("CLIENT GETNAME") == b"me"
    assert client("HELLO", "3", "SETNAME", "a b") == ReplyError(
        "ERR Client names cannot contain spaces, newlines or special characters."
    )


def test_without_the_password_only_the_door_can_be_knocked_at(stranger: EngineClient) -> None:
    for words in ("PING", "GET a", "CLIENT ID", "MULTI", "SUBSCRIBE a"):
        assert stranger(words) == NOAUTH
    assert stranger("FOO").args[0].startswith("ERR unknown command")
    assert stranger("GET") == ReplyError("ERR wrong number of arguments for 'get' command")
    assert stranger("HELLO 3").args[0].startswith("NOAUTH HELLO must be called with")
    assert stranger("AUTH wrong") == WRONGPASS
    assert stranger("AUTH nobody secret") == WRONGPASS
    assert stranger("AUTH secret") == "OK"
    assert stranger("PING") == "PONG"


def test_hello_may_bring_the_password(stranger: EngineClient) -> None:
    assert stranger("HELLO 3 AUTH default wrong") == WRONGPASS
    assert stranger("HELLO 3 AUTH default secret")[b"proto"] == 3
    assert stranger("PING") == "PONG"


def test_reset_logs_out(stranger: EngineClient) -> None:
    stranger("AUTH secret")
    assert stranger("RESET") == "RESET"
    assert stranger("PING") == NOAUTH
    assert stranger("RESET") == "RESET"


def test_auth_without_a_password_set(client: EngineClient) -> None:
    assert client("AUTH x") == ReplyError(
        "ERR AUTH <password> called without any password configured for the default user. "
        "Are you sure your configuration is correct?"
    )
    assert client("AUTH default x") == "OK"
    assert client("AUTH nobody x") == WRONGPASS
    assert client("AUTH a b c") == ReplyError("ERR syntax error")


def test_who_is_in_stays_in_when_a_password_is_set_later(client: EngineClient) -> None:
    client.configure(requirepass=b"secret")
    assert client("PING") == "PONG"
    assert client.new()("PING") == NOAUTH


def test_reset_is_a_new_beginning(client: EngineClient) -> None:
    for words in ("HELLO 3 SETNAME me", "SELECT 4", "WATCH a", "CLIENT NO-EVICT on"):
        client(words)
    client.send("SUBSCRIBE c")
    client.session.out.take()
    assert client.raw("RESET") == b"+RESET\r\n"
    session = client.session
    assert (session.name, session.db.index, session.out.resp) == (b"", 0, 2)
    assert (session.subscriptions(), session.watched, session.no_evict) == (0, {}, False)
    assert session.gate == 0


def test_quit_answers_and_closes(client: EngineClient) -> None:
    assert client("QUIT") == "OK"
    assert client.session.closing
    assert client.raw("PING") == b""


def test_ping_and_echo_give_back_what_they_get(client: EngineClient) -> None:
    assert client.raw("PING") == b"+PONG\r\n"
    assert client.raw("PING", "hi") == b"$2\r\nhi\r\n"
    assert client.raw("ECHO", b"\r\n") == b"$2\r\n\r\n\r\n"


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ("16", "ERR DB index is out of range"),
        ("-1", "ERR DB index is out of range"),
        ("x", "ERR value is not an integer or out of range"),
    ],
)
def test_select_takes_the_number_of_a_database(
    client: EngineClient, index: str, error: str
) -> None:
    assert client("SELECT", index) == ReplyError(error)
    assert client("SELECT 15") == "OK"
    assert client.session.db.index == 15
