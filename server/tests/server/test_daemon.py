"""``daemonize yes``: the exit code of the starter says whether a server runs, and if not, why."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.tests.support.stock_files import DEBIAN_7_0
from testkit.resp import RawClient
from testkit.servers import environment, free_port
from testkit.waiting import wait_until


class Box:
    """A directory with a configuration, and the server that it started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.pidfile = folder / "pid"
        self.lines = ["daemonize yes", f"port {self.port}", f"pidfile {self.pidfile}"]
        self.lines += [f"dir {folder}", f"logfile {folder}/log"]

    def command(self) -> list[str]:
        path = self.folder / "a.conf"
        path.write_text("\n".join(self.lines) + "\n")
        return [sys.executable, "-m", "forebay", "serve", str(path)]

    def start(self) -> subprocess.CompletedProcess[str]:
        """Run the starter to its end; its output streams must end too."""
        return subprocess.run(
            self.command(),
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def pid(self) -> int:
        wait_until("a pid", lambda: self.pidfile.exists() and self.pidfile.read_text())
        return int(self.pidfile.read_text())

    def listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self) -> None:
        if self.listens() and self.pidfile.exists():
            os.kill(self.pid(), signal.SIGTERM)
            wait_until("its end", lambda: not self.pidfile.exists())


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path)
    yield box
    box.end()


def test_when_the_starter_ends_with_zero_all_data_is_there(box: Box) -> None:
    assert box.start().returncode == 0
    with RawClient(("127.0.0.1", box.port)) as client:
        assert client("XADD", "s", "1-1", "f", "v") == b"1-1"
    box.end()
    assert box.start().returncode == 0
    with RawClient(("127.0.0.1", box.port)) as client:
        assert client("XLEN", "s") == 1


def test_the_server_leaves_the_terminal_and_is_another_process(box: Box) -> None:
    with subprocess.Popen(box.command(), env=environment()) as starter:
        assert starter.wait(60) == 0
        assert box.pid() != starter.pid
    null = Path(os.devnull).stat().st_rdev
    streams = [Path(f"/proc/{box.pid()}/fd/{fd}").stat().st_rdev for fd in (0, 1, 2)]
    assert streams == [null] * 3
    assert os.getsid(box.pid()) == box.pid()


def pid_file_in_no_folder(box: Box) -> str:
    box.lines.append(f"pidfile {box.folder}/none/pid")
    return f"cannot write the pid file {box.folder}/none/pid: No such file or directory"


def log_file_in_no_folder(box: Box) -> str:
    box.lines.append(f"logfile {box.folder}/none/log")
    return f"cannot write the log file {box.folder}/none/log"


def unix_socket_in_no_folder(box: Box) -> str:
    box.lines.append(f"unixsocket {box.folder}/none/sock")
    return f"cannot listen on {box.folder}/none/sock"


def wrong_line(box: Box) -> str:
    box.lines.append("prot 1")
    return f"line {len(box.lines)}: 'prot 1': Bad directive"


def directory_that_cannot_be_made(box: Box) -> str:
    (box.folder / "file").write_text("")
    box.lines.append(f"dir {box.folder}/file/data")
    return f"cannot make the folder {box.folder}/file"


def damaged_snapshot(box: Box) -> str:
    box.lines.append("appendonly no")
    (box.folder / "dump.rdb").write_bytes(b"REDIS0010\xfa\x05hello")
    return f"{box.folder}/dump.rdb"


def damaged_aof(box: Box) -> str:
    logs = box.folder / "appendonlydir"
    logs.mkdir()
    (logs / "appendonly.aof.manifest").write_text("file a.aof seq 1 type i\n")
    good = b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n"
    (logs / "a.aof").write_bytes(good + b"*3\r\n$3\r\nSET\r\n$1\r\n?rubbish?\r\n" + good)
    return "Cannot load the data, nothing was changed"


