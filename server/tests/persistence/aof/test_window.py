"""The window over an AOF: how much of the file it holds at a time."""

from __future__ import annotations

from itertools import pairwise

from forebay.persistence.aof.scanner import MORE, AofScanner
from forebay.persistence.aof.seals import SEAL_SIZE
from forebay.persistence.files import PIECE
from server.tests.support.aof_files import ONE, THREE, TWO, seal_all


def test_a_window_does_not_grow_while_its_room_is_enough() -> None:
    text = seal_all(ONE, TWO, THREE)
    ends = [text.index(unit) + len(unit) + SEAL_SIZE for unit in (ONE, TWO, THREE)]
    scanner = AofScanner(len(text), 0, 0)
    room = scanner.make_room(PIECE)
    for start, end in pairwise([0, *ends]):
        scanner.add(text[start:end])
        assert scanner.step() == MORE
        assert scanner.make_room(PIECE) == room


def test_a_window_grows_for_what_is_not_walked_yet() -> None:
    text = seal_all(ONE)
    scanner = AofScanner(2 * len(text), 0, 0)
    room = scanner.make_room(PIECE)
    scanner.add(text[:-1])
    assert scanner.make_room(room) >= room
