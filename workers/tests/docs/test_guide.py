"""The guides, followed word by word: every block of docs/workers*.md is run, on a real server.

A Python block whose first line names a file becomes that file.  Shell blocks run in one shell, in
their order.  A block without a language is the output of the shell block before it; a reader would
look again if it is not there yet, and so does the test.  A program ``with`` another library, such
as Celery, is only shown for comparison: it must be Python, and is not run.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.pages import Block, blocks
from testkit.places import ROOT
from testkit.reader import doors
from testkit.servers import environment
from testkit.waiting import wait_until
from workers.tests.support.target import Target

PAGE = ROOT / "docs" / "workers.md"
README = ROOT / "README.md"
#: Each of the other pages runs on one server: they are long, and differences between the servers
#: have their own tests.
OTHERS = [
    ("redis_server", "workers-howto.md"),
    ("forebay_server", "workers-from-celery.md"),
    ("redis_server", "workers-from-kafka.md"),
]
END = "echo end-of-block"


class Shell:
    """One bash that a reader types into."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.run("set -m")

    def run(self, text: str) -> str:
        """Type a block; returns its output."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{text}\n{END}\n")
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if line == "end-of-block\n":
                return "".join(said)
            said.append(line)
        raise AssertionError("the shell ended")

    def close(self) -> None:
        """Stop background programs, and the shell."""
        self.run("kill $(jobs -p) 2>/dev/null; wait")
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture
def shell(target: Target, tmp_path: Path) -> Iterator[Shell]:
    """A shell in an empty folder, with the reader's programs."""
    shell = Shell(tmp_path, doors(tmp_path) | {"FOREBAY_URL": target.url})
    yield shell
    shell.close()


@pytest.mark.parametrize("target", ["forebay_server"], indirect=True)
def test_the_guide_can_be_followed_word_by_word(
    shell: Shell, target: Target, tmp_path: Path
) -> None:
    follow(shell, blocks(PAGE), tmp_path, target)
    wait_until("the mended order is handled", lambda: target.client.exists(BOB))
    assert target.client.xlen("orders:dead") == 0


@pytest.mark.parametrize("target", ["forebay_server"], indirect=True)
def test_the_worker_of_the_readme_loses_nothing_and_does_nothing_twice(
    shell: Shell, target: Target, tmp_path: Path
) -> None:
    section = [b for b in blocks(README) if b.heading == "A worker in one more"]
    assert follow(shell, section, tmp_path, target) == 2
    assert target.client.xlen("orders:dead") == 0
    wait_until("all is acknowledged", lambda: not target.pending("orders", "billing"))


@pytest.mark.parametrize(("target", "page"), OTHERS, indirect=["target"])
def test_a_page_can_be_followed_word_by_word(
    page: str, shell: Shell, target: Target, tmp_path: Path
) -> None:
    followed = follow(shell, blocks(ROOT / "docs" / page), tmp_path, target)
    assert followed, "a page says what its programs print"


@pytest.mark.parametrize("target", ["forebay_server"], indirect=True)
def test_letters_of_the_page_about_poison_are_gone_at_its_end(
    shell: Shell, target: Target, tmp_path: Path
) -> None:
    page = blocks(ROOT / "docs" / "workers-howto.md")
    follow(shell, [b for b in page if b.heading.startswith("Deal")], tmp_path, target)
    wait_until("no letters", lambda: target.client.xlen("parcels:dead") == 0)
    wait_until("handled", lambda: not target.pending("parcels", "post"))


BOB = "forebay:once:bill:bob:0"


def follow(shell: Shell, page: list[Block], folder: Path, target: Target) -> int:
    """Run each block; returns how many of them printed the output of the page."""
    last, count = "", 0
    for block in page:
        if block.language == "python":
            name, _, other = block.lines[0].removeprefix("# ").partition(", with ")
            compile(block.text, name, "exec")
            if not other:
                (folder / name).write_text(block.text)
        elif block.language == "sh" and "forebay serve" not in block.text:
            last = adapted(block.text, shell, target)
            shell.run(last)
        elif block.language == "" and last:
            expect(shell, last, block.text.strip())
            last, count = "", count + 1
    return count


def expect(shell: Shell, typed: str, wanted: str) -> None:
    """Type it again until it prints the output of the page."""
    wait_until(wanted, lambda: shell.run(typed).strip() == wanted, pause_s=0.5)


def adapted(text: str, shell: Shell, target: Target) -> str:
    """Adapt a block: a reader has one server and one set of workers, the test machine has many."""
    text = text.replace(".venv/bin/", "").replace(
        "redis-cli ", f"redis-cli -p {target.server.port} "
    )
    mine = shell.process.pid
    return text.replace("pgrep --newest", f"pgrep --newest -s {mine}")


@pytest.mark.parametrize("name", ["clicks.py", "shop.py"])
def test_a_program_of_the_guide_is_one(name: str, tmp_path: Path) -> None:
    (block,) = [block for block in blocks(PAGE) if block.lines[:1] == [f"# {name}"]]
    (tmp_path / name).write_text(block.text)
    command = [sys.executable, "-c", f"import {name[:-3]} as m; assert m.app.subscriptions"]
    subprocess.run(command, cwd=tmp_path, env=environment(), check=True)
