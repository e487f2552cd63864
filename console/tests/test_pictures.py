"""The pictures of the console can be made, and those that the pages show exist, small and few."""

from __future__ import annotations

from pathlib import Path

from console.tests.support.pictures import FOLDER, KEPT, VIEWS, take_pictures
from testkit.places import ROOT

#: Pictures are not text, and stay in the history of the repository for ever.
MOST_PICTURES, MOST_BYTES = 4, 80_000


def test_every_view_becomes_a_picture(tmp_path: Path) -> None:
    take_pictures(tmp_path, VIEWS, open_s=0.5, share=0.01)
    assert {path.stem for path in tmp_path.iterdir()} == {*VIEWS}
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert data[:4] == b"RIFF" and data[8:12] == b"WEBP"
        assert 10_000 < len(data) < MOST_BYTES, path.name


def test_kept_pictures_are_few_and_small_and_the_pages_show_each() -> None:
    kept = sorted(FOLDER.iterdir())
    assert [path.name for path in kept] == sorted(f"{name}.webp" for name in KEPT)
    assert len(kept) <= MOST_PICTURES
    pages = (ROOT / "README.md").read_text() + (ROOT / "docs/console.md").read_text()
    for path in kept:
        assert path.stat().st_size < MOST_BYTES
        assert f"pictures/{path.name})" in pages
