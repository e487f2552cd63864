"""Users of a real server: lines of the configuration, an ACL file, CONFIG REWRITE, and secrets
that are never shown.
"""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.resp import ReplyError
from testkit.servers import ServerProcess, environment, free_port, start_forebay

Make = Callable[..., ServerProcess]


@pytest.fixture
def folder(server_root: Path, request: pytest.FixtureRequest) -> Path:
    place = server_root / f"users-{request.node.name[:40].replace('/', '-')}"
    place.mkdir()
    return place


def refused_start(folder: Path, *words: str) -> str:
    """The error of a server that does not start."""
    command = [sys.executable, "-m", "forebay", "serve", *words, "--port", "0"]
    done = subprocess.run(
        [*command, "--unixsocket", str(folder / "s")],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_users_of_the_configuration_are_rewritten_with_what_changed(folder: Path) -> None:
    config = folder / "node.conf"
    config.write_text("# people\nuser alice on >secret ~orders:* +@stream\n# the end\n")
    server = start_with_config(folder, config)
    try:
        with server.client(unix=True) as client:
            assert client("AUTH", "alice", "secret") == "OK"
            assert isinstance(client("XADD", "orders:1", "*", "f", "v"), bytes)
            assert isinstance(client("XADD", "other", "*", "f", "v"), ReplyError)
        with server.client(unix=True) as admin:
            assert admin("CONFIG", "REWRITE") == "OK"
            assert "user alice on >secret ~orders:* +@stream" in config.read_text()
            admin("ACL", "SETUSER", "bob", "on", "nopass", "~b", "+get", "(+set ~c)")
            assert admin("CONFIG", "REWRITE") == "OK"
            lines = admin("ACL", "LIST")
    finally:
        server.stop()
    text = config.read_text()
    assert "# people" in text
    assert "secret" not in text, "a rewritten file holds hashes"
    again = start_with_config(folder, config)
    try:
        with again.client(unix=True) as admin:
            assert admin("ACL", "LIST") == lines
    finally:
        again.stop()


def start_with_config(folder: Path, config: Path) -> ServerProcess:
    port = free_port()
    places = ("--port", str(port), "--unixsocket", str(folder / "sock"), "--dir", str(folder))
    command = [sys.executable, "-m", "forebay", "serve", str(config), *places]
    return ServerProcess("forebay", command, folder, port)


def test_an_acl_file_is_read_at_start_and_written_by_save(folder: Path) -> None:
    users = folder / "users.acl"
    users.write_text("user alice on nopass ~* +@all\nuser default off\n")
    users.chmod(0o640)
    server = start_with_file(folder, users)
    try:
        with server.client(unix=True) as client:
            assert client.raw("GET", "k") == b"-NOAUTH Authentication required.\r\n"
            assert client("AUTH", "alice", "x") == "OK"
            client("ACL", "SETUSER", "bob", ">pw")
            assert client("ACL", "SAVE") == "OK"
            saved = users.read_bytes()
            assert saved == b"".join(line + b"\n" for line in client("ACL", "LIST"))
            assert stat.S_IMODE(users.stat().st_mode) == 0o640
            users.write_text("user alice on nopass ~* +@all\nuser carl\nuser broken +nosuch\n")
            wrong = str(client("ACL", "LOAD"))
            assert f"{users}:3: Error in applying operation '+nosuch'" in wrong
            assert client("ACL", "USERS") == [b"alice", b"bob", b"default"]
            users.write_text("user alice on nopass ~* +@all\nuser carl\n")
            assert client("ACL", "LOAD") == "OK"
            assert client("ACL", "USERS") == [b"alice", b"carl", b"default"]
            users.unlink()
            wrong = str(client("ACL", "LOAD"))
            assert (
                wrong
                == f"ERR Error loading ACLs, opening file '{users}': No such file or directory"
            )
            assert client("ACL", "SAVE") == "OK"
            assert stat.S_IMODE(users.stat().st_mode) == 0o600
            users.unlink()
            users.mkdir()
            assert "error trying to save the ACLs" in str(client("ACL", "SAVE"))
    finally:
        server.stop()


def start_with_file(folder: Path, users: Path) -> ServerProcess:
    return start_forebay(folder, "--dir", str(folder), "--aclfile", str(users))


def test_a_server_does_not_start_with_users_that_it_cannot_have(folder: Path) -> None:
    users = folder / "users.acl"
    assert "No such file" in refused_start(folder, "--aclfile", str(users))
    users.write_text("user a +nosuch\n")
    assert "Unknown command or category name" in refused_start(folder, "--aclfile", str(users))
    users.write_text("user a on\n")
    both = refused_start(folder, "--aclfile", str(users), "--user", "b", "on")
    assert "has 'user' lines and an aclfile" in both
    twice = refused_start(folder, "--user", "b", "on", "--user", "b", "off")
    assert "Duplicate user found" in twice
    wrong = refused_start(folder, "--user", "b", ">secret", "nosuchrule")
    assert "Syntax error" in wrong
    assert "secret" not in wrong


def test_no_password_reaches_the_log_info_client_list_or_acl_log(make_forebay: Make) -> None:
    server = make_forebay("--loglevel", "debug", "--enable-debug-command", "yes")
    with server.client() as admin, server.client() as other:
        admin("CONFIG", "SET", "requirepass", "hunter2")
        admin("CONFIG", "SET", "slowlog-log-slower-than", "0")
        admin("ACL", "SETUSER", "u", "on", ">hunter2", ">hunter3", "<hunter3")
        admin("ACL", "SETUSER", "u", ">hunter2", "nosuchrule")
        other("AUTH", "u", "hunter2")
        other("AUTH", "u", "wrong-hunter2")
        other("HELLO", "3", "AUTH", "u", "hunter2")
        asked = ["SLOWLOG GET 100", "CLIENT LIST", "ACL LOG", "ACL LIST", "INFO everything"]
        shown = b"".join(admin.raw(*line.split()) for line in asked)
    assert b"hunter" not in shown
    assert b"hunter" not in server.log_path.read_bytes()


def test_protected_mode_ends_when_default_has_a_password(make_forebay: Make) -> None:
    server = make_forebay()
    with server.client() as client:
        client("ACL", "SETUSER", "default", ">pw")
    with server.client() as stranger:
        assert stranger.raw("PING") == b"-NOAUTH Authentication required.\r\n"
        big = b"*11\r\n" + b"$1\r\na\r\n" * 11
        stranger.send(big)
        assert stranger.read().startswith(b"-ERR Protocol error: unauthenticated multibulk length")
