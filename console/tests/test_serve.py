"""``forebay serve --console PORT``: a console that runs as long as the server."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from forebay_console.cli.console import listening
from testkit.consoles import Asker
from testkit.servers import free_port, start_forebay
from testkit.waiting import wait_until


def answers(asker: Asker) -> bool:
    try:
        return asker.request("GET", "/").status == 200
    except OSError:
        return False


def test_the_console_knows_the_password_and_ends_with_the_server(scratch: Path) -> None:
    port = free_port()
    words = ("--requirepass", "s e/cret", "--console", str(port))
    server = start_forebay(scratch, *words)
    try:
        asker = Asker(port)
        wait_until("the page is there", lambda: answers(asker))
        assert asker.enter("default", "s e/cret")[0] == 200
        assert asker.get("/server")["trouble"] is None
        shown = Path("/proc").glob("[0-9]*/cmdline")
        assert [path.parts[2] for path in shown if has(path, b"s e/cret")] == [str(server.pid)]
    finally:
        assert server.stop() == 0
    wait_until("the page is gone", lambda: not answers(asker))


def has(path: Path, word: bytes) -> bool:
    try:
        return word in path.read_bytes()
    except OSError:  # the process has just ended
        return False


def test_a_console_does_not_outlive_a_server_that_is_killed(scratch: Path) -> None:
    port = free_port()
    words = ["--port", str(free_port()), "--dir", str(scratch), "--console", str(port)]
    command = [sys.executable, "-m", "forebay", "serve", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        asker = Asker(port)
        try:
            wait_until("the page is there", lambda: answers(asker))
        finally:
            server.kill()
    wait_until("the page is gone", lambda: not answers(asker))


def test_a_port_that_is_none_is_one_sentence() -> None:
    command = [sys.executable, "-m", "forebay", "serve", "--console", "here"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "forebay: --console wants a port, as in --console 8001\n",
    )


def test_the_second_part_of_an_answer_does_not_wait_for_an_acknowledgement_of_the_first() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
