"""The end of a turn: which parts are called, when, and in which order."""

from __future__ import annotations

import pytest

from forebay.commands.api.effects import Effects
from forebay.server.net.turn_end import EffectsReader, Participant, TurnEnd
from forebay.server.server import Server
from forebay.wire.resp_writer import WriterPool
from testkit.hand_server import Client
from testkit.resp import encode

ADD = encode("XADD", "s", "*", "f", "v")


class Diary:
    """What happened, in order."""

    def __init__(self) -> None:
        self.lines: list[object] = []


class Reader(EffectsReader):
    """Notes the effects it reads and the replies sent by then; may clear the effects."""

    def __init__(self, diary: Diary, client: Client, name: str, is_last: bool) -> None:
        super().__init__()
        self.diary, self.client, self.name, self.is_last = diary, client, name, is_last

    def read(self, effects: Effects) -> int:
        told = self.client.answer()
        self.diary.lines.append((self.name, bytes(effects.out.view()).count(b"XADD"), told))
        if self.is_last:
            effects.clear()
        return 0


class Guest(Participant):
    """Notes its beats and settlements, and works for this many turns."""

    def __init__(self, diary: Diary, turn_end: TurnEnd, pieces: int = 0) -> None:
        self.diary, self.turn_end, self.pieces = diary, turn_end, pieces

    def beat(self) -> None:
        self.diary.lines.append("beat")

    def settle(self) -> None:
        self.diary.lines.append("settle")

    def work(self) -> None:
        self.diary.lines.append("work")
        self.pieces -= 1
        if self.pieces == 0:
            self.turn_end.end_work()


@pytest.fixture
def turn_end() -> TurnEnd:
    return TurnEnd(Effects(WriterPool()))


@pytest.fixture(autouse=True)
def recording(server: Server) -> None:
    """A reader of effects is registered."""
    server.engine.effects.enabled = True


def test_readers_get_the_effects_of_a_turn_in_their_order_before_a_reply_leaves(
    server: Server, client: Client
) -> None:
    diary = Diary()
    server.loop.turn_end.add_reader(Reader(diary, client, "replica", is_last=False))
    server.loop.turn_end.add_reader(Reader(diary, client, "aof", is_last=True))
    assert client.ask(ADD * 3).count(b"$") == 3
    assert diary.lines == [("replica", 3, b"(nothing)"), ("aof", 3, b"(nothing)")]


def test_a_turn_that_changes_nothing_calls_no_reader(server: Server, client: Client) -> None:
    diary = Diary()
    server.loop.turn_end.add_reader(Reader(diary, client, "aof", is_last=True))
    assert client.ask(encode("XLEN", "s")) == b":0\r\n"
    assert diary.lines == []


def test_effects_that_no_reader_cleared_come_again_with_the_next_ones(
    server: Server, client: Client
) -> None:
    diary = Diary()
    server.loop.turn_end.add_reader(Reader(diary, client, "held", is_last=False))
    client.ask(ADD)
    client.ask(ADD)
    assert [line[1] for line in diary.lines if isinstance(line, tuple)] == [1, 2]


def test_participants_settle_once_when_asked_and_after_the_readers(
    server: Server, client: Client
) -> None:
    diary = Diary()
    turn_end = server.loop.turn_end
    turn_end.join(Guest(diary, turn_end))
    turn_end.add_reader(Reader(diary, client, "aof", is_last=True))
    turn_end.ask()
    client.ask(ADD)
    client.ask(ADD)
    aof = ("aof", 1, b"(nothing)")
    assert diary.lines == ["beat", aof, "settle", "beat", aof]


def test_who_asks_while_settling_is_called_again_in_the_next_turn(turn_end: TurnEnd) -> None:
    diary = Diary()

    class Insatiable(Guest):
        def settle(self) -> None:
            super().settle()
            self.turn_end.ask()

    turn_end.join(Insatiable(diary, turn_end))
    turn_end.ask()
    turn_end.before_replies()
    assert diary.lines == ["settle"]
    turn_end.before_replies()
    assert diary.lines == ["settle", "settle"]


def test_work_gets_a_piece_of_every_turn_until_it_ends(server: Server, client: Client) -> None:
    diary = Diary()
    turn_end = server.loop.turn_end
    turn_end.begin_work(Guest(diary, turn_end, pieces=2))
    for _ in range(4):
        assert client.ask(encode("PING")) == b"+PONG\r\n"
    assert diary.lines == ["work", "work"]
