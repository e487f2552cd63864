"""The small client: addresses, and peers that are not servers or are bad ones."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from forebay.cli.doctor.patient import Slow, look, slow_log
from forebay.cli.remote.address import Address, parse_url
from forebay.cli.remote.link import Link, LinkError, Refusal
from testkit.servers import ServerProcess, free_port

SaySo = Callable[[bytes], Address]


@pytest.mark.parametrize(
    ("url", "address", "shown"),
    [
        ("redis://db:7000", Address("db", 7000), "redis://db:7000"),
        ("redis://", Address(), "redis://127.0.0.1:6379"),
        ("redis://[::1]:7000/3", Address("::1", 7000, database=3), "redis://[::1]:7000/3"),
        (
            "rediss://db?ssl_ca_certs=ca.pem",
            Address("db", is_tls=True, query="ssl_ca_certs=ca.pem"),
            "rediss://db:6379",
        ),
        (
            "unix:///run/s?db=2",
            Address(path="/run/s", database=2, query="db=2"),
            "unix:///run/s?db=2",
        ),
        (
            "redis://ann:p%40ss@db",
            Address("db", 6379, user="ann", password="p@ss"),
            "redis://db:6379",
        ),
        ("redis://:pass@db", Address("db", 6379, password="pass"), "redis://db:6379"),
        ("unix:///run/a%20b.sock", Address(path="/run/a b.sock"), "unix:///run/a b.sock"),
    ],
)
def test_a_url_is_taken_apart_and_shown_without_its_secret(
    url: str, address: Address, shown: str
) -> None:
    assert parse_url(url) == address
    assert str(address) == shown


@pytest.mark.parametrize(
    "url",
    [
        "http://u:secret@db",
        "u:secret@db",
        "redis+sentinel://u:secret@db/m",
        "redis://u:secret@db:x",
        "redis://u:secret@db/first",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(ValueError, match="a server is redis://host:port") as caught:
        parse_url(url)
    assert "secret" not in str(caught.value)


def test_a_command_to_copy_leads_to_the_server_and_asks_for_the_password() -> None:
    address = Address("db", 7000, user="ann", password="secret")
    assert address.setting("client-output-buffer-limit", "replica 1gb 1gb 60") == (
        "redis-cli -h db -p 7000 --user ann --askpass "
        "CONFIG SET client-output-buffer-limit 'replica 1gb 1gb 60'"
    )
    assert Address(path="/run/a b").command("PING") == "redis-cli -s '/run/a b' PING"


@pytest.fixture
def peer() -> Iterator[SaySo]:
    """A peer that accepts one connection, sends these bytes, reads a little and hangs up."""
    threads = []
    listener = socket.create_server(("127.0.0.1", 0))

    def say(data: bytes) -> Address:
        def talk() -> None:
            taken, _ = listener.accept()
            with taken:
                taken.sendall(data)
                taken.recv(100)

        threads.append(threading.Thread(target=talk))
        threads[-1].start()
        return Address(port=listener.getsockname()[1])

    yield say
    for thread in threads:
        thread.join()
    listener.close()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak the Redis protocol"),
        (b"$99999999999999999999\r\n", "does not speak the Redis protocol"),
        (b"$999999999\r\n", "closed the connection (in the middle of a reply)"),
        (b"*1\r\n" * 5000 + b":1\r\n", "does not speak the Redis protocol"),
        (b"x" * 100_000, "does not speak the Redis protocol"),
        (b"", "closed the connection (without a reply)"),
        (b"$100\r\nrole:mas", "closed the connection (in the middle of a reply)"),
        (b"*3\r\n:1\r\n", "closed the connection (in the middle of a reply)"),
        (b"-DENIED Redis is running in protected mode\r\n", "is in protected mode"),
        (b"-ERR max number of clients reached\r\n", "maxclients is reached"),
        (b"-NOAUTH Authentication required.\r\n", "wants a password"),
        (b"-NOPERM no\r\n", "refuses INFO: NOPERM no"),
        (b"+OK\r\n", "does not give its role"),
        (b"$-1\r\n", "does not give its role"),
        (b"*1\r\n$4\r\nrole\r\n", "does not give its role"),
        (b"$14\r\n:\r\nrole\r\n\xff\xfe:\r\n\r\n", "does not give its role"),
    ],
)
def test_a_peer_that_cannot_be_talked_to_is_one_sentence(
    data: bytes, told: str, peer: SaySo
) -> None:
    address = peer(data)
    with Link(address, is_text=True) as link, pytest.raises(LinkError) as caught:
        look(link)
    assert told in str(caught.value) and str(address) in str(caught.value)
    assert caught.value.do and not caught.value.is_nobody


def test_entries_of_a_slow_log_that_are_none_are_left_out(peer: SaySo) -> None:
    good = b"*4\r\n:7\r\n:1800000000\r\n:20000\r\n*2\r\n$4\r\nxadd\r\n$1\r\ns\r\n"
    bad = b"*4\r\n:7\r\n+when\r\n:20000\r\n*0\r\n"
    with Link(peer(b"*3\r\n" + bad + good + b":1\r\n"), is_text=True) as link:
        assert slow_log(link) == (Slow(1_800_000_000, 20_000, "XADD"),)


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address(port=listener.getsockname()[1])
        with (
            Link(address, patience_s=0.05) as link,
            pytest.raises(LinkError, match="has not answered"),
        ):
            link.ask("PING")


@pytest.mark.parametrize(
    "address", [Address(port=free_port()), Address(path="/nowhere/sock"), Address(host="no..host")]
)
def test_a_place_without_a_server_is_one_sentence(address: Address) -> None:
    with pytest.raises(LinkError, match="No server answers at") as caught:
        Link(address)
    assert caught.value.is_nobody


def test_replies_of_every_kind_are_read(forebay_server: ServerProcess) -> None:
    with Link(Address(path=forebay_server.unix_path), is_text=True) as link:
        assert link.is_to_this_machine()
        assert link.ask("PING") == "PONG"
        assert link.ask("XADD", "s", "1-1", "f", "wörd") == "1-1"
        assert link.ask("XRANGE", "s", "-", "+") == [["1-1", ["f", "wörd"]]]
        assert link.ask_all([("XLEN", "s"), ("GET", "none"), ("XPENDING", "s")])[:2] == [1, None]
        assert isinstance(link.ask("NOWAY"), Refusal)
