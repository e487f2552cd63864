"""Heads, comments and pages name only things that exist; support/mentions.py checks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testkit.places import ROOT
from tests.support.foreign_mentions import EXAMPLE_FILES, FOREIGN
from tests.support.mentions import files, known, missing, module_text, page_text

PAGES = sorted(ROOT / name[1:] for name in files() if name.endswith(".md"))
MODULES = sorted(ROOT / name[1:] for name in files() if name.endswith(".py"))
#: Files that mention missing names: the check itself.
ABOUT_NAMES = {ROOT / "tests/tidy/test_names.py", ROOT / "tests/support/foreign_mentions.py"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert missing(page_text(page)) == []


@pytest.mark.parametrize("path", sorted({*MODULES} - ABOUT_NAMES), ids=name_of)
def test_what_a_module_names_in_its_words_is_there(path: Path) -> None:
    assert missing(module_text(path.read_text())) == []


@pytest.mark.parametrize(
    "name",
    [
        "commands/nowhere.py",
        "`nowhere.py`",
        "`docs/nowhere.md`",
        "`engine/blocking.py` and engine/nowhere.py",
        "`engine.nowhere`",
        "`mem.nowhere(1)`",
        "`ctx.nowhere`",
        "`--nowhere`",
        "`forebay check --nowhere`",
        "`make nowhere`",
        "`make bench NOWHERE=1`",
        "`appendnowhere yes`",
        "`nowhere-max-len`",
        "``aof_nowhere``",
        "`nowhereOnDataLoss`",
        "`NoOption` and `XNOWHERE key`",
        "`XGROUP MADEUP`",
        "a quotation `over two\n    lines_nowhere`",
    ],
)
def test_a_made_up_name_is_found(name: str) -> None:
    assert len(missing(f"See {name}, which is not there.")) == 1


@pytest.mark.parametrize(
    "name",
    [
        "commands/streams/xadd.py",
        "`resp_writer.py`",
        "``mem.wrap``",
        "`ctx.effects`",
        "`--appendonly`",
        "`forebay check --fix PATH`",
        "`make bench QUICK=1`",
        "`appendfsync always`",
        "`XGROUP CREATE key group $ MKSTREAM`",
        "`failOnDataLoss=false`",
        "`<file>.corrupt-<offset>`",
        "`/var/lib/forebay`",
    ],
)
def test_a_name_of_something_that_is_there_is_not(name: str) -> None:
    assert missing(f"See {name}.") == []


def test_make_in_a_block_of_a_page_is_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Run\n\n    make nowhere QUICK=1     in two minutes\n")
    assert missing(page_text(page)) == ["make nowhere"]


def test_a_head_does_not_vouch_for_itself() -> None:
    assert missing(module_text('"""Uses ``made_up_here``."""\n# and `made_up_there`\n')) == [
        "made_up_here",
        "made_up_there",
    ]


def test_no_word_is_listed_as_foreign_that_is_ours() -> None:
    assert FOREIGN & known().words == set()
    assert {name for name in EXAMPLE_FILES if f"/{name}" in files()} == set()
