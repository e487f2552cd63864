"""The bench names the server that it measured against, and its pages agree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.peers import identity, use_peer
from bench.report import END, README_ROWS, ROOT, SHOWN, START, Line, for_readme, peer_of, table


@pytest.mark.parametrize(
    ("info", "found"),
    [
        (b"# Server\r\nredis_version:8.6.3\r\n", ("redis", "8.6.3")),
        (b"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n",
         ("valkey", "9.1.2")),
        (b"redis_version:8.10.0\r\nforebay_version:0.1.0\r\n", ("forebay", "0.1.0")),
        (b"+OK\r\n", ("server", "?")),
    ],
)  # fmt: skip
def test_a_server_is_known_by_its_own_name_and_version(info: bytes, found: tuple[str, str]) -> None:
    assert identity(info) == found


def test_the_table_names_the_server_in_its_head() -> None:
    peer = peer_of({"cpu": "x", "valkey": "9.1.2", "forebay": "0.1.0"})
    assert table([Line("XLEN", "ops", 1.0, 2.0, 1.0, 1.0)], peer)[0].startswith(
        "| work | Valkey 9.1.2 | Forebay | ratio | CPU per operation, Valkey 9.1.2 / Forebay |"
    )


def test_another_server_takes_the_place_of_redis_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOREBAY_PEER", "")
    program = tmp_path / "some-server"
    with pytest.raises(SystemExit, match="no server program at"):
        use_peer(str(program))
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    use_peer(str(program))
    assert os.environ["FOREBAY_PEER"] == str(program.resolve())


def line(name: str, ratio: float, *, smaller_is_better: bool = False) -> Line:
    return Line(name, "ops", 1.0, ratio, 1.0, 1.0, smaller_is_better)


def test_the_readme_has_the_named_rows_and_the_weakest_of_the_others() -> None:
    named = [line(name, 0.1) for name in SHOWN]
    weak = [line("slow", 0.9), line("large", 1.5, smaller_is_better=True), line("late", 1.0)]
    good = [line("fast", 3.0), line("small", 0.2, smaller_is_better=True)]
    assert for_readme([*good, *named, *weak]) == [*named, *weak]


def test_the_readme_shows_rows_of_the_page_of_measurements() -> None:
    short, whole = (shown(name) for name in ("README.md", "docs/measurements.md"))
    assert len(short) == README_ROWS
    assert [row for row in whole if row in short] == short
    assert {row[0] for row in short} >= set(SHOWN)


def shown(page: str) -> list[list[str]]:
    """The first four cells of each row between the markers of a page."""
    table = (ROOT / page).read_text().partition(START)[2].partition(END)[0]
    rows = [one.strip("|").split("|") for one in table.splitlines() if one.startswith("| ")]
    return [[cell.strip() for cell in row[:4]] for row in rows[1:]]
