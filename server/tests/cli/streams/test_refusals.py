"""Servers that are away or refuse: one sentence says what to do next, for every command."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forebay.cli.main import main
from server.tests.support.lines import Lines, url_of
from testkit.servers import ServerProcess, free_port

Make = Callable[..., ServerProcess]

#: A line of each command that needs a server.
EVERY = [
    ["add", "s", "a=b"],
    ["range", "s"],
    ["tail", "s"],
    ["info"],
    ["groups", "list"],
    ["groups", "reset", "s", "g", "--to-id", "0"],
    ["consumers", "list", "s", "g"],
    ["pending", "list", "s", "g"],
    ["trim", "s", "--maxlen", "1"],
    ["copy", "s", "t"],
    ["top", "--count", "1"],
    ["bench", "--seconds", "0.01"],
]


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The sentence of a line that ends with 1."""
    assert main(list(words)) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith("forebay: ")
    return said.err.removeprefix("forebay: ").rstrip("\n")


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_without_a_server_it_is_said_how_to_get_one(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    assert refused(capsys, *words, "--url", f"redis://127.0.0.1:{port}") == (
        f"No server answers at redis://127.0.0.1:{port}: Connection refused; start one with: "
        "forebay serve --dir data, or name another with --url or FOREBAY_URL"
    )


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_a_password_that_is_missing_or_wrong_is_asked_for(
    words: list[str], make_forebay: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    server = make_forebay("--requirepass", "secret")
    told = refused(capsys, *words, "--url", url_of(server))
    assert told.endswith(
        "wants a password; give it in FOREBAY_URL or --url, as redis://:PASSWORD@HOST:PORT"
    )
    told = refused(capsys, *words, "--url", f"redis://:wrong@127.0.0.1:{server.port}")
    assert "refuses the password: WRONGPASS" in told and "try: export FOREBAY_URL=" in told
    assert "wrong@" not in told


def test_the_right_password_and_database_are_taken(
    make_redis: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    server = make_redis("--requirepass", "p@ss")
    url = f"redis://:p%40ss@127.0.0.1:{server.port}/3"
    assert main(["add", "s", "--id", "1-0", "a=b", "--url", url]) == 0
    assert capsys.readouterr().out == "1-0\n"
    with server.client() as client:
        assert client("AUTH", "p@ss") == client("SELECT", 3) == "OK"
        assert client("XLEN", "s") == 1
    assert "refuses database 99" in refused(capsys, "info", "--url", url.replace("/3", "/99"))


def test_a_unix_socket_will_do(forebay_server: ServerProcess, capsys) -> None:
    url = f"unix://{forebay_server.unix_path}"
    assert main(["add", "s", "--id", "1-0", "a=b", "--url", url]) == 0
    assert capsys.readouterr().out == "1-0\n"


def test_a_url_that_is_none_is_wrong_usage_and_its_secret_is_not_shown(capsys) -> None:
    assert main(["info", "--url", "http://a:secret@b"]) == 2
    said = capsys.readouterr().err
    assert "'http://b' cannot be used; a server is redis://host:port" in said
    assert "secret" not in said


def test_a_key_of_another_type_is_told_with_its_type(cli: Lines) -> None:
    cli.ask("RPUSH", "l", "a")
    for words in (["add", "l", "a=b"], ["range", "l"], ["info", "l"], ["tail", "l"]):
        assert cli.refused(*words) == (
            "l is a list and no stream; list streams with: forebay info '*'"
        )


def test_a_stream_that_is_not_there_comes_with_the_nearest_name(cli: Lines) -> None:
    assert cli.refused("range", "orders").endswith(
        "nor any other; make it with: forebay add orders NAME=VALUE"
    )
    cli.ask("XADD", "orders", "1-0", "a", "b")
    assert cli.refused("info", "oders").endswith("; did you mean orders?")
    assert cli.refused("range", "zzz").endswith("; list its streams with: forebay info '*'")


def test_a_replica_names_its_primary(make_redis: Make, make_forebay: Make, capsys) -> None:
    primary, replica = make_redis(), make_redis()
    with replica.client() as client:
        client.insist("REPLICAOF", "127.0.0.1", primary.port)
    told = refused(capsys, "add", "s", "a=b", "--url", url_of(replica))
    assert told.endswith(
        f"takes no changes; name its primary: --url redis://127.0.0.1:{primary.port}"
    )


def test_a_user_that_may_not_do_it_is_told(make_redis: Make, capsys) -> None:
    server = make_redis()
    with server.client() as client:
        client.insist("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+xrange", "+xinfo")
    url = f"redis://reader:pw@127.0.0.1:{server.port}"
    told = refused(capsys, "add", "s", "a=b", "--url", url)
    assert "does not permit XADD" in told and "use another user" in told


def test_a_full_server_says_what_helps(make_forebay: Make, capsys) -> None:
    server = make_forebay("--maxmemory", "1kb")
    told = refused(capsys, "add", "s", "a=b", "--url", url_of(server))
    assert told.endswith("forebay trim STREAM --maxlen N, or raise maxmemory")


def test_a_peer_that_speaks_something_else_is_told(cli: Lines) -> None:
    url = f"rediss://127.0.0.1:{cli.server.port}"
    assert cli.refused("info", "--url", url).startswith("No server answers at rediss://127.0.0.1:")
    told = cli.refused("info", "--url", f"{url_of(cli.server)}?ssl_nonsense=1")
    assert "has an option that cannot be used" in told
