"""A reader who pastes blocks of a page into a shell, in an empty folder.

The commands of a page (forebay, python, make) are those of this environment, and the server of
the page gets its own port.
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

from testkit.pages import Block
from testkit.servers import environment, free_port

TIMEOUT_S = 100
#: A reader pauses between two blocks; a script waits for the server, or for its end.
WAIT = (
    "for _ in $(seq 600); do redis-cli PING >/dev/null 2>&1 && break; "
    "kill -0 $! || exit 1; sleep 0.05; done\n"
)


def script_of(blocks: list[Block]) -> str:
    """Blocks as one script, as a reader pastes them one after another."""
    return "set -e\n" + "".join(as_shell(block) for block in blocks)


def as_shell(block: Block) -> str:
    """A block as lines of a shell script."""
    if block.language == "python":
        return f"python - <<'END'\n{block.text}END\n"
    return block.text + (WAIT if "forebay serve" in block.text else "")


def door(path: Path, *command: str) -> None:
    """A program of that name which runs the command instead; somebody may be running it now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    new.chmod(0o755)
    new.replace(path)


def doors(folder: Path) -> dict[str, str]:
    """The commands of a page in ``folder/bin``, and the environment that finds them there."""
    forebay = (sys.executable, "-m", "forebay")
    door(folder / ".venv/bin/forebay", *forebay)
    door(folder / "bin/forebay", *forebay)
    door(folder / "bin/python", sys.executable)
    door(folder / "bin/make", "true")
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**environment(), "PATH": path}


def paste(script: str, folder: Path, port: int = 0) -> str:
    """Run a script in the folder, with the server on its own port; returns its output."""
    port = port or free_port()
    script = script.replace("forebay serve", f"forebay serve --port {port}")
    script = script.replace("redis-cli", f"redis-cli -p {port}")
    script = re.sub(r"redis\.Redis\(", f"redis.Redis(port={port},", script)
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env={**doors(folder), "FOREBAY_URL": f"redis://127.0.0.1:{port}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate(timeout=TIMEOUT_S)
    finally:
        # The server too, if the script has left one: it is in the same process group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, printed
    assert not re.search(r"^\(?error|\bERR\b|Could not connect", printed, re.MULTILINE), printed
    return printed
