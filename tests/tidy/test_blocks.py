"""Who runs what a reader copies: a page with blocks of the shell has a test that pastes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from testkit.pages import blocks
from testkit.places import ROOT
from tools.build_site import PAGES

GUIDE = "workers/tests/docs/test_guide.py"
LAKES = "spark/tests/pipeline/test_pages.py"
MOVES = "server/tests/clients/test_move_page.py"
EXAMPLES = "tests/examples/test_examples.py"
RUN_BY = {
    "README.md": ("server/tests/clients/test_readme.py", GUIDE, LAKES),
    "docs/cli.md": ("server/tests/cli/test_page.py",),
    "docs/console.md": ("console/tests/test_console_page.py",),
    "docs/durability.md": ("server/tests/clients/test_backup_page.py",),
    "docs/moving-from-redis.md": (MOVES,),
    "docs/operations.md": ("server/tests/server/replication/test_the_move.py", MOVES),
    "docs/pipelines.md": (LAKES,),
    "docs/sql.md": (LAKES, "spark/tests/query/test_sql_page.py"),
    "docs/workers.md": (GUIDE,),
    "docs/workers-howto.md": (GUIDE,),
    "docs/workers-from-celery.md": (GUIDE,),
    "docs/workers-from-kafka.md": (GUIDE,),
    **{
        f"examples/{page.parent.name}/README.md": (EXAMPLES,)
        for page in ROOT.glob("examples/*/*.md")
    },
}
#: Blocks that need root, systemd or a container engine; tests/packaging looks at their files.
NOT_RUN = {"packaging/README.md"}


def test_every_page_with_a_block_to_copy_has_a_test() -> None:
    copied = {page for page in PAGES if any(block.language == "sh" for block in blocks(page))}
    assert {str(page.relative_to(ROOT)) for page in copied} == {*RUN_BY, *NOT_RUN}


@pytest.mark.parametrize("page", RUN_BY)
def test_the_test_of_a_page_reads_that_page(page: str) -> None:
    for test in RUN_BY[page]:
        assert Path(page).name in (ROOT / test).read_text()
