"""docs/console.md as a reader copies it: the console's page is there after one block."""

from __future__ import annotations

from pathlib import Path

from testkit.pages import blocks
from testkit.places import ROOT
from testkit.reader import paste, script_of
from testkit.servers import free_port

PAGE = ROOT / "docs" / "console.md"
#: Asks for the page, as a browser would.
LOOK = "import sys, urllib.request as web; print(web.urlopen(sys.argv[1]).read().decode())"


def test_the_page_is_there_after_the_first_block(tmp_path: Path) -> None:
    (block,) = [b for b in blocks(PAGE) if b.language == "sh" and b.heading == "The console"]
    port = free_port()
    script = script_of([block]).replace("8001", str(port))
    look = (
        f'until python -c "{LOOK}" http://127.0.0.1:{port}/ > seen 2>/dev/null\n'
        "do kill -0 %2; sleep 0.1; done; cat seen\n"
        "kill %2; wait %2 || true; redis-cli SHUTDOWN; wait\n"
    )
    assert "<title>Forebay" in paste(script + look, tmp_path)
    assert f"http://127.0.0.1:{port}/" in (tmp_path / "console.log").read_text()
