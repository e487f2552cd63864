"""Command lines against a server: run in this process, or in their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from forebay.cli.main import main
from testkit.servers import ServerProcess, environment

FOREBAY = [sys.executable, "-m", "forebay"]
TIMEOUT_S = 60


def url_of(server: ServerProcess) -> str:
    """Where a server of a test is."""
    return f"redis://127.0.0.1:{server.port}"


class Lines:
    """Runs command lines against one server and keeps the output of the last one."""

    def __init__(self, server: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
        self.server = server
        self.capsys = capsys
        self.out = self.err = ""

    def run(self, *words: object) -> int:
        """Run one line; returns its exit code.  No line shows a stack; an error is one sentence."""
        code = main([str(word) for word in words])
        self.out, self.err = self.capsys.readouterr()
        assert "Traceback" not in self.out + self.err
        if code:
            assert self.err.startswith("forebay: ") and self.err.count("\n") == 1, self.err
        return code

    def __call__(self, *words: object) -> str:
        """The output of a line that must end well."""
        code = self.run(*words)
        assert code == 0, self.err
        return self.out

    def objects(self, *words: object) -> list[dict[str, Any]]:
        """The output of a line with --json."""
        return [json.loads(line) for line in self(*words, "--json").splitlines()]

    def refused(self, *words: object, code: int = 1) -> str:
        """The error of a line that must fail, with nothing on standard output."""
        assert self.run(*words) == code, self.err
        assert self.out == ""
        return self.err.removeprefix("forebay: ").rstrip("\n")

    def ask(self, *words: Any) -> Any:
        """Ask the server directly, without the command line."""
        with self.server.client(unix=True) as client:
            return client.insist(*words)


class Process:
    """A command line that runs until it is stopped, with its output in a pipe."""

    def __init__(self, server: ServerProcess, *words: object) -> None:
        self.process = subprocess.Popen(
            [*FOREBAY, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**environment(), "FOREBAY_URL": url_of(server)},
        )

    def line(self) -> str:
        """The next line of its standard output."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def complaint(self) -> str:
        """The next line of its standard error."""
        assert self.process.stderr is not None
        return self.process.stderr.readline().rstrip("\n")

    def interrupt(self) -> tuple[int, str]:
        """Press ctrl-c; returns the exit code and the output."""
        self.process.send_signal(signal.SIGINT)
        _, told = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, told

    def end(self) -> tuple[int, str, str]:
        """Wait for its end; returns the exit code and both outputs."""
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def feed(
    words: list[str], data: bytes, server: ServerProcess
) -> subprocess.CompletedProcess[bytes]:
    """Run a line with this standard input."""
    return subprocess.run(
        [*FOREBAY, *words],
        input=data,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**environment(), "FOREBAY_URL": url_of(server)},
    )


def at_terminal(words: list[str], typed: bytes, server: ServerProcess) -> tuple[int, str]:
    """Run a line at a terminal with typed input; returns the exit code and the shown text."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*FOREBAY, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment(), "FOREBAY_URL": url_of(server), "TERM": "xterm"},
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        shown += data
    os.close(ours)
    return process.wait(TIMEOUT_S), shown.decode("utf-8", "replace")
