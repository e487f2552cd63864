"""The doctor of docs/operations.md, pasted into a shell block by block, with a server to examine.

Two things differ from the page: it watches for a tenth of a second (a reader waits for five or
sixty), and the folder is one that a test may use.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.pages import blocks
from testkit.places import ROOT
from testkit.reader import doors
from testkit.servers import ServerProcess

PAGE = ROOT / "docs" / "operations.md"
BLOCKS = [b.text for b in blocks(PAGE) if b.language == "sh" and b.heading == "forebay doctor"]
#: A server with a problem, so that there is one to show.
PROBLEM = ("--repl-timeout", "5", "--repl-ping-replica-period", "10")
#: The finding about a running server, which is not a problem.
WELL = "Forebay "


@pytest.fixture
def server(make_forebay: Callable[..., ServerProcess]) -> ServerProcess:
    return make_forebay(*PROBLEM)


def copied(word: str, server: ServerProcess, folder: Path) -> str:
    """The output of the block with this option; the doctor ends with 1: there is a problem."""
    (text,) = [text for text in BLOCKS if word in text]
    text = text.replace("/var/lib/forebay", str(folder)).replace(" --seconds 60", "")
    text = re.sub("^forebay doctor", "set -o pipefail; forebay doctor --seconds 0.1", text)
    done = subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env={**doors(folder), "FOREBAY_URL": f"redis://127.0.0.1:{server.port}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, ""), done
    return done.stdout


@pytest.mark.parametrize("word", ["doctor\n", "--seconds 60"])
def test_the_doctor_examines_the_machine_and_the_server(
    word: str, server: ServerProcess, tmp_path: Path
) -> None:
    printed = copied(word, server, tmp_path)
    assert "this machine" in printed
    assert f"the server at redis://127.0.0.1:{server.port}" in printed


@pytest.mark.skipif(shutil.which("jq") is None, reason="the line of the page needs jq")
def test_jq_shows_the_problems_alone(server: ServerProcess, tmp_path: Path) -> None:
    told = copied("| jq", server, tmp_path).splitlines()
    assert [line for line in told if line.startswith("repl-timeout is 5 s")]
    assert not [line for line in told if line.startswith(WELL)], told


def test_the_folder_of_a_server_to_be_is_tried(server: ServerProcess, tmp_path: Path) -> None:
    assert f"this machine, {tmp_path}\n" in copied("--dir", server, tmp_path)


def test_every_block_is_one_of_these() -> None:
    assert len(BLOCKS) == 4
