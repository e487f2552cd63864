"""redis-cli against Forebay: the tutorial line by line, and the tool's own modes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from testkit.oracle import find
from testkit.resp import encode
from testkit.servers import ServerProcess

TUTORIAL = Path(__file__).with_name("tutorial.txt").read_text()
TIMEOUT_S = 60


def cli(server: ServerProcess, *args: str, stdin: str | bytes = "") -> str:
    """The output of redis-cli; it must end with exit code 0."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    command = [find("redis-cli"), "-p", str(server.port), *args]
    done = subprocess.run(command, input=data, capture_output=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def walk(transcript: str) -> list[tuple[str, str]]:
    """Commands of a transcript, each with the output that follows it."""
    parts = re.split(r"^> (.*)\n", transcript, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def test_the_streams_tutorial_works_line_by_line(forebay_server: ServerProcess) -> None:
    for command, expected in walk(TUTORIAL):
        printed = cli(forebay_server, "--no-raw", stdin=command + "\n")
        pattern = re.escape(expected).replace("<number>", r"\d+")
        assert re.fullmatch(pattern, printed), f"> {command}\n{printed}\nexpected:\n{expected}"


@pytest.mark.parametrize("protocol", ["-2", "-3"])
def test_both_protocols_print_the_same_entry(forebay_server: ServerProcess, protocol: str) -> None:
    cli(forebay_server, protocol, "XADD", "race", "1-1", "rider", "Castilla")
    printed = cli(forebay_server, protocol, "XRANGE", "race", "-", "+")
    assert printed == "1-1\nrider\nCastilla\n"


def test_the_unix_socket_is_as_good_as_the_port(forebay_server: ServerProcess) -> None:
    command = [find("redis-cli"), "-s", forebay_server.unix_path, "PING"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"PONG\n"


class Terminal:
    """redis-cli as a person sees it: on a terminal, with a prompt."""

    def __init__(self, server: ServerProcess) -> None:
        self.prompt = f"127.0.0.1:{server.port}> "
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self.process = subprocess.Popen(
            [find("redis-cli"), "-p", str(server.port)],
            stdin=self.theirs,
            stdout=self.theirs,
            env={**os.environ, "TERM": "xterm"},
        )
        self.wait_for("")

    def wait_for(self, wanted: str) -> None:
        """Read until the wanted text was shown, and a new prompt after it."""
        shown, deadline = "", time.monotonic() + TIMEOUT_S
        while not (wanted in shown and shown.endswith(self.prompt)):
            wait_s = max(0, deadline - time.monotonic())
            ready, _, _ = select.select([self.ours], [], [], wait_s)
            assert ready, f"waited for {wanted!r}; the terminal shows:\n{shown}"
            shown += os.read(self.ours, 65536).decode("utf-8", "replace")
            shown = re.sub(r"\x1b\[[0-9]*[A-Za-z]", "", shown)

    def type(self, line: str) -> None:
        """Type a line, as if by hand."""
        os.write(self.ours, line.encode() + b"\r")

    def close(self) -> int:
        """Type quit; the exit code."""
        self.type("quit")
        try:
            return self.process.wait(TIMEOUT_S)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.ours)
            os.close(self.theirs)


def test_an_interactive_session_learns_the_commands_and_shows_hints(
    forebay_server: ServerProcess,
) -> None:
    terminal = Terminal(forebay_server)
    try:
        terminal.type("XADD race 5-5 rider Norem")
        terminal.wait_for('"5-5"\r\n')
        terminal.type("help XLEN")
        terminal.wait_for("summary:")
        terminal.type("XREAD COUNT 1 STREAMS race 0")
        terminal.wait_for('"Norem"\r\n')
    finally:
        code = terminal.close()
    assert code == 0


def test_stat_prints_a_line_of_figures(forebay_server: ServerProcess) -> None:
    command = [find("redis-cli"), "-p", str(forebay_server.port), "--stat", "-i", "0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().decode() for _ in range(4)]
        process.terminate()
    assert "keys" in lines[1]
    assert re.match(r"\s*\d+\s+\S+\s+\d+\s+\d+\s+\d+", lines[2]), lines


def test_bigkeys_finds_the_longest_stream(forebay_server: ServerProcess) -> None:
    for i in range(1, 6):
        cli(forebay_server, "XADD", "race:long", f"{i}-1", "a", "b")
    cli(forebay_server, "XADD", "race:short", "1-1", "a", "b")
    cli(forebay_server, "SET", "text", "hello")
    printed = cli(forebay_server, "--bigkeys")
    assert re.search(r"Biggest stream found \W*race:long\W* has 5 entries", printed)
    assert "2 streams with 6 entries" in printed


def test_memkeys_asks_each_key_for_its_size(forebay_server: ServerProcess) -> None:
    cli(forebay_server, "XADD", "race", "1-1", "a", "b")
    assert "1 streams with" in cli(forebay_server, "--memkeys")


def test_scan_lists_the_keys(forebay_server: ServerProcess) -> None:
    for name in ("a", "b", "c"):
        cli(forebay_server, "XADD", name, "1-1", "f", "v")
    assert sorted(cli(forebay_server, "--scan").split()) == ["a", "b", "c"]


def test_latency_is_measured_in_samples(forebay_server: ServerProcess) -> None:
    command = [find("redis-cli"), "-p", str(forebay_server.port), "--latency", "--raw", "-i", "1"]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=True)
    lowest, highest, _, samples = done.stdout.split()[:4]
    assert int(lowest) <= int(highest)
    assert int(samples) > 10


def test_pipe_sends_a_mass_insertion(forebay_server: ServerProcess) -> None:
    commands = b"".join(encode("XADD", "race", f"{i}-1", "n", i) for i in range(1, 5001))
    printed = cli(forebay_server, "--pipe", stdin=commands)
    assert "errors: 0, replies: 5000" in printed
    assert cli(forebay_server, "XLEN", "race") == "5000\n"


def test_a_command_line_may_repeat_itself(forebay_server: ServerProcess) -> None:
    cli(forebay_server, "-r", "3", "XADD", "race", "*", "a", "b")
    assert cli(forebay_server, "XLEN", "race") == "3\n"


def test_errors_are_shown_and_set_the_exit_code(forebay_server: ServerProcess) -> None:
    command = [find("redis-cli"), "-e", "-p", str(forebay_server.port), "XADD", "race", "0-0", "a"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"wrong number of arguments for 'xadd' command" in done.stdout + done.stderr
