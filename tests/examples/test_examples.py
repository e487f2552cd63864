"""The examples as a person runs them: each on a real server, twice, to its end.

Those that need Spark are in spark/tests/pipeline/test_examples.py.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from testkit.pages import shell_commands
from testkit.places import ROOT
from testkit.servers import ServerProcess, environment

EXAMPLES = ROOT / "examples"
#: Folders that are not a single program: the demo has its own test and target.
OTHERS = {"demo", "pipelines", "__pycache__"}

JOBS = """\
  attempt 1 failed: bee.tiff is of an unknown format
  attempt 1 failed: no space left for cat.png
  put aside: MisfitError
  attempt 2 failed: bee.tiff is of an unknown format
  put aside: ValueError
  ValueError: bee.tiff is of an unknown format (3 attempts)
the code knows tiff now: 1 sent back, 1 dropped
  bee.tiff is 640 wide
0 pending, 0 dead
"""
NOTIFICATIONS = """\
  ann: 2 unread  bob follows you, your parcel is here
  ann: 0 unread
her phone hears at once: a new song
bob gets eight more, and his inbox keeps 5:
  ann: 1 unread  a new song
  bob: 5 unread  sale 4, sale 5, sale 6, sale 7, sale 8
"""
EVENTS = """\
alice and bob both see Account(version=2, owner='ann', cents=1000)
alice pays 900 out; bob wants to as well: version 3 is taken
bob looks again: Account(version=3, owner='ann', cents=100)
from the snapshot 1 event is replayed, without it 104: both say 1105 cents
20 people want 100 at once: 11 get it, 5 cents stay
"""
PRINTED = {"job_queue": JOBS, "notifications": NOTIFICATIONS, "event_sourcing": EVENTS}


def run(name: str, url: str) -> subprocess.CompletedProcess[str]:
    """The one command of an example."""
    return subprocess.run(
        [sys.executable, "-m", f"examples.{name}"],
        cwd=ROOT,
        env=environment() | {"FOREBAY_URL": url},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture(params=["forebay", "redis"])
def server(request: pytest.FixtureRequest) -> ServerProcess:
    """A Forebay, then a real redis-server; empty."""
    found: ServerProcess = request.getfixturevalue(f"{request.param}_server")
    return found


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_tells_its_story_again_and_again(name: str, server: ServerProcess) -> None:
    for _ in range(2):
        done = run(name, f"redis://127.0.0.1:{server.port}")
        assert (done.returncode, done.stderr) == (0, "")
        told = [line.rstrip() for line in done.stdout.splitlines()]
        missing = [line for line in PRINTED[name].splitlines() if line not in told]
        assert not missing, done.stdout


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_without_a_server_says_what_to_do(name: str) -> None:
    done = run(name, "redis://127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr == (
        "No server answers at redis://127.0.0.1:1. "
        "Start one with `forebay serve`, or set FOREBAY_URL.\n"
    )


@pytest.mark.parametrize(
    "folder",
    sorted(path for path in EXAMPLES.iterdir() if path.is_dir() and path.name not in OTHERS),
    ids=lambda path: path.name,
)
def test_the_page_of_an_example_names_its_one_command(folder: Path) -> None:
    page = folder / "README.md"
    assert shell_commands(page, "python") == [["python", "-m", f"examples.{folder.name}"]]
    assert len(page.read_text().splitlines()) <= 15
