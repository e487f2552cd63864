"""Build the documentation as a site: `make site` writes it to build/site, without a network.

The pages are written for the repository, where a link leads from file to file.  The site has
docs/ at its top, and files outside of docs/ in a separate folder:

    docs/cli.md                       cli.html
    docs/formats/aof.md               formats/aof.html
    README.md                         project/index.html
    examples/job_queue/README.md      project/examples/job_queue/index.html
    examples/job_queue/__main__.py    project/examples/job_queue/__main__.py.html, a page of code

So each page is copied to build/pages with its links changed to the new places, together with the
pictures and programs that it links to.  docs/index.md lists every page under a heading; that
list is the navigation.  Zensical makes the HTML; its warnings are errors.  Settings are in
site.toml.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
SETTINGS = ROOT / "tools" / "site.toml"
#: Every page of the documentation, in any folder.
PAGES = [
    *sorted(ROOT.glob("*.md")),
    ROOT / "bench/README.md",
    ROOT / "packaging/README.md",
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted(DOCS.rglob("*.md")),
]
#: A link or a picture: its text and its target.
LINK = re.compile(r"\[([^][]*)\]\(([^()\s]+)\)")


def sections() -> dict[str, list[tuple[str, Path]]]:
    """The titles and pages under each heading of the index."""
    _, *parts = re.split(r"^## ", INDEX.read_text(), flags=re.MULTILINE)
    found = {}
    for part in parts:
        heading, _, text = part.partition("\n")
        found[heading] = [(title, (DOCS / link).resolve()) for title, link in LINK.findall(text)]
    return found


def place_of(path: Path) -> Path:
    """Where a file of the repository is in the site."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    name = "index.md" if path.name == "README.md" else path.name.lower()
    place = Path("project") / path.relative_to(ROOT).with_name(name)
    return place.with_name(f"{name}.md") if path.suffix == ".py" else place


def turned(page: Path) -> tuple[str, set[Path]]:
    """The text of a page with the links of the site, and all files that it links to."""
    linked: set[Path] = set()

    def turn(found: re.Match[str]) -> str:
        path, hash_sign, anchor = found[2].partition("#")
        target = (page.parent / path).resolve()
        if not path or "://" in path or not target.is_file():
            return found[0]
        linked.add(target)
        link = os.path.relpath(place_of(target), place_of(page).parent)
        return f"[{found[1]}]({link}{hash_sign}{anchor})"

    return LINK.sub(turn, page.read_text()), linked


def collect(pages: Path) -> None:
    """Write every page, and every linked file, to its place."""
    others: set[Path] = set()
    for page in PAGES:
        text, linked = turned(page)
        write(pages / place_of(page), text)
        others |= linked - set(PAGES)
    for path in others:
        if path.suffix == ".py":
            code = f"# {path.relative_to(ROOT)}\n\n```python\n{path.read_text()}```\n"
            write(pages / place_of(path), code)
        else:
            (pages / place_of(path)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, pages / place_of(path))


def write(path: Path, text: str) -> None:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def settings() -> str:
    """The settings with the navigation in them; JSON is YAML, which the builder reads."""
    project = tomllib.loads(SETTINGS.read_text())["project"]
    listed = [
        {heading: [{title: str(place_of(page))} for title, page in entries]}
        for heading, entries in sections().items()
    ]
    return json.dumps({**project, "nav": [{"Start here": "index.md"}, *listed]}, indent=1)


def build(folder: Path) -> None:
    """The site in ``folder/site``, from copies of the pages in ``folder/pages``."""
    for name in ("pages", "site"):
        shutil.rmtree(folder / name, ignore_errors=True)
    collect(folder / "pages")
    write(folder / "mkdocs.yml", settings())
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    result = subprocess.run(
        [*command, "-f", str(folder / "mkdocs.yml")], cwd=folder, capture_output=True, text=True
    )
    if result.returncode:
        sys.exit(result.stdout + result.stderr)


if __name__ == "__main__":
    build(ROOT / "build")
    print("the site is in build/site; open build/site/index.html")
