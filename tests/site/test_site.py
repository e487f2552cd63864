"""The documentation as a site: built without a network, complete, and read in a browser."""

from __future__ import annotations

import functools
import re
import shutil
import threading
from collections.abc import Iterator
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from testkit.browser import Browser, Chromium
from testkit.waiting import wait_until
from tools import build_site
from tools.generate_docs import PAGES as GENERATED

#: Addresses that a browser fetches by itself; a link waits for a click.
FETCHED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=\"?([^\s\">]+)")
STYLED = re.compile(r"(?:url\(|@import )[\"']?(?!data:)([^\"')]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    build_site.build(folder)
    return folder / "site"


@pytest.fixture
def page(site: Path, browser: Chromium) -> Iterator[Browser]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with browser.page(server.server_address[1]) as found:
            yield found
            assert found.complaints() == []
        server.shutdown()


def html_of(site: Path, page: Path) -> Path:
    return site / build_site.place_of(page).with_suffix(".html")


def test_every_page_is_there_and_in_the_navigation(site: Path) -> None:
    front = (site / "index.html").read_text()
    assert set(GENERATED) - {build_site.DOCS / "architecture.svg"} < set(build_site.PAGES)
    for page in build_site.PAGES:
        assert html_of(site, page).is_file(), page
        place = build_site.place_of(page).with_suffix(".html")
        assert re.search(rf'<a href="(\./)?{place}" class="md-nav__link', front), page


def test_what_is_fetched_is_there_and_not_on_another_host(site: Path) -> None:
    fetched = [
        (path, link)
        for ending, pattern in ((".html", FETCHED), (".css", STYLED))
        for path in site.rglob(f"*{ending}")
        for link in pattern.findall(path.read_text())
    ]
    assert len(fetched) > len(build_site.PAGES)
    # The page for missing addresses may be shown anywhere, so its links begin at the top.
    far = [link for path, link in fetched if "//" in link or not (path.parent / link).is_file()]
    assert [link for link in far if not (site / link.lstrip("/")).is_file()] == []


def test_what_looks_like_a_list_or_a_table_became_one(site: Path) -> None:
    """The builder needs a blank line before a list and four blanks in it; code hosts do not."""
    for path in site.rglob("*.html"):
        code_left_out = re.sub(r"<(pre|code)\b.*?</\1>", "", path.read_text(), flags=re.DOTALL)
        for text in re.findall(r"<(?:p|li)>(.*?)</(?:p|li)>", code_left_out, re.DOTALL):
            read = unescape(re.sub(r"<[^>]+>", "", text))
            assert not re.search(r"^ *(?:[-*]|\d+\.) |^\| |```|\*\*|\]\(", read, re.MULTILINE), read


def test_links_lead_out_of_docs_and_to_programs(site: Path) -> None:
    index, example = site / "index.html", site / "project/examples/job_queue"
    assert 'href="project/index.html#try-it-in-one-minute"' in index.read_text()
    assert 'href="__main__.py.html"' in (example / "index.html").read_text()
    assert "forebay_workers" in (example / "__main__.py.html").read_text()
    assert "architecture.svg" in (site / "project/architecture.html").read_text()
    assert (site / "architecture.svg").is_file()


def test_a_link_that_leads_nowhere_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(build_site.DOCS, docs)
    (docs / "clients.md").write_text("# One\n\n[a](nowhere.md)\n\n[b](cli.md#nowhere)\n")
    pages = [docs / page.relative_to(build_site.DOCS) for page in docs_pages()]
    monkeypatch.setattr(build_site, "ROOT", tmp_path)
    monkeypatch.setattr(build_site, "DOCS", docs)
    monkeypatch.setattr(build_site, "PAGES", pages)
    with pytest.raises(SystemExit, match=r"(?s)clients\.md:3.*clients\.md:5"):
        build_site.build(tmp_path / "build")


def docs_pages() -> list[Path]:
    return [page for page in build_site.PAGES if page.is_relative_to(build_site.DOCS)]


def test_a_reader_searches_and_turns_to_dark_without_another_host(page: Browser) -> None:
    page.go("index.html")
    page.see("Start here", "Tutorials", "Moving from Redis")
    page.click("label[title='Switch to dark']")
    assert page.find("body").get_attribute("data-md-color-scheme") == "slate"
    page.click(".md-search__button")
    page.driver.switch_to.active_element.send_keys("idempotent producer")
    wait_until("the search finds a page", lambda: "configuration.html" in found_links(page))
    loaded = page.driver.execute_script(
        "return performance.getEntriesByType('resource').map(one => one.name)"
    )
    assert loaded and all(name.startswith("http://127.0.0.1:") for name in loaded), loaded


def found_links(page: Browser) -> str:
    """The targets of search results; they are in a shadow tree, and drawn again each time."""
    links = "document.activeElement.shadowRoot.querySelectorAll('a')"
    return str(page.driver.execute_script(f"return [...{links}].map(one => one.href).join(' ')"))
