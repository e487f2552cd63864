"""The commands of the README work as a reader copies them.

The blocks of a section are one script, as a reader pastes them one after another.
Left out: the installation (the packaging tests do that) and Spark (`spark/tests`).
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testkit.pages import Block, blocks
from testkit.places import ROOT
from testkit.servers import environment, free_port

README = ROOT / "README.md"
LEFT_OUT = ("pip install", "forebay pipeline", "forebay sql", "forebay_spark")
TIMEOUT_S = 100
#: A reader takes a moment between two blocks; a script waits for the server, or for its end.
WAIT = (
    "for _ in $(seq 600); do redis-cli PING >/dev/null 2>&1 && break; "
    "kill -0 $! || exit 1; sleep 0.05; done\n"
)


def script_of(heading: str) -> str:
    """The blocks of a section as one script."""
    found = [b for b in blocks(README) if b.heading == heading and b.language in ("sh", "python")]
    kept = [block for block in found if not any(word in block.text for word in LEFT_OUT)]
    assert kept, f"no block to copy under {heading!r}"
    return "set -e\n" + "".join(as_shell(block) for block in kept)


def as_shell(block: Block) -> str:
    """A block as lines of a shell script."""
    if block.language == "python":
        return f"python - <<'END'\n{block.text}END\n"
    return block.text + (WAIT if "forebay serve" in block.text else "")


def door(path: Path, *command: str) -> None:
    """A program of that name which runs the command instead."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)


def paste(script: str, folder: Path) -> str:
    """Run a script in an empty folder, with the server on a port of its own; what it prints."""
    port = free_port()
    forebay = (sys.executable, "-m", "forebay")
    door(folder / ".venv/bin/forebay", *forebay)
    door(folder / "bin/forebay", *forebay)
    door(folder / "bin/python", sys.executable)
    door(folder / "bin/make", "true")
    script = script.replace("forebay serve", f"forebay serve --port {port}")
    script = script.replace("redis-cli", f"redis-cli -p {port}")
    script = re.sub(r"redis\.Redis\(", f"redis.Redis(port={port},", script)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env={**environment(), "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate(timeout=TIMEOUT_S)
    finally:
        # The server too, if the script has left one: it is of the same group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, printed
    assert not re.search(r"^\(?error|\bERR\b|Could not connect", printed, re.MULTILINE), printed
    return printed


def test_the_first_minute(tmp_path: Path) -> None:
    printed = paste(script_of("Try it in one minute"), tmp_path)
    assert printed.count("Castilla") == 2
    assert "race:italy" in printed
    assert "{'item': 'tea', 'price': '3.20'}" in printed
    assert "Traceback" not in (tmp_path / "forebay.log").read_text()
    assert list((tmp_path / "data").iterdir()), "the directory of the data is empty"


def test_a_server_for_the_lake_gets_its_orders(tmp_path: Path) -> None:
    script = script_of("A lake in one more")
    printed = paste(script + "redis-cli XLEN orders\nkill %1\nwait %1\n", tmp_path)
    assert printed.split() == ["3"]


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z-]+)", README.read_text()))))
def test_what_make_is_asked_for_is_there(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
