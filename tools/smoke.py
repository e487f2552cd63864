"""Does an installed forebay work?  It is started, written to, killed, started again and asked.

    python tools/smoke.py

cibuildwheel runs this on every wheel (pyproject.toml), in an environment that has the package
and nothing else.  So it uses only the standard library, and writes the protocol itself.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

START_S = 30.0


def main() -> int:
    """Exit code 0 if an entry survives a kill of its server."""
    with tempfile.TemporaryDirectory(prefix="forebay-smoke-") as name:
        folder = Path(name)
        with serving(folder) as server:
            assert ask(folder, "XADD s 1-1 item tea") == b"$3\r\n1-1\r\n"
            server.kill()
        with serving(folder):
            assert ask(folder, "XLEN s") == b":1\r\n", "the entry is gone after kill -9"
    print("smoke: an entry was written, its server killed, and the entry is there")
    return 0


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server on a unix socket in the folder; killed at the end."""
    options = ["--port", "0", "--unixsocket", str(folder / "s"), "--dir", str(folder)]
    command = [sys.executable, "-m", "forebay", "serve", *options]
    with (folder / "log").open("ab") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until_ready(folder, server)
        yield server
    finally:
        server.kill()
        server.wait()


def wait_until_ready(folder: Path, server: subprocess.Popen[bytes]) -> None:
    """Return when a PING is answered; if that never happens, show the log."""
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(OSError):
            if ask(folder, "PING") == b"+PONG\r\n":
                return
        time.sleep(0.05)
    raise SystemExit(f"smoke: no answer from the server\n{(folder / 'log').read_text()}")


def ask(folder: Path, command: str) -> bytes:
    """The raw reply to one command."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(START_S)
        client.connect(str(folder / "s"))
        client.sendall(command.encode() + b"\r\n")
        return client.recv(1000)


if __name__ == "__main__":
    sys.exit(main())
