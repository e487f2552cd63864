"""The syntax lines of the table: each parses, and its tree prints as the same line."""

import pytest

from forebay.commands.admin.command_syntax import Argument, arguments_of, render
from forebay.commands.api.spec import Command
from forebay.commands.table import TABLE

ROWS = [found for row in TABLE.values() for found in (row, *row.subcommands.values())]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.full_name.decode())
def test_the_tree_of_a_line_prints_as_the_line(row: Command) -> None:
    assert render(arguments_of(row.syntax)) == row.syntax


def test_a_word_and_its_value_are_one_argument() -> None:
    (count,) = arguments_of("[COUNT count]")
    assert count == Argument("count", "integer", "COUNT", optional=True)


def test_a_repeated_pair_becomes_a_block() -> None:
    (pairs,) = arguments_of("field value [field value ...]")
    assert (pairs.type, pairs.multiple, pairs.optional) == ("block", True, False)
    assert [part.name for part in pairs.parts] == ["field", "value"]


def test_alternatives_become_one_of() -> None:
    (choice,) = arguments_of("<* | id>")
    assert [part.type for part in choice.parts] == ["pure-token", "string"]
    assert not choice.optional


def test_a_word_may_open_a_block_of_many() -> None:
    (streams,) = arguments_of("STREAMS key [key ...] id [id ...]")
    assert (streams.token, streams.type) == ("STREAMS", "block")
    assert [part.multiple for part in streams.parts] == [True, True]


def test_a_word_stands_before_one_value_many_or_each() -> None:
    (one,) = arguments_of("[TYPE <NORMAL | MASTER>]")
    (many,) = arguments_of("[ID client-id [client-id ...]]")
    (each,) = arguments_of("[GET pattern [GET pattern ...]]")
    assert (one.type, one.token, one.flags()) == ("oneof", "TYPE", ["optional"])
    assert (many.token, many.flags()) == ("ID", ["optional", "multiple"])
    assert (each.token, each.flags()) == ("GET", ["optional", "multiple", "multiple_token"])


def test_types_follow_the_family() -> None:
    assert [one.type for one in arguments_of("start end", "stream")] == ["string", "string"]
    assert [one.type for one in arguments_of("start end", "string")] == ["integer", "integer"]
    assert [one.type for one in arguments_of("timeout", "list")] == ["double"]
    assert [one.type for one in arguments_of("source destination")] == ["key", "key"]


def test_an_optional_list_is_optional_and_multiple() -> None:
    (names,) = arguments_of("[section [section ...]]")
    assert names.flags() == ["optional", "multiple"]
