"""Each block of commands that a reader copies has a test, or a reason why it has none.

A block of commands is marked ``sh``, ``bash``, ``console`` or ``python``, or it has no mark and its
first line begins with a program.  The tables below have all of them, so a block that is added to a
page has to be added here, and to the test that runs it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from testkit.pages import Block, blocks
from testkit.places import ROOT
from tools import build_site

PAGES = [*build_site.PAGES, *sorted(ROOT.glob("*/README.md"))]
MARKED = {"sh", "bash", "console", "python"}
#: The beginning of a shell line, after a prompt and settings of its environment.
TYPED = re.compile(
    r"(\$ )?(\w+=\S+ )*(\S*/)?(forebay|redis-cli|python3?|pip|make|docker|mkdir|kill|runtest) "
)

GUIDE = "workers/tests/docs/test_guide.py"
LAKES = "spark/tests/pipeline/test_pages.py"
MOVES = "server/tests/clients/test_move_page.py"
README = "server/tests/clients/test_readme.py"
BACKUP = "server/tests/clients/test_backup_page.py"
EXACT = "spark/tests/values/test_exact.py"
EXAMPLES = "tests/examples/test_examples.py"
#: Pages with a test that runs every marked block, also new ones.
WHOLE = {
    "docs/cli.md": "server/tests/cli/test_page.py",
    "docs/sql.md": LAKES,
    "docs/workers.md": GUIDE,
    "docs/workers-howto.md": GUIDE,
    "docs/workers-from-celery.md": GUIDE,
    "docs/workers-from-kafka.md": GUIDE,
}
#: Sections of other pages: how many of their blocks run, and in which test.
SECTIONS: dict[str, dict[str, dict[str, int]]] = {
    "README.md": {
        "Try it in one minute": {README: 4},
        "A lake in one more": {README: 2, LAKES: 2},
        "A worker in one more": {GUIDE: 6},
    },
    "docs/console.md": {"The console": {"console/tests/test_console_page.py": 1}},
    "docs/durability.md": {"Back up": {BACKUP: 2}},
    "docs/moving-from-redis.md": {"Can you move?": {MOVES: 1}, "After the move": {MOVES: 1}},
    "docs/operations.md": {
        "Replicas": {MOVES: 1},
        "Move from Redis to Forebay, and back": {
            "server/tests/server/replication/test_the_move.py": 3
        },
        "forebay doctor": {"server/tests/clients/test_operations_page.py": 4},
    },
    "docs/pipelines.md": {
        "Five minutes": {LAKES: 3},
        "Jobs": {LAKES: 1},
        "Typed columns": {LAKES: 1},
        "A lake is a Delta table": {LAKES: 1},
        "Nothing is lost": {LAKES: 1, EXACT: 2},
        "Watching": {LAKES: 1},
        "Looking at a lake": {LAKES: 1},
        "Starting again from a moment": {LAKES: 1},
        "Mending what was quarantined": {LAKES: 2},
        "On a cluster": {LAKES: 1},
    },
    "docs/spark.md": {
        "Spark": {LAKES: 1},
        "Avro, Protobuf or JSON in one field": {LAKES: 1},
        "Writing": {LAKES: 1},
        "Filters": {LAKES: 1},
    },
    **{
        f"examples/{page.parent.name}/README.md": {
            page.read_text().splitlines()[0].lstrip("# "): {EXAMPLES: 1}
        }
        for page in ROOT.glob("examples/*/README.md")
    },
}
NETWORK = "fetches from a registry; tests/packaging installs what is built here"
SUITE = "runs tests, which would run themselves"
MINUTES = "measures for minutes up to hours"
ENGINE = "needs a container engine"
#: Blocks that no test runs, by their beginning, and why.
EXCUSED = {
    "CONTRIBUTING.md": {
        "PYTHONPATH=server/src .venv/bin/python -m pytest": SUITE,
        "FOREBAY_PEER=/path/to/valkey-server": SUITE,
        ".venv/bin/pip install pre-commit": NETWORK,
        "def test_xfirst_of_a_missing_key_is_null": "shows a command that is not there",
        "def xfirst(ctx": "shows a command that is not there",
    },
    "bench/README.md": {
        "make bench ": MINUTES,
        "make bench-workers": MINUTES,
        "make bench-spark": MINUTES,
        "mkdir -p ~/peers": "fetches and builds a Redis",
    },
    "console/README.md": {"pip install": NETWORK},
    "docs/console.md": {"pip install": NETWORK},
    "docs/durability.md": {
        "$ forebay check": "shows what is said of a damaged file",
        "make reliability": MINUTES,
    },
    "docs/internals/testing.md": {
        "PYTHONPATH=server/src .venv/bin/python -m pytest": SUITE,
        "./runtest": "needs the sources of Redis",
    },
    "docs/releasing.md": {"make test": MINUTES, ".venv/bin/python -m pip install": NETWORK},
    "docs/spark.md": {"pip install": NETWORK},
    "docs/workers.md": {"pip install": NETWORK},
    "packaging/README.md": {
        "python3 -m venv /opt/forebay": "needs root and systemd",
        "docker build": ENGINE,
        "FOREBAY_PASSWORD=a-long-one docker compose": ENGINE,
    },
    "server/README.md": {"pip install": NETWORK},
    "spark/README.md": {
        "pip install": NETWORK,
        "from forebay_spark import session": "is the beginning of docs/spark.md, which is run",
    },
    "workers/README.md": {
        "pip install": NETWORK,
        "from dataclasses import dataclass": "is the beginning of docs/workers.md, which is run",
    },
}

#: Tests that find their blocks by content, or take all of a page.
BY_CONTENT = {EXACT, EXAMPLES}

Where = tuple[str, str]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else page.name


def copied(page: Path) -> list[Block]:
    """The blocks of commands of a page."""
    return [
        block
        for block in blocks(page)
        if block.language in MARKED or (not block.language and TYPED.match(block.text))
    ]


def is_excused(page: str, block: Block) -> bool:
    return any(block.text.lstrip().startswith(start) for start in EXCUSED.get(page, ()))


def to_run(pages: Iterable[Path]) -> Counter[Where]:
    """How many blocks of each section must be run."""
    return Counter(
        (name_of(page), block.heading)
        for page in pages
        for block in copied(page)
        if not is_excused(name_of(page), block)
        and not (name_of(page) in WHOLE and block.language in MARKED)
    )


def test_every_block_of_commands_is_run_or_excused() -> None:
    run = {
        (page, heading): sum(tests.values())
        for page, sections in SECTIONS.items()
        for heading, tests in sections.items()
    }
    assert to_run(PAGES) == run


@pytest.mark.parametrize("page", EXCUSED)
def test_what_is_excused_is_there_once(page: str) -> None:
    starts = [block.text.lstrip() for block in copied(ROOT / page)]
    for start in EXCUSED[page]:
        assert sum(text.startswith(start) for text in starts) == 1, start


@pytest.mark.parametrize("page", WHOLE)
def test_the_test_of_a_page_reads_that_page(page: str) -> None:
    assert Path(page).name in (ROOT / WHOLE[page]).read_text()


@pytest.mark.parametrize("page", SECTIONS)
def test_the_test_of_a_section_reads_it(page: str) -> None:
    for heading, tests in SECTIONS[page].items():
        for test in tests:
            source = (ROOT / test).read_text()
            assert Path(page).name in source
            assert f'"{heading}"' in source or test in BY_CONTENT, (test, heading)


def test_a_block_that_nobody_runs_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Head\n```sh\nforebay info\n```\n```python\nprint()\n```\n```console\n$ ls\n```\n"
        "    A=1 .venv/bin/forebay info\n\n    what it prints\n\n```\nforebay\n```\n"
    )
    assert to_run([page]) == {("page.md", "Head"): 4}
