"""The manifest: those of Redis are read, and broken ones are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.errors import CorruptDataError
from forebay.persistence.aof.manifest import Entry, Manifest, format_manifest, parse_manifest

BY_REDIS = (
    b"file appendonly.aof.2.base.rdb seq 2 type b\n"
    b"file appendonly.aof.1.base.rdb seq 1 type h\n"
    b"file appendonly.aof.1.incr.aof seq 1 type h\n"
    b"file appendonly.aof.3.incr.aof seq 3 type i\n"
    b"file appendonly.aof.4.incr.aof seq 4 type i\n"
)


def parse(text: bytes) -> Manifest:
    return parse_manifest(text, "dir/m")


def test_what_redis_wrote_is_understood() -> None:
    manifest = parse(BY_REDIS)
    assert manifest.base == Entry("appendonly.aof.2.base.rdb", 2, "b")
    assert [entry.seq for entry in manifest.increments] == [3, 4]
    assert [entry.name for entry in manifest.history] == [
        "appendonly.aof.1.base.rdb",
        "appendonly.aof.1.incr.aof",
    ]
    assert manifest.loaded() == [manifest.base, *manifest.increments]
    assert manifest.last() == Entry("appendonly.aof.4.incr.aof", 4, "i")
    assert (manifest.base_seq, manifest.increment_seq) == (2, 4)


def test_what_was_written_reads_back() -> None:
    manifest = parse(BY_REDIS)
    text = format_manifest(manifest)
    assert text.startswith(BY_REDIS)
    again = parse(text)
    assert (again.base, again.increments) == (manifest.base, manifest.increments)
    assert again.history == manifest.history


def test_every_flipped_bit_of_ours_is_noticed() -> None:
    text = format_manifest(parse(BY_REDIS))
    for at in range(len(BY_REDIS)):
        for bit in (at % 8, (at + 5) % 8):
            damaged = bytearray(text)
            damaged[at] ^= 1 << bit
            with pytest.raises(CorruptDataError, match="dir/m"):
                parse(bytes(damaged))


@given(st.text(min_size=1).filter(lambda name: "/" not in name and "\0" not in name))
def test_any_name_reads_back(name: str) -> None:
    if name in (".", "..") or len(name.encode("utf-8", "surrogatepass")) > 200:
        return
    raw = name.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    manifest = Manifest()
    manifest.increments = [Entry(raw, 1, "i")]
    assert parse(format_manifest(manifest)).increments == manifest.increments


def test_words_nobody_knows_and_comments_are_left_alone() -> None:
    text = b"# made by hand\nfile a.aof seq 1 type i colour blue\n  FILE b.aof SEQ 2 TYPE i\r\n"
    assert [entry.name for entry in parse(text).increments] == ["a.aof", "b.aof"]


def test_a_name_in_quotes_is_taken_out_of_them() -> None:
    text = b"file \"my \\\"log\\x41.aof\" seq 1 type b\nfile 'it\\'s.aof' seq 1 type i\n"
    manifest = parse(text)
    assert manifest.base is not None and manifest.base.name == 'my "logA.aof'
    assert manifest.increments[0].name == "it's.aof"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "no file is named"),
        (b"# nothing\n", "no file is named"),
        (b"\n", "pairs"),
        (b"file a seq 1 type b", "no end"),
        (b"file a seq 1\n", "pairs"),
        (b"file a seq 1 type b extra\n", "pairs"),
        (b"file a seq 1 type b\nfile b seq 2 type b\n", "line 2: a second base"),
        (b"file a seq 2 type i\nfile b seq 2 type i\n", "do not rise"),
        (b"file a seq 2 type i\nfile b seq 1 type i\n", "do not rise"),
        (b"file a seq 0 type i\n", "seq"),
        (b"file a seq -1 type i\n", "seq"),
        (b"file a seq x type i\n", "seq"),
        (b"file a seq 99999999999999999999 type i\n", "seq"),
        (b"file a seq 1 type x\n", "type"),
        (b"file a seq 1 type bb\n", "type"),
        (b"file ../a seq 1 type b\n", "file name"),
        (b"file /etc/passwd seq 1 type b\n", "file name"),
        (b"file .. seq 1 type b\n", "file name"),
        (b'file "\\x00" seq 1 type b\n', "file name"),
        (b'file "\\x2e\\x2e\\x2fa" seq 1 type b\n', "file name"),
        (b'file "a seq 1 type b\n', "quotes"),
        (b"file " + b"a" * 2000 + b" seq 1 type b\n", "too long"),
        (b"seq 1 type b seq 2 type b\n", "file name"),
        (b"\xff\xfe\0\0garbage", "no end"),
        (b"\xff\xfe\0\0garbage\n", "pairs"),
    ],
)
def test_what_breaks_the_rules_is_refused_with_its_line(text: bytes, reason: str) -> None:
    with pytest.raises(CorruptDataError, match=reason):
        parse(text)


@given(st.binary(max_size=120))
def test_garbage_is_a_manifest_or_a_clear_error(text: bytes) -> None:
    message = ""
    try:
        parse(text)
    except CorruptDataError as error:
        message = str(error)
    assert message == "" or message.startswith("the manifest dir/m is not usable: line ")


def test_a_copy_changes_for_itself() -> None:
    manifest = parse(BY_REDIS)
    copy = manifest.copy()
    copy.retire(copy.increments)
    copy.increments = []
    assert len(manifest.increments) == 2 and len(manifest.history) == 2
    assert [entry.kind for entry in copy.history] == ["h"] * 4


def test_numbers_of_history_are_not_given_again() -> None:
    manifest = parse(b"file a.9.base.rdb seq 9 type h\nfile b seq 3 type i\n")
    assert manifest.base_seq == 9
    assert manifest.increment_seq == 9