@pytest.mark.parametrize(
    "trouble",
    [
        pid_file_in_no_folder,
        log_file_in_no_folder,
        unix_socket_in_no_folder,
        wrong_line,
        directory_that_cannot_be_made,
        damaged_snapshot,
        damaged_aof,
    ],
)
def test_what_goes_wrong_is_one_sentence_and_exit_code_one(
    box: Box, trouble: Callable[[Box], str]
) -> None:
    sentence = trouble(box)
    result = box.start()
    assert result.returncode == 1
    assert result.stderr.startswith("forebay: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not box.listens()
    assert not box.pidfile.exists()


def test_a_port_that_is_taken_is_named(box: Box) -> None:
    with socket.create_server(("127.0.0.1", box.port)):
        result = box.start()
    assert result.returncode == 1
    assert f"cannot listen on 127.0.0.1:{box.port}" in result.stderr


def test_a_second_server_on_the_same_files_is_refused_and_the_first_goes_on(box: Box) -> None:
    assert box.start().returncode == 0
    first = box.pidfile.read_text()
    box.lines.append(f"port {free_port()}")
    result = box.start()
    assert result.returncode == 1
    assert str(box.folder) in result.stderr
    assert box.pidfile.read_text() == first
    with RawClient(("127.0.0.1", box.port)) as client:
        assert client("PING") == "PONG"


def slow_to_load(box: Box) -> subprocess.Popen[str]:
    """A starter whose server waits for a snapshot that never arrives."""
    box.lines.append("appendonly no")
    os.mkfifo(box.folder / "dump.rdb")
    return subprocess.Popen(
        box.command(), env=environment(), stderr=subprocess.PIPE, text=True, cwd=box.folder
    )


def test_the_starter_says_what_it_waits_for_and_a_server_that_dies_is_a_failure(box: Box) -> None:
    with slow_to_load(box) as starter:
        assert starter.stderr is not None
        assert starter.stderr.readline() == (
            f"forebay: process {box.pid()} is loading the data, please wait\n"
        )
        os.kill(box.pid(), signal.SIGKILL)
        assert starter.stderr.readline() == (
            "forebay: the server was ended by SIGKILL before it was ready\n"
        )
        assert starter.wait(60) == 1
    box.pidfile.unlink()


def test_a_starter_that_is_interrupted_leaves_the_server_alone(box: Box) -> None:
    with slow_to_load(box) as starter:
        pid = box.pid()
        assert starter.stderr is not None
        starter.stderr.readline()
        starter.send_signal(signal.SIGINT)
        assert starter.stderr.readline() == f"forebay: process {pid} goes on in the background\n"
        assert starter.wait(60) == 1
        os.kill(pid, signal.SIGKILL)
    box.pidfile.unlink()


def test_without_a_log_file_the_start_is_told_on_the_terminal(box: Box) -> None:
    box.lines.append('logfile ""')
    box.lines.append("activedefrag yes")
    result = box.start()
    assert result.returncode == 0
    assert "accepted without effect (see docs/configuration.md): activedefrag" in result.stdout
    assert result.stdout.splitlines()[-1].count("Ready to accept connections") == 1


def test_the_file_of_debian_starts_a_server_and_tells_of_damage(box: Box) -> None:
    for name in ("run", "log", "lib"):
        (box.folder / name).mkdir()
    box.pidfile = box.folder / "run" / "redis-server.pid"
    box.lines = [DEBIAN_7_0.format(dir=box.folder), f"port {box.port}"]
    result = box.start()
    assert (result.returncode, result.stderr) == (0, "")
    with RawClient(("127.0.0.1", box.port)) as client:
        assert client("XADD", "s", "1-1", "f", "v") == b"1-1"
        assert client("SAVE") == "OK"
    box.end()
    snapshot = box.folder / "lib" / "dump.rdb"
    snapshot.write_bytes(snapshot.read_bytes()[:-12])
    result = box.start()
    assert result.returncode == 1
    assert str(snapshot) in result.stderr
