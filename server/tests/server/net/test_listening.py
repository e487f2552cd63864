"""Where the server listens, and which clients it accepts."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from forebay.errors import ConfigError
from forebay.server.net.listen import open_tcp, open_unix
from forebay.server.net.protected import DENIED, is_local
from testkit.certificates import Certificates
from testkit.resp import RawClient
from testkit.servers import ServerProcess, free_port

Make = Callable[..., ServerProcess]


def test_both_doors_lead_to_the_same_data(forebay_server: ServerProcess) -> None:
    with forebay_server.client() as tcp, forebay_server.client(unix=True) as unix:
        tcp("XADD", "s", "1-1", "f", "v")
        assert unix("XLEN", "s") == 1


def test_an_address_marked_optional_may_be_missing() -> None:
    port = free_port()
    doors = open_tcp(["127.0.0.1", "-192.0.2.1", "-2001:db8::1"], port, 511, 300)
    assert [door.name for door in doors] == [f"127.0.0.1:{port}"]
    for door in doors:
        door.close()


def test_an_address_that_must_exist_and_does_not_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"cannot listen on 192\.0\.2\.1"):
        open_tcp(["192.0.2.1"], free_port(), 511, 300)


def test_when_no_address_exists_that_is_an_error_too() -> None:
    with pytest.raises(ConfigError, match="none of the addresses"):
        open_tcp(["-192.0.2.1"], free_port(), 511, 300)


def test_port_zero_listens_nowhere() -> None:
    assert open_tcp(["127.0.0.1"], 0, 511, 300) == []


def test_a_star_means_every_address() -> None:
    port = free_port()
    (door,) = open_tcp(["*"], port, 511, 300)
    assert door.name == f"0.0.0.0:{port}"
    door.close()


def test_a_failing_address_closes_the_doors_already_open() -> None:
    port = free_port()
    with pytest.raises(ConfigError):
        open_tcp(["127.0.0.1", "192.0.2.1"], port, 511, 300)
    (door,) = open_tcp(["127.0.0.1"], port, 511, 300)
    door.close()


def test_arrivals_inherit_the_options_of_the_door() -> None:
    port = free_port()
    (door,) = open_tcp(["127.0.0.1"], port, 511, 77)
    with socket.create_connection(("127.0.0.1", port)) as client:
        ((arrival, peer, local),) = door.accept(10)
        assert arrival.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert arrival.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert arrival.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 77
        assert not arrival.getblocking()
        assert peer == "{}:{}".format(*client.getsockname())
        assert local == f"127.0.0.1:{port}"
        arrival.close()
    door.close()


def test_a_unix_socket_has_its_mode_from_the_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CVE-2023-45145: the mode must be right before any client can connect."""
    path = str(tmp_path / "s")
    seen: list[int] = []

    class Watched(socket.socket):
        def bind(self, address: str) -> None:  # type: ignore[override]
            super().bind(address)
            seen.append(stat.S_IMODE(os.stat(path).st_mode))

    monkeypatch.setattr(socket, "socket", Watched)
    door = open_unix(path, 0o700, 511)
    assert seen == [0o700]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    door.close()
    assert not os.path.exists(path)


def test_the_directive_gives_the_mode_of_the_unix_socket(make_forebay: Make) -> None:
    server = make_forebay("--unixsocketperm", "770")
    assert stat.S_IMODE(os.stat(server.unix_path).st_mode) == 0o770


def test_a_file_in_the_way_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("data")
    with pytest.raises(ConfigError, match="in the way"):
        open_unix(str(path), 0, 511)
    assert path.read_text() == "data"


def test_a_socket_left_over_by_a_crash_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    open_unix(path, 0, 511).close()


@pytest.mark.parametrize(
    ("peer", "local"),
    [
        ("127.0.0.1:5", True),
        ("127.9.9.9:5", True),
        ("[::1]:5", True),
        ("/run/sock:0", True),
        ("sock:0", True),
        ("10.0.0.1:5", False),
        ("[2001:db8::1]:5", False),
    ],
)
def test_who_is_local(peer: str, local: bool) -> None:
    assert is_local(peer) is local


def outside_address() -> str:
    """An address of this machine that is not the loopback; empty if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        address: str = probe.getsockname()[0]
        return "" if address.startswith("127.") else address


@pytest.mark.skipif(not outside_address(), reason="this machine has only the loopback address")
def test_without_a_password_only_this_machine_is_served(make_forebay: Make) -> None:
    address = outside_address()
    server = make_forebay("--bind", "127.0.0.1", address)
    with RawClient((address, server.port)) as stranger:
        assert stranger.read() == DENIED
        assert stranger.closed()
    with server.client() as local:
        assert local("CONFIG", "SET", "protected-mode", "no") == "OK"
    with RawClient((address, server.port)) as guest:
        assert guest("PING") == "PONG"


@pytest.mark.skipif(not outside_address(), reason="this machine has only the loopback address")
def test_who_speaks_tls_is_told_of_protected_mode_in_tls(
    make_forebay: Make, tmp_path: Path
) -> None:
    certificates = Certificates(tmp_path)
    address, port = outside_address(), free_port()
    words = certificates.words(tls_port=port)
    make_forebay("--bind", "127.0.0.1", address, *words)
    tls = certificates.context(certificates.client)
    with RawClient((address, port), tls=tls) as stranger:
        assert stranger.read() == DENIED
        assert stranger.closed()
    with RawClient(("127.0.0.1", port), tls=tls) as local:
        assert local("PING") == "PONG"


@pytest.mark.skipif(not outside_address(), reason="this machine has only the loopback address")
def test_with_a_password_everybody_may_try(make_forebay: Make) -> None:
    address = outside_address()
    server = make_forebay("--bind", "127.0.0.1", address, "--requirepass", "secret")
    with RawClient((address, server.port)) as guest:
        assert guest("AUTH", "secret") == "OK"


def test_a_new_port_takes_effect_at_once_and_the_old_one_closes(make_forebay: Make) -> None:
    server = make_forebay()
    port = free_port()
    with server.client() as client:
        assert client("CONFIG", "SET", "port", port) == "OK"
        with RawClient(("127.0.0.1", port)) as other:
            assert other("PING") == "PONG"
        with pytest.raises(ConnectionRefusedError):
            server.client()
        assert client("PING") == "PONG"


def test_a_port_that_is_taken_leaves_everything_as_it_was(make_forebay: Make) -> None:
    server = make_forebay()
    with socket.create_server(("127.0.0.1", 0)) as taken, server.client() as client:
        answer = client("CONFIG", "SET", "port", taken.getsockname()[1])
        assert "CONFIG SET failed" in str(answer)
        assert client("CONFIG", "GET", "port") == [b"port", str(server.port).encode()]
    with server.client() as client:
        assert client("PING") == "PONG"


def test_a_port_in_use_is_one_sentence_and_exit_code_one(make_forebay: Make) -> None:
    server = make_forebay()
    second = subprocess.run(
        [sys.executable, "-m", "forebay", "serve", "--port", str(server.port)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert second.returncode == 1
    assert second.stderr.startswith(f"forebay: cannot listen on 127.0.0.1:{server.port}: ")
    assert second.stderr.count("\n") == 1
