"""Reading a good AOF back, and the files around it."""

from __future__ import annotations

import re
import zlib
from array import array
from pathlib import Path

import pytest

from forebay.errors import CorruptDataError
from forebay.persistence.aof.loader import LOOK_AHEAD, AofLoader, AofPart, AofReader
from forebay.persistence.aof.seals import mark_line, seal_line
from forebay.persistence.files import PIECE, Disk
from server.tests.support.aof_files import (
    FOLDER,
    NAME,
    ONE,
    THREE,
    TWO,
    Notes,
    command,
    content_of,
    listener,
    reopen,
    seal_all,
    units,
    write_aof,
)

FOUR = command("SET", "k", b"x" * 300)
UNITS = (ONE, TWO, THREE, FOUR)


# Good AOFs


def test_ranges_hold_commands_and_no_comments(tmp_path: Path) -> None:
    stamp = b"#TS:1700000000\r\n"
    write_aof(tmp_path, stamp + seal_all(TWO, THREE, before=stamp) + stamp + ONE)
    assert content_of(tmp_path) == TWO + THREE + ONE


def test_comments_inside_a_transaction_are_left_out(tmp_path: Path) -> None:
    inner = command("XDEL", "s", "1-1")
    text = command("MULTI") + b"#TS:17\r\n" + inner + b"#TS:18\r\n" + command("EXEC")
    write_aof(tmp_path, text + seal_line(zlib.crc32(text)))
    assert content_of(tmp_path) == command("MULTI") + inner + command("EXEC")


def test_a_file_without_checksums_is_loaded_as_redis_would(tmp_path: Path) -> None:
    write_aof(tmp_path, ONE + TWO + THREE)
    assert content_of(tmp_path) == ONE + TWO + THREE


def test_increments_are_loaded_in_their_order_and_empty_ones_are_fine(tmp_path: Path) -> None:
    write_aof(tmp_path, seal_all(ONE), b"", seal_all(TWO), THREE, b"")
    assert content_of(tmp_path) == ONE + TWO + THREE


def test_a_unit_larger_than_the_window_comes_in_one_piece(tmp_path: Path) -> None:
    large = command("SET", "k", bytes(range(256)) * (6 << 10))
    write_aof(tmp_path, seal_all(ONE, large, TWO))
    assert content_of(tmp_path) == ONE + large + TWO


def test_a_long_file_comes_in_ranges_and_each_byte_knows_its_place(tmp_path: Path) -> None:
    commands = [command("XADD", "s", f"{i}-1", "field", "v" * (i % 90)) for i in range(1, 12000)]
    marked = seal_all(*commands, marks={5000: 100, 9000: 1000})
    (path,) = write_aof(tmp_path, marked)
    part = AofPart(str(path), path.name, len(marked), "commands")
    reader = AofReader(Disk(), part, 0)
    found, ranges = [], 0
    while reader.next_range():
        ranges += 1
        piece = bytes(reader.buf[reader.start : reader.end])
        found.append(piece)
        assert reader.offset == reader.file_offset(reader.start)
        for match in list(re.finditer(rb"\*5\r\n\$4\r\nXADD", piece))[::97]:
            at = reader.file_offset(reader.start + match.start())
            assert marked[at : at + 40] == piece[match.start() : match.start() + 40][:40]
    reader.close()
    assert b"".join(found) == b"".join(commands)
    assert ranges > 2
    assert reader.damage is None
    assert reader.done == len(marked)


def test_a_long_stretch_without_checksums_is_verified_before_it_is_run(tmp_path: Path) -> None:
    foreign = b"".join(command("XADD", "s", f"{i}-1", "f", "v" * 3000) for i in range(1, 750))
    assert len(foreign) > LOOK_AHEAD + PIECE
    whole = foreign + seal_all(ONE, TWO, before=foreign)
    torn = whole.replace(b"XDEL", b"XDAL")
    (path,) = write_aof(tmp_path, torn)
    assert content_of(tmp_path) == foreign + ONE, "what is sealed again needs its seal again"
    text = bytearray(whole)
    place = text.index(b"740-1")
    text[place] ^= 1
    path.write_bytes(text)
    part = AofPart(str(path), path.name, len(text), "commands")
    part.is_last = True
    reader = AofReader(Disk(), part, 0)
    with pytest.raises(CorruptDataError, match="many records have no checksum"):
        reader.next_range()
    reader.close()


def test_a_long_file_of_redis_is_given_out_up_to_its_torn_end(tmp_path: Path) -> None:
    foreign = b"".join(command("XADD", "s", f"{i}-1", "f", "v" * 3000) for i in range(1, 750))
    assert len(foreign) > LOOK_AHEAD + PIECE
    (path,) = write_aof(tmp_path, foreign + ONE[:-3])
    notes = Notes()
    # SELECT is whole, XADD is not.
    assert content_of(tmp_path, notes) == foreign + command("SELECT", 0)
    assert len(notes) == 1
    assert path.read_bytes() == foreign + command("SELECT", 0)


# Files around it


