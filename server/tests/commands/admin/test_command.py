"""COMMAND: the table as clients see it, compared with rows captured from redis-server 8.6.3."""

import json
from pathlib import Path
from typing import Any

import pytest

from forebay.commands.admin.command_facts import history_of
from forebay.commands.admin.command_info import find_row
from forebay.commands.admin.command_syntax import arguments_of
from forebay.commands.api.spec import NO_MANDATORY_KEYS, Command, Keys
from forebay.commands.table import TABLE
from server.tests.support.admin_client import AdminClient
from testkit.engine_client import EngineClient
from testkit.resp import ReplyError

GOLDEN: dict[str, list[Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "command_8.6.3.json").read_text()
)["commands"]
ROWS = {
    found.full_name.decode(): found
    for row in TABLE.values()
    for found in (row, *row.subcommands.values())
}
KNOWN = sorted(ROWS.keys() & GOLDEN.keys())


def _words(words: Any) -> str:
    """Statuses or bulk strings, in any order, as one line."""
    texts = (word.decode() if isinstance(word, bytes) else str(word) for word in words)
    return " ".join(sorted(text.removeprefix("@") for text in texts))


def _text(value: Any) -> Any:
    if isinstance(value, dict):
        return {_text(key): _text(item) for key, item in value.items()}
    return value.decode() if isinstance(value, bytes) else value


def _spec(spec: dict[bytes, Any]) -> list[Any]:
    begin, find = _text(spec[b"begin_search"]), _text(spec[b"find_keys"])
    return [sorted(spec[b"flags"]), begin["type"], begin["spec"], find["type"], find["spec"]]


@pytest.mark.parametrize("name", KNOWN)
def test_a_row_is_the_same_as_in_redis(name: str) -> None:
    client = AdminClient()
    client("HELLO", "3")
    ((full_name, arity, flags, first, last, step, categories, tips, specs, _),) = client(
        "COMMAND", "INFO", name
    )
    assert full_name == name.encode()
    assert [
        arity,
        ROWS[name].since,
        _words(flags),
        [first, last, step],
        _words(categories),
        _words(tips),
        [_spec(spec) for spec in specs],
    ] == GOLDEN[name]


def test_without_arguments_all_rows_come_each_with_ten_fields() -> None:
    rows = AdminClient()("COMMAND")
    assert len(rows) == len(TABLE) == AdminClient()("COMMAND", "COUNT")
    assert {len(row) for row in rows} == {10}


def test_subcommands_are_rows_inside_their_container() -> None:
    (row,) = AdminClient()("COMMAND", "INFO", "xgroup")
    names = {sub[0] for sub in row[9]}
    assert {b"xgroup|create", b"xgroup|help"} <= names
    assert {len(sub) for sub in row[9]} == {10}


def test_flags_are_statuses_in_a_set() -> None:
    client = AdminClient()
    assert b"*3\r\n+write\r\n+denyoom\r\n+fast\r\n" in client.raw("COMMAND", "INFO", "xadd")
    client("HELLO", "3")
    raw = client.raw("COMMAND", "INFO", "xadd")
    assert b"~3\r\n+write\r\n+denyoom\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~3\r\n+@write\r\n" in raw


def test_info_answers_nil_for_an_unknown_name_and_all_without_names() -> None:
    client = AdminClient()
    rows = client("COMMAND", "INFO", "nosuch", "PING", "config|get", "config|nosuch")
    assert [row and row[0] for row in rows] == [None, b"ping", b"config|get", None]
    assert len(client("COMMAND", "INFO")) == len(TABLE)


def test_list_filters_by_pattern_category_and_module() -> None:
    client = AdminClient()
    assert set(client("COMMAND", "LIST")) == {name.encode() for name in ROWS}
    assert client("COMMAND", "LIST", "FILTERBY", "PATTERN", "XINFO|S*") == [b"xinfo|stream"]
    streams = client("COMMAND", "LIST", "filterby", "aclcat", "STREAM")
    assert {b"xadd", b"xgroup|create"} <= set(streams)
    assert b"get" not in streams
    assert client("COMMAND", "LIST", "FILTERBY", "MODULE", "x") == []
    assert client("COMMAND", "LIST", "FILTERBY", "ACLCAT", "nosuch") == []


@pytest.mark.parametrize("words", [["FILTERBY"], ["x"], ["FILTERBY", "COLOUR", "red"]])
def test_list_refuses_other_filters(words: list[str]) -> None:
    assert AdminClient()("COMMAND", "LIST", *words) == ReplyError("ERR syntax error")


