"""``forebay add``: fields of all kinds, standard input, and errors about them."""

from __future__ import annotations

import json

import pytest

from server.tests.support.lines import Lines, feed
from testkit.servers import ServerProcess


def entries(cli: Lines, stream: str = "orders") -> list[list[bytes]]:
    return [fields for _, fields in cli.ask("XRANGE", stream, "-", "+")]


def test_fields_are_names_with_values_and_the_answer_is_the_id(cli: Lines) -> None:
    told = cli("add", "orders", "item=tea", "price=3.20", "note=")
    ((entry_id, fields),) = cli.ask("XRANGE", "orders", "-", "+")
    assert told == f"{entry_id.decode()}\n"
    assert fields == [b"item", b"tea", b"price", b"3.20", b"note", b""]


def test_names_and_values_may_be_words_in_turn_with_signs_and_equals(cli: Lines) -> None:
    cli("add", "orders", "sum", "a=b", "temperature", "-5")
    assert entries(cli) == [[b"sum", b"a=b", b"temperature", b"-5"]]


def test_only_the_first_equals_sign_cuts_a_field(cli: Lines) -> None:
    cli("add", "orders", "query=a=b=c")
    assert entries(cli) == [[b"query", b"a=b=c"]]


def test_an_id_can_be_given(cli: Lines) -> None:
    assert cli("add", "orders", "--id", "5-1", "a=b") == "5-1\n"
    assert cli.objects("add", "orders", "--id", "6-0", "a=b") == [{"stream": "orders", "id": "6-0"}]
    assert "equal or smaller" in cli.refused("add", "orders", "--id", "5-1", "a=b")


def test_old_entries_go_when_there_are_too_many(cli: Lines) -> None:
    cli.ask("CONFIG", "SET", "stream-node-max-entries", 1)
    for _ in range(9):
        cli("add", "orders", "--maxlen", 3, "a=b")
    cli.ask("CONFIG", "SET", "stream-node-max-entries", 100)
    assert cli.ask("XLEN", "orders") == 3


def test_bytes_of_the_shell_arrive_as_they_are(server: ServerProcess, cli: Lines) -> None:
    done = feed(["add", "orders", "name=caf\udce9"], b"", server)
    assert done.returncode == 0
    assert entries(cli) == [[b"name", b"caf\xe9"]]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "an entry needs a field: write NAME=VALUE, or - for standard input"),
        (["a=b", "c"], "'c' has no =, and the first field has"),
        (["a", "b", "c"], "the field 'c' has no value"),
        (["--maxlen", "0", "a=b"], "argument --maxlen: '0' is no number from 1 on"),
    ],
)
def test_words_that_are_no_fields_are_wrong_usage(words: list[str], told: str, cli: Lines) -> None:
    assert cli.refused("add", "orders", *words, code=2).startswith(told)
    assert cli.ask("EXISTS", "orders") == 0


# Standard input


def test_each_line_of_standard_input_is_an_entry(server: ServerProcess, cli: Lines) -> None:
    lines = [
        '{"item": "tea", "price": 3.2, "paid": true, "tags": ["a", 1], "none": null}',
        "",
        '{"raw": {"base64": "/wA="}, "name": "caf\\u00e9"}',
        '{"id": "7-0", "fields": [["twice", "1"], ["twice", "2"]]}',
    ]
    done = feed(["add", "orders", "-"], "\n".join(lines).encode(), server)
    assert done.returncode == 0 and done.stdout.startswith(b"added 3 entries to orders, ")
    assert entries(cli) == [
        [
            b"item",
            b"tea",
            b"price",
            b"3.2",
            b"paid",
            b"true",
            b"tags",
            b'["a", 1]',
            b"none",
            b"null",
        ],
        [b"raw", b"\xff\x00", b"name", "café".encode()],
        [b"twice", b"1", b"twice", b"2"],
    ]


def test_many_lines_are_pipelined_and_counted(server: ServerProcess, cli: Lines) -> None:
    data = b"".join(b'{"n": %d}\n' % number for number in range(1203))
    done = feed(["add", "orders", "-", "--json"], data, server)
    told = json.loads(done.stdout)
    ids = [entry_id.decode() for entry_id, _ in cli.ask("XRANGE", "orders", "-", "+")]
    assert told == {"stream": "orders", "added": 1203, "first": ids[0], "last": ids[-1]}
    assert entries(cli) == [[b"n", b"%d" % number] for number in range(1203)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "no JSON"),
        (b"[1]", "no object"),
        (b"{}", "no fields"),
        (b'{"a": 1, "a": 2}', "a name occurs twice"),
        (b'{"a": {"base64": "?"}}', "a base64 that is not valid"),
        (b'{"id": "1-0", "fields": [["a"]]}', "neither an object nor a list of pairs"),
        (b"\xff", "no JSON"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_those_before_it_count(
    line: bytes, told: str, server: ServerProcess, cli: Lines
) -> None:
    done = feed(["add", "orders", "-"], b'{"a": 1}\n{"a": 2}\n' + line + b'\n{"a": 3}\n', server)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1
    said = done.stderr.decode()
    assert said.startswith("forebay: line 3 of standard input: ") and told in said
    assert said.endswith("2 entries were added to orders\n")
    assert cli.ask("XLEN", "orders") == 2


def test_a_refused_entry_of_standard_input_is_told(server: ServerProcess, cli: Lines) -> None:
    done = feed(["add", "orders", "-", "--id", "5-5"], b'{"a": 1}\n{"a": 2}\n', server)
    assert done.returncode == 1
    told = done.stderr.decode()
    assert told.startswith("forebay: line 2 of standard input: ") and "equal or smaller" in told
    assert told.endswith("; 1 entry was added to orders\n")
    assert cli.ask("XLEN", "orders") == 1
