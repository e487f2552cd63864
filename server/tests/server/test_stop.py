"""How a server ends: politely, at once, and by command."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess, environment, free_port, start_forebay
from testkit.waiting import client_field, wait_for_blocked, wait_until


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory, server_root: Path) -> Iterator[ServerProcess]:
    """A server that may end with any exit code."""
    server = start_forebay(server_root / tmp_path_factory.mktemp("stop").name)
    yield server
    server.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_exit_code_zero(server: ServerProcess, number: int) -> None:
    with server.client() as client:
        assert client("PING") == "PONG"
        server.process.send_signal(number)
        assert server.process.wait(30) == 0
        assert client.closed()
    assert f"Received {signal.Signals(number).name}" in server.log()
    assert "ready to exit" in server.log()


def test_replies_under_way_are_sent_before_the_end(server: ServerProcess) -> None:
    """The server holds more unsent output than the kernel buffers when the signal arrives."""
    with server.client() as client, server.client() as other:
        client("CONFIG", "SET", "appendonly", "no")  # interpreted, its checksum takes long
        client("XADD", "s", "1-1", "f", b"x" * 20_000_000)
        number = client("CLIENT", "ID")
        client.send(encode("XRANGE", "s", "-", "+"))
        wait_until_owed(other, number)
        server.process.send_signal(signal.SIGTERM)
        assert len(client.read()) > 20_000_000
    assert server.process.wait(30) == 0


def wait_until_owed(other: RawClient, number: int) -> None:
    """Wait until the server holds output for the client that the kernel does not take."""
    wait_until("unsent replies", lambda: client_field(other, number, "obl") not in ("", "0"))


def test_a_client_that_reads_nothing_does_not_keep_it_alive(server: ServerProcess) -> None:
    with server.client() as client:
        client("XADD", "s", "1-1", "f", b"x" * 1_000_000)
        number = client("CLIENT", "ID")
        client.send(encode("XRANGE", "s", "-", "+") * 60)
        with server.client() as other:
            wait_until_owed(other, number)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0


def test_blocked_clients_are_let_go(server: ServerProcess) -> None:
    with server.client() as client:
        client.send(encode("XREAD", "BLOCK", "0", "STREAMS", "s", "$"))
        with server.client() as other:
            wait_for_blocked(other, 1)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        assert client.closed()


def test_the_unix_socket_is_gone_after_the_end(server: ServerProcess) -> None:
    assert Path(server.unix_path).exists()
    assert server.stop() == 0
    assert not Path(server.unix_path).exists()


def test_shutdown_closes_the_connection_without_a_reply(server: ServerProcess) -> None:
    with server.client() as client:
        client.send(encode("SHUTDOWN", "NOSAVE"))
        assert client.closed()
        assert not client.buffer
    assert server.process.wait(30) == 0


def test_in_the_background_it_leaves_a_pid_file_and_takes_it_away(tmp_path: Path) -> None:
    port, pidfile = free_port(), tmp_path / "pid"
    command = [sys.executable, "-m", "forebay", "serve", "--port", str(port)]
    options = ["--daemonize", "yes", "--pidfile", str(pidfile), "--logfile", str(tmp_path / "log")]
    started = subprocess.run(
        [*command, *options], cwd=tmp_path, env=environment(), timeout=60, check=False
    )
    assert started.returncode == 0
    wait_until("the pid file", pidfile.exists)
    wait_until("its content", lambda: pidfile.read_text().endswith("\n"))
    pid = int(pidfile.read_text())
    try:
        with RawClient(("127.0.0.1", port)) as client:
            assert f"process_id:{pid}\r\n".encode() in client("INFO", "server")
            client.send(encode("SHUTDOWN"))
            assert client.closed()
        wait_until("the end of the pid file", lambda: not pidfile.exists())
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise


def test_readiness_is_told_to_a_supervisor_that_wants_to_know(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(address)
        supervisor.settimeout(60)
        command = [sys.executable, "-m", "forebay", "serve", "--port", str(free_port())]
        told = {**environment(), "NOTIFY_SOCKET": address}
        server = subprocess.Popen(command, cwd=tmp_path, env=told, stdout=subprocess.DEVNULL)
        try:
            assert supervisor.recv(100) == b"READY=1"
            server.send_signal(signal.SIGTERM)
            assert supervisor.recv(100) == b"STOPPING=1"
            assert server.wait(30) == 0
        finally:
            server.kill()
            server.wait(30)