@pytest.mark.parametrize(
    ("call", "keys"),
    [
        ("XADD s * f v", [b"s"]),
        ("XREAD COUNT 1 STREAMS a b 0 0", [b"a", b"b"]),
        ("XREADGROUP GROUP STREAMS c STREAMS k >", [b"k"]),
        ("MSET a 1 b 2", [b"a", b"b"]),
        ("BLPOP a b 0", [b"a", b"b"]),
        ("MEMORY USAGE k", [b"k"]),
        ("XGROUP CREATE s g $", [b"s"]),
    ],
)
def test_getkeys_finds_the_keys_of_a_call(call: str, keys: list[bytes]) -> None:
    client = AdminClient()
    assert client("COMMAND", "GETKEYS", *call.split()) == keys
    flagged = client("COMMAND", "GETKEYSANDFLAGS", *call.split())
    assert [key for key, _ in flagged] == keys


def test_a_list_is_an_array_in_both_protocols() -> None:
    client = AdminClient()
    client("HELLO", "3")
    assert client.raw("COMMAND", "LIST").startswith(b"*%d\r\n" % len(ROWS))
    assert client.raw("COMMAND", "LIST", "FILTERBY", "PATTERN", "nosuch") == b"*0\r\n"


@pytest.mark.parametrize(
    ("call", "flags"),
    [
        ("XADD s * f v", [["RW", "update"]]),
        ("COPY a b", [["RO", "access"], ["OW", "update"]]),
        ("RENAME a b", [["RW", "access", "delete"], ["OW", "update"]]),
        ("RENAMENX a b", [["RW", "access", "delete"], ["OW", "insert"]]),
        ("MSET a 1 b 2", [["OW", "update"], ["OW", "update"]]),
        ("SET k v", [["OW", "update"]]),
        ("SET k GET", [["OW", "update"]]),
        ("SET k v EX 10", [["OW", "update"]]),
        ("SET k v nx get", [["RW", "access", "update"]]),
        ("SET k v IFEQ a", [["RW", "update"]]),
        ("SORT a BY w_* STORE c", [["RO", "access"], ["OW", "update"]]),
        ("EVAL x 0", []),
    ],
)
def test_getkeysandflags_tells_what_is_done_to_each_key(call: str, flags: list[list[str]]) -> None:
    answer = AdminClient()("COMMAND", "GETKEYSANDFLAGS", *call.split())
    assert [done for _, done in answer] == flags


def _no_handler(ctx: Any, argv: Any) -> None: ...


def test_keys_may_stand_behind_their_number_or_after_another() -> None:
    """Rare shapes: DELEX, BITFIELD, EVAL, BITOP."""
    counted = Keys(0, 0, 0, "RW", lambda argv: list(range(3, 3 + int(argv[2]))))
    rows = [
        Command(
            name="delex",
            handler=_no_handler,
            arity=-2,
            flags=0,
            keys=Keys(1, 1, 1, "RW DELETE VARIABLE_FLAGS"),
        ),
        Command(
            name="bitfield",
            handler=_no_handler,
            arity=-2,
            flags=0,
            keys=Keys(1, 1, 1, "RW VARIABLE_FLAGS"),
        ),
        Command(name="eval", handler=_no_handler, arity=-3, flags=NO_MANDATORY_KEYS, keys=counted),
        Command(
            name="bitop",
            handler=_no_handler,
            arity=-4,
            flags=0,
            keys=Keys(2, -1, 1, "OW UPDATE; RO ACCESS"),
        ),
        TABLE[b"command"],
        TABLE[b"hello"],
    ]
    client = EngineClient(commands={row.name: row for row in rows})

    def answer(call: str) -> Any:
        return client("COMMAND", "GETKEYSANDFLAGS", *call.split())

    assert answer("DELEX k") == [[b"k", ["RM", "delete"]]]
    assert answer("DELEX k IFEQ v") == [[b"k", ["RW", "delete"]]]
    assert answer("BITFIELD k GET u8 0") == [[b"k", ["RO", "access"]]]
    assert answer("BITFIELD k INCRBY u8 0 1") == [[b"k", ["RW", "access", "update"]]]
    assert answer("EVAL s 0") == []
    assert answer("EVAL s 1 k x") == [[b"k", ["RW"]]]
    assert answer("BITOP AND d a b") == [
        [b"d", ["OW", "update"]], [b"a", ["RO", "access"]], [b"b", ["RO", "access"]],
    ]  # fmt: skip
    client("HELLO", "3")
    for name in ("eval", "bitop"):
        (row,) = client("COMMAND", "INFO", name)
        assert [_spec(spec)[1:] for spec in row[8]] == [spec[1:] for spec in GOLDEN[name][6]]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("NOSUCH a b", "ERR Invalid command specified"),
        ("MEMORY NOSUCH a", "ERR Invalid command specified"),
        ("NOSUCH", "ERR Invalid command specified"),
        ("PING a", "ERR The command has no key arguments"),
        ("PING", "ERR The command has no key arguments"),
        ("XGROUP", "ERR The command has no key arguments"),
        ("SSUBSCRIBE a b", "ERR The command has no key arguments"),
        ("GET", "ERR Invalid number of arguments specified for command"),
        ("XADD s", "ERR Invalid number of arguments specified for command"),
        ("XREAD BLOCK 1 a", "ERR Invalid arguments specified for command"),
    ],
)
def test_getkeys_says_why_it_found_none(call: str, error: str) -> None:
    assert AdminClient()("COMMAND", "GETKEYS", *call.split()) == ReplyError(error)


