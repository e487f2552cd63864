"""The page about the command line, pasted into a shell block by block, with two real servers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.pages import blocks
from testkit.places import ROOT
from testkit.reader import doors
from testkit.servers import ServerProcess

#: Some thirty programs in a row take long on a busy machine.
PATIENCE_S = 600
pytestmark = [pytest.mark.compiled, pytest.mark.timeout(PATIENCE_S)]

Make = Callable[..., ServerProcess]
PAGE = ROOT / "docs" / "cli.md"
#: Commands that run until ctrl-c get one after their first output.
ENDLESS = re.compile(r"^(forebay (?:tail -f|top).*)$", re.MULTILINE)

UNTIL_IT_SHOWS = """
until_it_shows() {
    env --default-signal=INT "$@" > shown & it=$!
    until test -s shown; do kill -0 $it; sleep 0.05; done
    kill -INT $it; code=0; wait $it || code=$?
    cat shown; rm shown; test $code = 130
}
"""


def script_of(first: ServerProcess, second: ServerProcess) -> str:
    """All blocks as one script; endless commands must end by ctrl-c, with its exit code."""
    text = "".join(block.text for block in blocks(PAGE) if block.language == "sh")
    text = text.replace("6379", str(first.port)).replace("6380", str(second.port))
    text = text.replace("redis-cli", f"redis-cli -p {first.port}")
    ended = r"until_it_shows \1"
    named = f"export FOREBAY_URL=redis://127.0.0.1:{first.port}\n"
    return f"set -e\n{UNTIL_IT_SHOWS}{named}{ENDLESS.sub(ended, text)}"


@pytest.mark.parametrize("kinds", [("forebay", "redis"), ("redis", "forebay")], ids=" then ".join)
def test_every_block_of_the_page_works(
    kinds: tuple[str, str], make_forebay: Make, make_redis: Make, tmp_path: Path
) -> None:
    make = {"forebay": make_forebay, "redis": make_redis}
    first, second = (make[kind]() for kind in kinds)
    done = subprocess.run(
        ["bash", "-c", script_of(first, second)],
        cwd=tmp_path,
        env=doors(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr and "forebay:" not in done.stderr, done.stderr
    with second.client() as client:
        assert client("XLEN", "orders") == 3
    with first.client() as client:
        assert client("XRANGE", "orders:restored", "-", "+") == client("XRANGE", "orders", "-", "+")
