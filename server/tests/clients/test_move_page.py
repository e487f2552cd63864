"""docs/moving-from-redis.md and the replica of docs/operations.md, pasted into a shell."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.pages import blocks
from testkit.places import ROOT
from testkit.reader import doors
from testkit.servers import ServerProcess, free_port
from testkit.waiting import wait_until

MOVING = ROOT / "docs" / "moving-from-redis.md"
OPERATIONS = ROOT / "docs" / "operations.md"

Make = Callable[..., ServerProcess]


def block_of(page: Path, heading: str, **ports: int) -> str:
    """The one block of a section, with the test's ports instead of the page's."""
    (block,) = [b for b in blocks(page) if b.language == "sh" and b.heading == heading]
    return re.sub(r"\b63(?:79|80)\b", lambda named: str(ports[f"p{named[0]}"]), block.text)


def run(script: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-ec", script],
        cwd=folder,
        env={**doors(folder), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.oracle
def test_the_copy_of_a_redis_says_whether_it_can_move(make_redis: Make, tmp_path: Path) -> None:
    server = make_redis("--repl-diskless-sync-delay", "0")
    script = block_of(MOVING, "Can you move?", p6379=server.port)
    with server.client() as client:
        client("XADD", "orders", "*", "item", "tea")
        assert run(script, tmp_path).returncode == 0
        client("HSET", "customer:1", "name", "ann")
    done = run(script, tmp_path)
    assert done.returncode == 1 and "holds 1 hash" in done.stdout, done


def test_the_doctor_of_the_page_examines_the_server(make_forebay: Make, tmp_path: Path) -> None:
    url = f"redis://127.0.0.1:{make_forebay().port}"
    script = block_of(MOVING, "After the move").rstrip()
    done = run(f"{script} --seconds 0.1", tmp_path, FOREBAY_URL=url)
    assert done.returncode in (0, 1), done
    assert f"the server at {url}" in done.stdout


def test_the_line_of_the_page_starts_a_replica(make_forebay: Make, tmp_path: Path) -> None:
    primary, port = make_forebay(), free_port()
    script = block_of(OPERATIONS, "Replicas", p6379=primary.port, p6380=port)
    with primary.client() as client:
        client("XADD", "orders", "*", "item", "tea")
    replica = subprocess.Popen(
        ["bash", "-c", f"exec {script}"],
        cwd=tmp_path,
        env=doors(tmp_path),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        asked = f"redis-cli -p {port} XLEN orders"
        wait_until("the replica has it", lambda: run(asked, tmp_path).stdout == "1\n")
    finally:
        os.killpg(replica.pid, signal.SIGTERM)
        replica.wait(60)
