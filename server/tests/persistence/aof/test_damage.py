"""AOFs with unfinished ends, and damaged AOFs: which bytes are cut, and what stops the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.errors import CorruptDataError
from forebay.persistence.files import Disk
from server.tests.support.aof_files import (
    FOLDER,
    ONE,
    THREE,
    TWO,
    Notes,
    aof_in_memory,
    command,
    content_of,
    increment,
    load,
    prefixes,
    reopen,
    seal_all,
    transaction,
    units,
    write_aof,
)
from testkit.forgetful_disk import ForgetfulDisk

FOUR = command("SET", "k", b"x" * 110)
UNITS = (ONE, TWO, THREE, FOUR)


def copies(disk: ForgetfulDisk) -> dict[int, bytes]:
    """The bytes that were put aside: offset -> bytes."""
    found = {}
    for path, data in disk.files().items():
        if ".corrupt-" in path:
            found[int(path.rpartition("-")[2])] = data
    return found


# Unfinished ends


@pytest.mark.parametrize("marks", [{}, {1: 0, 2: 15, 3: 15}])
def test_a_sealed_aof_cut_at_any_byte_loads_up_to_the_last_seal(
    marks: dict[int, int],
) -> None:
    text = seal_all(*UNITS, marks=marks)
    states = prefixes(UNITS)
    ends = [text.index(unit) + len(unit) + 15 for unit in UNITS]
    for cut in range(len(text)):
        disk = aof_in_memory(text[:cut])
        whole = sum(end <= cut for end in ends)
        content, aof = reopen(disk, "data")
        assert content == states[whole], cut
        assert len(copies(disk)) <= 1
        for offset, kept in copies(disk).items():
            assert kept == text[offset:cut]
        aof.append(*units(FOUR))
        aof.close()
        notes = Notes()
        assert load(disk, "data", notes)[0] == content + FOUR, cut
        assert notes == [], cut


def test_an_aof_of_redis_cut_at_any_byte_loads_up_to_the_last_whole_unit() -> None:
    parts = (command("SELECT", 0), ONE, TWO, FOUR)
    text = b"".join(parts)
    for cut in range(len(text)):
        disk = aof_in_memory(text[:cut])
        content, aof = reopen(disk, "data")
        states = [state for state in prefixes(parts) if len(state) <= cut]
        assert content in (states[-1], states[-1] + command("SELECT", 0)), cut
        aof.append(*units(FOUR))
        aof.close()
        assert load(disk, "data")[0] == content + FOUR, cut


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\0" * 17, b"garbage\r\n" * 40, b"*3\r\n$9\r\nno"])
@pytest.mark.parametrize("is_sealed", [True, False])
def test_zeros_and_garbage_at_the_end_are_cut_and_kept(
    tmp_path: Path, tail: bytes, is_sealed: bool
) -> None:
    good = seal_all(ONE, TWO) if is_sealed else ONE + TWO
    (path,) = write_aof(tmp_path, good + tail)
    notes = Notes()
    assert content_of(tmp_path, notes) == ONE + TWO
    assert path.read_bytes() == good
    copy = Path(f"{path}.corrupt-{len(good)}")
    assert copy.read_bytes() == tail
    assert len(notes) == 1 and str(len(good)) in notes[0] and str(copy) in notes[0]


def test_a_second_cut_at_the_same_place_does_not_overwrite_the_first_copy(tmp_path: Path) -> None:
    good = seal_all(ONE)
    for tail in (b"first", b"second"):
        (path,) = write_aof(tmp_path, good + tail)
        content_of(tmp_path)
    assert Path(f"{path}.corrupt-{len(good)}").read_bytes() == b"first"
    assert Path(f"{path}.corrupt-{len(good)}.2").read_bytes() == b"second"


def test_an_unfinished_transaction_is_rolled_back(tmp_path: Path) -> None:
    open_end = command("MULTI") + command("SET", "k", "v")
    (path,) = write_aof(tmp_path, seal_all(ONE) + open_end)
    notes = Notes()
    assert content_of(tmp_path, notes) == ONE
    assert "MULTI without EXEC" in notes[0]
    assert path.read_bytes() == seal_all(ONE)


def test_aof_load_truncated_no_refuses_an_unfinished_end(tmp_path: Path) -> None:
    text = seal_all(ONE, TWO)[:-20]
    (path,) = write_aof(tmp_path, text)
    with pytest.raises(CorruptDataError, match="aof-load-truncated is no"):
        load(Disk(), str(tmp_path), truncated_ok=False)
    assert path.read_bytes() == text
    assert not list((tmp_path / FOLDER).glob("*.corrupt-*"))


@pytest.mark.parametrize("last", [seal_all(), seal_all(THREE)])
def test_only_the_last_file_may_be_unfinished(tmp_path: Path, last: bytes) -> None:
    torn = seal_all(ONE, TWO)[:-20]
    write_aof(tmp_path, seal_all(FOUR), torn)
    assert content_of(tmp_path) == FOUR + ONE
    # Empty ones do not count: the first line says that all before was synced.
    write_aof(tmp_path, torn, b"", b"")
    assert content_of(tmp_path) == ONE
    write_aof(tmp_path, torn, last)
    with pytest.raises(CorruptDataError, match="not the last file of the AOF"):
        content_of(tmp_path)


# Damage


@pytest.mark.parametrize("bit", range(8))
def test_a_flip_of_any_bit_is_never_loaded_as_if_nothing_had_happened(bit: int) -> None:
    text = seal_all(*UNITS, marks={2: 60})
    states = prefixes(UNITS)
    refused = cut = 0
    for at in range(len(text)):
        damaged = bytearray(text)
        damaged[at] ^= 1 << bit
        disk = aof_in_memory(bytes(damaged))
        try:
            content, _ = load(disk, "data")
        except CorruptDataError as error:
            refused += 1
            message = str(error)
            assert increment(1) in message and "offset" in message
            assert disk.read(increment(1)) == damaged
        else:
            cut += 1
            # Everything is there only if the damage hit just a seal: the first, or the last.
            assert content in states, (at, bit)
            assert content != states[-1] or at < 15 or at >= len(text) - 15, (at, bit)
    assert refused > 0 and cut > 0


def test_lost_pages_that_were_never_synced_are_cut_although_good_records_follow(
    tmp_path: Path,
) -> None:
    commands = [command("XADD", "s", f"{i}-1", "f", "v" * 60) for i in range(1, 400)]
    text = bytearray(seal_all(*commands, marks={10: 900}))
    text[8192:12288] = bytes(4096)
    (path,) = write_aof(tmp_path, bytes(text))
    content = content_of(tmp_path)
    whole = b"".join(commands)
    assert whole.startswith(content) and 6000 < len(content) < 8192
    assert path.stat().st_size <= 8192


def test_lost_pages_before_a_mark_stop_the_start(tmp_path: Path) -> None:
    commands = [command("XADD", "s", f"{i}-1", "f", "v" * 60) for i in range(1, 400)]
    text = bytearray(seal_all(*commands, marks={390: 30000}))
    text[8192:12288] = bytes(4096)
    (path,) = write_aof(tmp_path, bytes(text))
    with pytest.raises(CorruptDataError, match="it was safe on the disk"):
        content_of(tmp_path)
    assert path.read_bytes() == text


def test_a_lost_page_inside_the_only_unit_is_cut(tmp_path: Path) -> None:
    large = command("SET", "k", b"x" * 20000)
    text = bytearray(seal_all(large))
    text[4096:8192] = bytes(4096)
    write_aof(tmp_path, bytes(text))
    assert content_of(tmp_path) == b""


def test_a_unit_without_its_seal_is_cut_unless_a_redis_may_have_written_it() -> None:
    large = command("SET", "k", b"x" * 20000)
    text = seal_all(ONE, large)[:-15]
    assert text.endswith(b"x\r\n")
    notes = Notes()
    assert load(aof_in_memory(text), "data", notes)[0] == ONE
    assert "a record without its checksum" in notes[0]
    for like_redis in (
        command("SELECT", 3) + large,
        transaction(command("SELECT", 3), large),
        b"#TS:1700000000\r\n" + command("select", 3) + large,
    ):
        text = seal_all(ONE) + like_redis
        whole = load(aof_in_memory(text), "data")[0]
        assert whole.startswith(ONE) and whole.count(large) == 1
        # A mark is ours.
        marked = seal_all(ONE) + b"#SYNC:15\r\n" + like_redis
        assert load(aof_in_memory(marked), "data")[0] == ONE


def test_many_commands_without_seals_are_never_cut_away(tmp_path: Path) -> None:
    many = FOUR * 5
    (path,) = write_aof(tmp_path, seal_all(ONE) + many)
    with pytest.raises(CorruptDataError, match="many records have no checksum of their own"):
        content_of(tmp_path)
    assert path.read_bytes() == seal_all(ONE) + many
    write_aof(tmp_path, seal_all(ONE) + command("SELECT", 0) + many)
    assert content_of(tmp_path) == ONE + command("SELECT", 0) + many


def test_damage_in_the_middle_of_a_file_of_redis_is_not_taken_for_its_end(tmp_path: Path) -> None:
    for bad in (b"*x\r\n", b"\0" * 100 + b"\r\n", b"*2\r\n$99999999\r\nSET\r\n"):
        (path,) = write_aof(tmp_path, ONE + FOUR + bad + b"".join(UNITS))
        with pytest.raises(CorruptDataError, match="more commands follow"):
            content_of(tmp_path)
        assert path.read_bytes() == ONE + FOUR + bad + b"".join(UNITS)


@pytest.mark.parametrize(
    "text",
    [
        b"*1\n$4\nPING\n",
        b"*1\r\n$4\r\nPING\n\r",
        b"*1\r\n$4\r\nPINGxx",
        b"*0\r\n",
        b"*-1\r\n",
        b"*1\r\n$-1\r\n",
        b"*01\r\n$4\r\nPING\r\n",
        b"*+1\r\n$4\r\nPING\r\n",
        b"*1\r\n:4\r\nPING\r\n",
        b"*1\r\n$4 \r\nPING\r\n",
        b"PING\r\n",
        b"*1\r\n" + b"$" + b"0" * 100 + b"4\r\nPING\r\n",
        b"#" + b"x" * 200 + b"\r\n",
    ],
)
def test_what_is_no_aof_is_refused_when_commands_follow(tmp_path: Path, text: bytes) -> None:
    write_aof(tmp_path, FOUR + text + b"\r\n" + FOUR + FOUR)
    with pytest.raises(CorruptDataError, match=f"offset {len(FOUR)}"):
        content_of(tmp_path)


@pytest.mark.parametrize("count", [2**31, 2**62, 9223372036854775807])
def test_an_announced_length_allocates_nothing(tmp_path: Path, count: int) -> None:
    for text in (b"*%d\r\n" % count, b"*2\r\n$3\r\nGET\r\n$%d\r\nx" % count):
        write_aof(tmp_path, seal_all(ONE) + text)
        notes = Notes()
        assert content_of(tmp_path, notes) == ONE
        assert "past the end of the file" in notes[0]


def test_a_mark_that_looks_ahead_says_nothing(tmp_path: Path) -> None:
    commands = [command("XADD", "s", f"{i}-1", "f", "v" * 60) for i in range(1, 400)]
    text = bytearray(seal_all(*commands, marks={10: 10**9}))
    text[8192:12288] = bytes(4096)
    write_aof(tmp_path, bytes(text))
    assert content_of(tmp_path).startswith(commands[0])
