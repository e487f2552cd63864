"""Pages can be found and links work: docs/index.md lists every page, no link leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.places import ROOT, SOURCES
from tools.build_site import INDEX, LINK, PAGES, sections
from tools.draw_architecture import ROOMS, drawing


def prose(page: Path) -> str:
    """The text of a page without its blocks of code and without `quoted` code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]+`", "", text)


def anchors(page: Path) -> set[str]:
    """The anchors of the page for links: its headings as GitHub spells them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def dead_links(page: Path) -> Iterator[str]:
    """The links of a page to a file or a heading that is not there."""
    for _, link in LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert list(dead_links(page)) == []


def test_the_index_lists_every_page_once() -> None:
    """Under its headings, which are the site's navigation; before them pages may be repeated."""
    listed = [page for entries in sections().values() for _, page in entries]
    assert sorted(listed) == sorted(page for page in PAGES if page != INDEX)


def test_a_dead_link_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One Head\n[a](nowhere.md) [b](#one-head) [c](page.md#two) [d](https://example.org)\n"
        "```\n[e](code.md)\n```\n"
    )
    assert list(dead_links(page)) == ["nowhere.md", "page.md#two"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_the_picture_exists_and_is_drawn(room: str) -> None:
    (path,) = [folder / room for folder in SOURCES if (folder / room).exists()]
    assert re.search(rf"\b{path.stem}{'/' if path.is_dir() else ''}(?!\w)", drawing())
