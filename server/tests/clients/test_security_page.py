"""The lines of docs/security.md: a server accepts them, users can work, a stranger gets nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from testkit.certificates import Certificates
from testkit.pages import blocks
from testkit.places import ROOT
from testkit.servers import ServerProcess, free_port

PAGE = ROOT / "docs" / "security.md"
Connect = Callable[..., redis.Redis]


def block(language: str) -> list[str]:
    (found,) = [b for b in blocks(PAGE) if b.language == language]
    return found.lines


@pytest.fixture
def folder(scratch: Path) -> Path:
    """The files that the page puts into /etc/forebay."""
    Certificates(scratch)
    (scratch / "users.acl").write_text("\n".join(block("acl")) + "\n")
    assert len(block("conf")) == 10
    text = "\n".join(block("conf")).replace("/etc/forebay", str(scratch))
    (scratch / "forebay.conf").write_text(text + "\n")
    return scratch


@pytest.fixture
def server(folder: Path) -> Iterator[ServerProcess]:
    """A server with these files; options after them let it listen on this machine alone."""
    port, home = free_port(), folder / "home"
    home.mkdir()
    words = ["--tls-port", str(port), "--bind", "127.0.0.1", "--unixsocket", str(home / "sock")]
    config = str(folder / "forebay.conf")
    command = [sys.executable, "-m", "forebay", "serve", config, *words, "--dir", str(home)]
    server = ServerProcess("forebay", command, home, port)
    yield server
    server.stop()


@pytest.fixture
def connect(server: ServerProcess, folder: Path) -> Connect:
    """A client over TLS; ``password`` is that of the page."""

    def client(user: str = "", certified: bool = True) -> redis.Redis:
        passwords = {line.split()[1]: line.split()[3][1:] for line in block("acl")[1:]}
        return redis.Redis(
            host="127.0.0.1",
            port=server.port,
            ssl=True,
            ssl_ca_certs=str(folder / "ca.pem"),
            ssl_certfile=str(folder / "client.pem") if certified else None,
            ssl_keyfile=str(folder / "client.key") if certified else None,
            username=user or None,
            password=passwords.get(user),
        )

    return client


def test_users_may_do_what_they_need_and_nothing_else(connect: Connect) -> None:
    admin, producer, consumer = connect("admin"), connect("producer"), connect("consumer")
    assert producer.xadd("orders:1", {"item": "tea"})
    for refused in (
        lambda: producer.xadd("other", {"item": "tea"}),
        lambda: producer.xrange("orders:1"),
        lambda: consumer.xadd("orders:1", {"item": "tea"}),
        lambda: consumer.flushall(),
    ):
        with pytest.raises(redis.exceptions.NoPermissionError):
            refused()
    assert consumer.xgroup_create("orders:1", "g", "0")
    reply: Any = consumer.xreadgroup("g", "c", {"orders:1": ">"})
    ((_, ((entry, fields),)),) = reply
    assert fields == {b"item": b"tea"} and consumer.xack("orders:1", "g", entry) == 1
    assert admin.execute_command("ACL", "SAVE")


def test_a_stranger_gets_nothing(connect: Connect) -> None:
    with pytest.raises(redis.exceptions.AuthenticationError):
        connect().ping()
    with pytest.raises((redis.exceptions.ConnectionError, OSError)):
        connect("admin", certified=False).ping()


def test_a_password_is_not_kept_as_it_is(connect: Connect, folder: Path) -> None:
    connect("admin").execute_command("ACL", "SAVE")
    saved = (folder / "users.acl").read_text()
    assert "a-long-password" not in saved and "user producer on" in saved