def make_loader(root: Path, notes: Notes | None = None) -> AofLoader:
    return AofLoader(Disk(), str(root / FOLDER), NAME, listener(notes))


def test_where_there_is_nothing_there_is_no_aof(tmp_path: Path) -> None:
    assert not make_loader(tmp_path).exists()
    (tmp_path / FOLDER).mkdir()
    for nothing in (b"", seal_all()):
        (tmp_path / FOLDER / f"{NAME}.1.incr.aof").write_bytes(nothing)
        assert not make_loader(tmp_path).exists()


def test_an_aof_of_an_old_redis_becomes_the_base(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(ONE + TWO)
    notes = Notes()
    assert make_loader(tmp_path).exists()
    content, aof = reopen(Disk(), str(tmp_path), notes)
    assert content == ONE + TWO
    assert not (tmp_path / NAME).exists()
    assert (tmp_path / FOLDER / NAME).read_bytes() == ONE + TWO
    manifest = (tmp_path / FOLDER / f"{NAME}.manifest").read_text()
    assert f"file {NAME} seq 1 type b\nfile {NAME}.1.incr.aof seq 1 type i\n" in manifest
    aof.append(*units(THREE))
    aof.close()
    assert content_of(tmp_path) == ONE + TWO + THREE


def test_an_upgrade_that_was_interrupted_is_finished(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(ONE)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / f"{NAME}.manifest").write_text(f"file {NAME} seq 1 type b\n")
    loader = make_loader(tmp_path)
    loader.look()
    assert [part.path for part in loader.parts()] == [str(tmp_path / NAME)]
    assert (tmp_path / NAME).exists()
    assert content_of(tmp_path) == ONE
    loader.resume()
    assert (tmp_path / FOLDER / NAME).read_bytes() == ONE


def test_a_file_that_the_manifest_names_and_is_not_there_stops_the_start(tmp_path: Path) -> None:
    paths = write_aof(tmp_path, seal_all(ONE), seal_all(TWO))
    paths[0].unlink()
    with pytest.raises(CorruptDataError, match=r"1\.incr\.aof is missing"):
        content_of(tmp_path)


def test_files_without_a_manifest_stop_the_start(tmp_path: Path) -> None:
    write_aof(tmp_path, seal_all(ONE), seal_all(TWO))
    (tmp_path / FOLDER / f"{NAME}.manifest").unlink()
    assert make_loader(tmp_path).exists()
    with pytest.raises(CorruptDataError, match="manifest is missing, but"):
        content_of(tmp_path)


def test_the_first_base_without_its_manifest_is_taken(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / f"{NAME}.1.base.aof").write_bytes(seal_all(ONE))
    (tmp_path / FOLDER / f"{NAME}.1.incr.aof").write_bytes(b"")
    content, aof = reopen(Disk(), str(tmp_path))
    assert content == ONE
    aof.append(*units(TWO))
    aof.close()
    assert content_of(tmp_path) == ONE + TWO


def test_the_first_base_alone_without_its_manifest_is_taken(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / f"{NAME}.1.base.aof").write_bytes(seal_all(ONE))
    notes = Notes()
    assert content_of(tmp_path, notes) == ONE
    assert len(notes) == 1 and "was not written yet" in notes[0]


def test_what_is_no_aof_is_not_taken_for_an_old_one(tmp_path: Path) -> None:
    with pytest.raises(CorruptDataError, match="there is no AOF in"):
        make_loader(tmp_path).prepare()
    (tmp_path / NAME).write_bytes(b"Dear diary\r\n")
    with pytest.raises(CorruptDataError, match="is not an AOF: its first bytes are no record"):
        make_loader(tmp_path).prepare()
    assert (tmp_path / NAME).read_bytes() == b"Dear diary\r\n"


def test_a_first_base_without_a_manifest_is_refused_beside_a_later_file(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / f"{NAME}.1.base.aof").write_bytes(seal_all(ONE))
    (tmp_path / FOLDER / f"{NAME}.2.incr.aof").write_bytes(seal_all(TWO))
    with pytest.raises(CorruptDataError, match="manifest is missing, but"):
        content_of(tmp_path)


def test_the_kind_of_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    paths = write_aof(tmp_path, b"REDIS0010", seal_all(ONE), b"RED", b"")
    loader = make_loader(tmp_path)
    loader.look()
    kinds = [(part.path, part.kind, part.is_last) for part in loader.parts()]
    assert kinds == [
        (str(paths[0]), "rdb", False),
        (str(paths[1]), "commands", False),
        (str(paths[2]), "commands", True),
        (str(paths[3]), "commands", True),
    ]


def test_nothing_can_be_resumed_before_anything_was_prepared(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing was loaded"):
        make_loader(tmp_path).resume()


def test_ends_that_are_not_in_the_buffer_are_refused(tmp_path: Path) -> None:
    _, aof = reopen(Disk(), str(write_aof(tmp_path, b"") and tmp_path))
    out, _ = units(ONE)
    with pytest.raises(ValueError, match="outside of the buffer"):
        aof.append(out, array("Q", [len(ONE) + 1]))
    assert mark_line(7) == b"#SYNC:7\r\n"
