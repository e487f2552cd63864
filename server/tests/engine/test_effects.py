"""The effects for AOF and replicas: units, SELECT, MULTI around several commands."""

from __future__ import annotations

from forebay.commands.api.effects import Effects
from forebay.wire.argv import argv_of
from forebay.wire.resp_writer import WriterPool
from testkit.engine_client import EngineClient
from testkit.resp import parse, split_replies


def recorded(effects: Effects) -> list[list[bytes]]:
    return [parse(command) for command in split_replies(effects.take())]


def record(effects: Effects, *commands: bytes) -> None:
    effects.begin()
    for command in commands:
        effects.record_command(command.split())
    effects.end()


def enabled() -> Effects:
    effects = Effects(WriterPool())
    effects.enabled = True
    return effects


def test_one_command_stands_alone_behind_its_database() -> None:
    effects = enabled()
    record(effects, b"SET a 1")
    record(effects, b"SET b 2")
    assert recorded(effects) == [[b"SELECT", b"0"], [b"SET", b"a", b"1"], [b"SET", b"b", b"2"]]


def test_several_commands_of_one_call_become_a_transaction() -> None:
    effects = enabled()
    record(effects, b"DEL x")
    record(effects, b"SET a 1", b"SET b 2")
    assert recorded(effects) == [
        [b"SELECT", b"0"],
        [b"DEL", b"x"],
        [b"MULTI"],
        [b"SET", b"a", b"1"],
        [b"SET", b"b", b"2"],
        [b"EXEC"],
    ]


def test_another_database_is_selected_once() -> None:
    effects = enabled()
    effects.db_index = 3
    record(effects, b"DEL x")
    record(effects, b"DEL y")
    effects.db_index = 0
    record(effects, b"DEL z")
    names = [command[0] for command in recorded(effects)]
    assert names == [b"SELECT", b"DEL", b"DEL", b"SELECT", b"DEL"]


def test_a_new_reader_is_told_the_database_again() -> None:
    effects = enabled()
    record(effects, b"DEL x")
    effects.take()
    record(effects, b"DEL x")
    assert recorded(effects) == [[b"DEL", b"x"]]
    effects.forget_database()
    record(effects, b"DEL x")
    assert recorded(effects) == [[b"SELECT", b"0"], [b"DEL", b"x"]]


def test_nothing_recorded_leaves_nothing() -> None:
    effects = enabled()
    effects.db_index = 7
    record(effects)
    assert effects.take() == b""


def test_when_nobody_listens_nothing_is_written() -> None:
    effects = Effects(WriterPool())
    effects.begin()
    effects.record_command((b"SET", b"a", b"1"))
    effects.record_call(argv_of([b"SET", b"a", b"1"]))
    effects.record_call_with_id(argv_of([b"SET", b"a", b"1"]), 2, 2, 0, 1)
    effects.end()
    assert effects.take() == b""
    assert list(effects.ends) == []


def test_a_call_is_repeated_as_it_came_or_with_the_id_that_was_made() -> None:
    effects = enabled()
    effects.begin()
    effects.record_call(argv_of([b"xadd", b"s\r\n", b"1-1", b"", b"v"]))
    effects.end()
    effects.begin()
    effects.record_call_with_id(argv_of([b"XADD", b"s", b"*", b"f", b"*"]), 2, 5, 0, 1)
    effects.end()
    assert recorded(effects)[1:] == [
        [b"xadd", b"s\r\n", b"1-1", b"", b"v"],
        [b"XADD", b"s", b"5-0", b"f", b"*"],
    ]


def test_the_end_of_every_unit_is_kept() -> None:
    effects = enabled()
    record(effects, b"DEL x")
    record(effects)
    record(effects, b"DEL x", b"DEL y")
    ends = list(effects.ends)
    data = effects.take()
    assert len(ends) == 2
    assert data[: ends[0]].endswith(b"DEL\r\n$1\r\nx\r\n")
    assert data[ends[0] :].startswith(b"*1\r\n$5\r\nMULTI\r\n")
    assert ends[1] == len(data)
    assert list(effects.ends) == []


def test_units_that_share_a_comment_are_one_piece_and_take_no_room_in_the_stream() -> None:
    effects = enabled()
    effects.base = 1000
    record(effects, b"DEL x")
    record(effects, b"DEL y")
    place = effects.base + effects.out.size
    effects.annotate(b"#first\r\n")
    assert effects.base + effects.out.size == place
    assert effects.handed == effects.out.size
    record(effects, b"DEL z")
    z_at = len(effects.out.view())
    effects.annotate(b"#second\r\n")
    ends = list(effects.ends)
    data = effects.take()
    assert data.startswith(b"#TURN:2\r\n*2\r\n$6\r\nSELECT\r\n")
    assert data[: ends[0]].endswith(b"$1\r\ny\r\n#first\r\n")
    assert data[ends[0] :].startswith(b"*2\r\n$3\r\nDEL\r\n")
    assert ends == [ends[0], z_at + len(b"#second\r\n")]


def test_a_command_outside_of_any_call_is_a_unit_of_its_own() -> None:
    effects = enabled()
    effects.record_command((b"DEL", b"x"))
    effects.record_command((b"DEL", b"y"))
    assert len(effects.ends) == 2
    assert recorded(effects)[1:] == [[b"DEL", b"x"], [b"DEL", b"y"]]


def test_a_large_unit_keeps_its_order_when_multi_is_put_in_front() -> None:
    effects = enabled()
    values = [b"%d" % i * 500 for i in range(200)]
    effects.begin()
    for value in values:
        effects.record_command((b"SET", b"k", value))
    effects.end()
    commands = recorded(effects)
    assert commands[0] == [b"MULTI"]
    assert commands[1] == [b"SELECT", b"0"]
    assert [command[2] for command in commands[2:-1]] == values
    assert commands[-1] == [b"EXEC"]


# At the engine


def test_exec_is_one_unit() -> None:
    client = EngineClient()
    for words in ("MULTI", "SET a 1", "PING", "SET b 2", "EXEC"):
        client(words)
    assert client.effects() == [
        [b"MULTI"],
        [b"SELECT", b"0"],
        [b"SET", b"a", b"1"],
        [b"SET", b"b", b"2"],
        [b"EXEC"],
    ]


def test_exec_with_one_write_needs_no_transaction() -> None:
    client = EngineClient()
    for words in ("MULTI", "SET a 1", "GET a", "EXEC"):
        client(words)
    assert client.effects() == [[b"SET", b"a", b"1"]]


def test_a_key_found_expired_is_deleted_in_the_aof_too() -> None:
    client = EngineClient()
    client("SET a 1 PX 100")
    client.effects()
    client.now_ms += 101
    assert client("GET a") is None
    assert client.effects() == [[b"DEL", b"a"]]


def test_select_is_written_for_the_database_of_the_client() -> None:
    client = EngineClient()
    other = client.new()
    other("SELECT 2")
    client("SET a 1")
    other("SET b 1")
    client("SET c 1")
    assert client.effects() == [
        [b"SET", b"a", b"1"],
        [b"SELECT", b"2"],
        [b"SET", b"b", b"1"],
        [b"SELECT", b"0"],
        [b"SET", b"c", b"1"],
    ]