def test_docs_hold_what_hints_are_made_of() -> None:
    client = AdminClient()
    client("HELLO", "3")
    (docs,) = client("COMMAND", "DOCS", "xtrim", "nosuch").values()
    assert docs[b"since"] == b"5.0.0"
    assert docs[b"group"] == b"stream"
    assert docs[b"summary"]
    key, strategy = docs[b"arguments"][:2]
    assert key == {
        b"name": b"key",
        b"type": b"key",
        b"display_text": b"key",
        b"key_spec_index": 0,
    }
    assert strategy[b"type"] == b"oneof"
    assert [part[b"token"] for part in strategy[b"arguments"]] == [b"MAXLEN", b"MINID"]
    limit = docs[b"arguments"][4]
    assert limit == {
        b"name": b"count",
        b"type": b"integer",
        b"display_text": b"count",
        b"token": b"LIMIT",
        b"since": b"6.2.0",
        b"flags": ["optional"],
    }
    assert b"display_text" not in strategy
    assert [part.get(b"since") for part in strategy[b"arguments"]] == [None, b"6.2.0"]
    assert [list(step) for step in docs[b"history"]] == [
        [b"6.2.0", b"Added MINID, LIMIT."],
        [b"8.2.0", b"Added KEEPREF, DELREF, ACKED."],
    ]


@pytest.mark.parametrize("name", ["xrange", "xrevrange", "xpending", "xautoclaim", "xadd", "xtrim"])
def test_ids_and_thresholds_of_streams_are_strings(name: str) -> None:
    arguments = arguments_of(ROWS[name].syntax, ROWS[name].group)
    types = {part.name: part.type for one in arguments for part in one.each()}
    assert {types.get(word, "string") for word in ("start", "end", "id", "threshold")} == {"string"}


def test_docs_number_the_keys_by_their_specification() -> None:
    client = AdminClient()
    client("HELLO", "3")
    for name in ("copy", "rename"):
        arguments = client("COMMAND", "DOCS", name)[name.encode()][b"arguments"]
        assert [one[b"key_spec_index"] for one in arguments[:2]] == [0, 1]


def test_docs_say_what_to_use_instead_of_an_old_command() -> None:
    client = AdminClient()
    client("HELLO", "3")
    docs = client("COMMAND", "DOCS", "setnx")[b"setnx"]
    assert docs[b"doc_flags"] == ["deprecated"]
    assert (docs[b"deprecated_since"], docs[b"replaced_by"]) == (b"2.6.12", b"SET NX")


@pytest.mark.parametrize("name", sorted(ROWS))
def test_what_the_history_calls_a_token_is_in_the_syntax(name: str) -> None:
    for version, added in history_of(name):
        assert version > ROWS[name].since
        for word in added:
            if word.isupper():
                assert word in ROWS[name].syntax


def test_docs_of_a_container_hold_its_subcommands() -> None:
    client = AdminClient()
    client("HELLO", "3")
    docs = client("COMMAND", "DOCS", "config")[b"config"]
    assert docs[b"subcommands"][b"config|get"][b"arguments"][0][b"flags"] == ["multiple"]
    assert b"config|get" in client("COMMAND", "DOCS", "config|get")


def test_docs_of_everything_parse_in_both_protocols() -> None:
    client = AdminClient()
    assert len(client("COMMAND", "DOCS")) == 2 * len(TABLE)
    client("HELLO", "3")
    assert len(client("COMMAND", "DOCS")) == len(TABLE)


def test_a_row_is_found_by_container_and_name() -> None:
    ctx = AdminClient().engine.ctx
    row = find_row(ctx, b"XINFO|STREAM")
    assert row is not None
    assert row.full_name == b"xinfo|stream"


def test_help_speaks_of_the_bare_command_too() -> None:
    assert "(no subcommand)" in AdminClient()("COMMAND", "HELP")
