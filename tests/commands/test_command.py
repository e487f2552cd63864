"""COMMAND: the table as clients see it, held against rows captured from redis-server 7.0.15."""

import json
from pathlib import Path
from typing import Any

import pytest

from forebay.commands.command_info import find_row
from forebay.commands.table import TABLE
from tests.support.admin_client import AdminClient
from tests.support.resp import ReplyError

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "command_7.0.15.json").read_text()
)["commands"]


def _golden_rows() -> dict[str, Any]:
    """Every command and subcommand that exists both here and in the captured table."""
    rows = {}
    for name, golden in GOLDEN.items():
        if name.encode() not in TABLE:
            continue
        rows[name] = golden
        known = TABLE[name.encode()].subcommands
        rows |= {
            sub: row
            for sub, row in golden.get("subcommands", {}).items()
            if sub.partition("|")[2].encode() in known
        }
    return rows


GOLDEN_ROWS = _golden_rows()
#: Not printed by any row of ours: it belongs to a cluster.
UNKNOWN_FLAGS = {"asking"}


@pytest.mark.parametrize("name", sorted(GOLDEN_ROWS))
def test_a_row_is_the_same_as_in_redis(name: str) -> None:
    golden = GOLDEN_ROWS[name]
    ((full_name, arity, flags, first, last, step, categories, *_),) = AdminClient()(
        "COMMAND", "INFO", name
    )
    assert full_name == name.encode()
    assert arity == golden["arity"]
    assert set(flags) == set(golden["flags"]) - UNKNOWN_FLAGS
    assert [first, last, step] == golden["keys"]
    assert sorted(categories) == golden["categories"]


@pytest.mark.parametrize(
    "name", sorted(n for n, row in GOLDEN_ROWS.items() if len(row["specs"]) == 1)
)
def test_a_key_specification_is_the_same_as_in_redis(name: str) -> None:
    client = AdminClient()
    client("HELLO", "3")
    (spec,) = client("COMMAND", "INFO", name)[0][8]
    (golden,) = GOLDEN_ROWS[name]["specs"]
    assert set(spec[b"flags"]) == set(golden["flags"]) - {"variable_flags"}
    for part, (kind, details) in (("begin_search", golden["begin"]), ("find_keys", golden["find"])):
        assert spec[part.encode()][b"type"] == kind.encode()
        ours = {k.decode(): v for k, v in spec[part.encode()][b"spec"].items()}
        text = {k: v.decode() if isinstance(v, bytes) else v for k, v in ours.items()}
        assert text == details


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
    assert set(client("COMMAND", "LIST")) == set(TABLE)
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


def test_getkeysandflags_tells_what_is_done_to_a_key() -> None:
    client = AdminClient()
    assert client("COMMAND", "GETKEYSANDFLAGS", "XADD", "s", "*", "f", "v") == [
        [b"s", ["RW", "update"]]
    ]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("NOSUCH a b", "ERR Invalid command specified"),
        ("MEMORY NOSUCH a", "ERR Invalid command specified"),
        ("PING a", "ERR The command has no key arguments"),
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
    assert key == {b"name": b"key", b"type": b"key", b"key_spec_index": 0}
    assert strategy[b"type"] == b"oneof"
    assert [part[b"token"] for part in strategy[b"arguments"]] == [b"MAXLEN", b"MINID"]
    limit = docs[b"arguments"][4]
    assert limit == {
        b"name": b"count",
        b"type": b"integer",
        b"token": b"LIMIT",
        b"flags": ["optional"],
    }


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
