"""Real server processes for tests and benches: start, wait until ready, stop by pid.

A server gets a free TCP port and a unix socket in its own directory, and writes its log
and its data there.  Ready means that a PING over the unix socket is answered with
anything but -LOADING; nothing sleeps for a guessed time.  Stopping sends SIGTERM to that
one pid, and SIGKILL only if needed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from testkit.places import ROOT
from testkit.resp import RawClient

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 15.0
LOG_TAIL_BYTES = 6000
#: Servers of tests listen on a port between these; Linux uses higher ones for connections.
LOWEST_PORT, LOWEST_CLIENT_PORT = 10_000, 32_768


def free_port() -> int:
    """A TCP port on which nothing listens at this moment.

    It is below the ports of outgoing connections, so no client takes it before the server.
    """
    while True:
        port = LOWEST_PORT + secrets.randbelow(LOWEST_CLIENT_PORT - LOWEST_PORT)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def environment() -> dict[str, str]:
    """Our environment for a process that starts in another folder: the same sources, unbuffered."""
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    absolute = os.pathsep.join(str(Path(p).resolve()) for p in paths)
    return {**os.environ, "PYTHONPATH": absolute, "PYTHONUNBUFFERED": "1"}


def worker_path() -> str:
    """PYTHONPATH of a process that needs the repository, and the sources if this one uses them."""
    root = str(ROOT)
    return os.pathsep.join(path for path in (root, environment()["PYTHONPATH"]) if path)


def cpu_s(pid: int) -> float:
    """User and system time that a process has used."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class ServerProcess:
    """One running server of either kind."""

    def __init__(self, name: str, command: Sequence[str], directory: Path, port: int) -> None:
        self.name = name
        self.directory = directory
        self.port = port
        self.unix_path = str(directory / "sock")
        self.log_path = directory / "log"
        #: How often it has answered -LOADING.
        self.loading_replies = 0
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=directory,
                env=environment(),
            )
        self._wait_until_ready()

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with RawClient(self.unix_path, timeout_s=START_TIMEOUT_S) as client:
                    if not client.raw("PING").startswith(b"-LOADING"):
                        return
                    self.loading_replies += 1
            except (OSError, EOFError):
                time.sleep(0.01)
        code = self.process.poll()
        self.kill()
        raise RuntimeError(f"{self.name} is not ready (exit code {code}); its log:\n{self.log()}")

    def client(self, *, unix: bool = False, timeout_s: float = 20.0) -> RawClient:
        """A new raw connection."""
        return RawClient(self.unix_path if unix else ("127.0.0.1", self.port), timeout_s)

    def log(self) -> str:
        """The end of what the server has printed."""
        data = self.log_path.read_bytes()
        return data[-LOG_TAIL_BYTES:].decode("utf-8", "replace")

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def stop(self) -> int:
        """Ask it to stop and wait; the exit code."""
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.wait()

    def kill(self) -> None:
        """Stop it at once."""
        if self.alive():
            self.process.kill()
        self.process.wait()

    def rss_bytes(self) -> int:
        """Resident memory of the process."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def cpu_s(self) -> float:
        """User and system time that the process has used."""
        return cpu_s(self.pid)

    def open_files(self) -> int:
        """Number of open file descriptors."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


def start_forebay(
    directory: Path,
    *directives: str,
    pin: int | None = None,
    tracer: Sequence[str] = (),
    port: int | None = None,
) -> ServerProcess:
    """Forebay as this interpreter finds it: compiled if installed, plain if PYTHONPATH says so."""
    program = [sys.executable, "-m", "forebay", "serve"]
    return _start("forebay", program, directory, directives, pin, tracer, port)


def start_program(
    program: str,
    directory: Path,
    *directives: str,
    pin: int | None = None,
    tracer: Sequence[str] = (),
    port: int | None = None,
) -> ServerProcess:
    """A server binary that takes redis.conf directives on its command line."""
    directives = ("--dir", str(directory), *directives)
    return _start(Path(program).name, [program], directory, directives, pin, tracer, port)


def _start(
    name: str,
    program: list[str],
    directory: Path,
    directives: Sequence[str],
    core: int | None,
    tracer: Sequence[str],
    port: int | None,
) -> ServerProcess:
    directory.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    pinned = [] if core is None else ["taskset", "-c", str(core)]
    where = ["--port", str(port), "--bind", "127.0.0.1", "--unixsocket", str(directory / "sock")]
    command = [*tracer, *pinned, *program, *where, *directives]
    return ServerProcess(name, command, directory, port)
