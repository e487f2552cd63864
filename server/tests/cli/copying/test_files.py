"""``forebay copy`` to files and back: NDJSON keeps every bit, CSV is for tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from server.tests.support.lines import Lines, feed
from testkit.servers import ServerProcess

#: A file needs only one server; two of the pairs cover both kinds.
pytestmark = pytest.mark.parametrize("pair", ["forebay > redis", "redis > forebay"], indirect=True)


@pytest.fixture
def stream(cli: Lines) -> Lines:
    """Entries of all kinds."""
    cli.ask("XADD", "s", "1-0", "item", "tea", "price", "3.20")
    cli.ask("XADD", "s", "2-0", "item", 'milk, "fresh"\nand cold', "note", "")
    cli.ask("XADD", "s", "3-0", "item", b"\xff", "item", "twice", b"\xfe", "x")
    cli.ask("XADD", "s", "4-5", "id", "of another kind", "_more", "or less")
    return cli


def entries(cli: Lines, stream: str) -> list[list[object]]:
    found: list[list[object]] = cli.ask("XRANGE", stream, "-", "+")
    return found


@pytest.mark.parametrize("suffix", ["ndjson", "jsonl"])
def test_ndjson_keeps_every_bit(suffix: str, stream: Lines, tmp_path: Path) -> None:
    path = tmp_path / f"s.{suffix}"
    assert stream("copy", "s", path).startswith(f"copied 4 entries of s to {path} in ")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"id": "1-0", "fields": {"item": "tea", "price": "3.20"}}
    assert stream("copy", path, "t").startswith(f"copied 4 entries of {path} to t at ")
    assert entries(stream, "t") == entries(stream, "s")


def test_csv_has_a_column_for_each_field_and_loses_nothing_but_order(
    stream: Lines, tmp_path: Path
) -> None:
    path = tmp_path / "s.csv"
    stream("copy", "s", path)
    assert path.read_text().splitlines()[:2] == ["id,item,price,note,_more", "1-0,tea,3.20,,"]
    stream("copy", path, "t")
    for ours, theirs in zip(entries(stream, "s"), entries(stream, "t"), strict=True):
        assert ours[0] == theirs[0]
        assert pairs(ours[1]) == pairs(theirs[1])


def pairs(words: object) -> list[tuple[bytes, bytes]]:
    assert isinstance(words, list)
    return sorted(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
def test_a_file_goes_on_after_its_last_whole_line(
    suffix: str, stream: Lines, tmp_path: Path
) -> None:
    path, whole = tmp_path / f"s.{suffix}", tmp_path / f"whole.{suffix}"
    stream("copy", "s", whole)
    path.write_bytes(whole.read_bytes()[:-7])
    (facts,) = stream.objects("copy", "s", path)
    assert facts["copied"] == 1 and path.read_bytes() == whole.read_bytes()
    (facts,) = stream.objects("copy", "s", path)
    assert facts["copied"] == 0


def test_a_file_of_another_stream_is_refused(stream: Lines, tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text('{"id": "1-0", "fields": {"item": "coffee"}}\n')
    assert "1-0, has other fields in s" in stream.refused("copy", "s", path)


@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
def test_a_stream_goes_on_where_a_file_was_stopped(
    suffix: str, stream: Lines, tmp_path: Path
) -> None:
    path = tmp_path / f"s.{suffix}"
    stream("copy", "s", path)
    stream("copy", path, "t")
    stream.ask("XTRIM", "t", "MAXLEN", 0)
    stream.ask("DEL", "t")
    stream.ask("XADD", "t", "2-0", "a", "b")
    (facts,) = stream.objects("copy", path, "t")
    assert (facts["copied"], facts["skipped"]) == (2, 2)
    (facts,) = stream.objects("copy", path, "t")
    assert (facts["copied"], facts["skipped"]) == (0, 4)
    stream.ask("DEL", "t")
    stream.ask("XADD", "t", "2-1", "a", "b")
    told = stream.refused("copy", path, "t")
    assert "its newest, 2-1, is not in" in told and "--append" in told
    stream("copy", path, "t", "--append")
    assert stream.ask("XLEN", "t") == 3


def test_entries_without_ids_get_new_ones(cli: Lines, tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("item,price\ntea,3.20\nmilk,\n")
    cli("copy", path, "t")
    assert [words for _, words in entries(cli, "t")] == [
        [b"item", b"tea", b"price", b"3.20"],
        [b"item", b"milk"],
    ]


def test_pipes_in_and_out(stream: Lines, pair: tuple[ServerProcess, ServerProcess]) -> None:
    out = feed(["copy", "s", "-"], b"", pair[0])
    assert out.returncode == 0 and len(out.stdout.splitlines()) == 4
    assert out.stderr.startswith(b"copied 4 entries of s to - in ")
    back = feed(["copy", "-", "t"], out.stdout, pair[0])
    assert back.returncode == 0, back.stderr
    assert entries(stream, "t") == entries(stream, "s")
    table = feed(["copy", "s", "-", "--format", "csv"], b"", pair[0])
    assert table.stdout.startswith(b"id,item,price,note,_more\n1-0,tea,3.20,,\n")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("s.ndjson", '{"id": "1-0", "fields": {"a": "b"}}\n{\n', "line 2 of"),
        ("s.ndjson", '{"id": "first", "fields": {"a": "b"}}\n', "an ID that is not valid: first"),
        ("s.csv", "id,a\n1-0,b\n2-0\n", "line 3 of"),
        ("s.csv", "id,a,_more\n1-0,b,{\n", "_more holds no JSON"),
        ("s.csv", "id,a\n1-0,\n", "no fields, and an entry needs one"),
    ],
)
def test_a_line_that_is_wrong_is_named(
    name: str, text: str, told: str, cli: Lines, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert told in cli.refused("copy", path, "t")


def test_a_file_that_cannot_be_read_or_written_is_told(stream: Lines, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "s.csv"
    assert (
        stream.refused("copy", nowhere, "t") == f"cannot read {nowhere}: No such file or directory"
    )
    assert stream.refused("copy", "s", nowhere).startswith(f"cannot write {nowhere}: No such file")
