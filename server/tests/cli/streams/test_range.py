"""``forebay range``: IDs, moments, order, and every kind of value."""

from __future__ import annotations

import re
import subprocess

import pytest

from server.tests.support.lines import FOREBAY, Lines, at_terminal, url_of
from testkit.servers import ServerProcess, environment


def ids(cli: Lines, *words: object) -> list[str]:
    return [told["id"] for told in cli.objects("range", "s", *words)]


@pytest.fixture
def numbered(cli: Lines) -> Lines:
    """Entries 1-0 to 5-0."""
    for number in range(1, 6):
        cli.ask("XADD", "s", f"{number}-0", "n", number)
    return cli


def test_without_bounds_it_is_the_whole_stream(numbered: Lines) -> None:
    assert ids(numbered) == ["1-0", "2-0", "3-0", "4-0", "5-0"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["2", "3"], ["2-0", "3-0"]),
        (["(2-0", "+"], ["3-0", "4-0", "5-0"]),
        (["-", "2-0"], ["1-0", "2-0"]),
        (["-", "+", "-n", "2"], ["1-0", "2-0"]),
        (["--reverse", "--count", "2"], ["5-0", "4-0"]),
        (["2", "4", "-r"], ["4-0", "3-0", "2-0"]),
        (["1970-01-01T00:00:00.002Z", "1970-01-01T00:00:00.004"], ["2-0", "3-0", "4-0"]),
        (["1970-01-01T01:00:00.004+01:00"], ["4-0", "5-0"]),
        (["--since", "4"], ["4-0", "5-0"]),
        (["--until", "1970-01-01T00:00:00.001Z"], ["1-0"]),
        (["--since", "10m"], []),
        (["--until", "now"], ["1-0", "2-0", "3-0", "4-0", "5-0"]),
    ],
)
def test_bounds_are_ids_or_moments(words: list[str], wanted: list[str], numbered: Lines) -> None:
    assert ids(numbered, *words) == wanted


def test_so_long_ago_is_counted_by_the_clock_of_the_server(cli: Lines) -> None:
    now_ms = int(cli.ask("TIME")[0]) * 1000
    for minutes in (90, 30, 5):
        cli.ask("XADD", "s", f"{now_ms - minutes * 60_000}-0", "ago", minutes)
    told = cli.objects("range", "s", "--since", "1h", "--until", "10m")
    assert [entry["fields"] for entry in told] == [{"ago": "30"}]


def test_a_line_for_a_person_has_id_moment_and_fields(cli: Lines) -> None:
    cli.ask("XADD", "s", "1794900000123-7", "item", "green tea", "raw", b"\xff\n", "empty", "")
    assert cli("range", "s") == (
        '1794900000123-7  2026-11-17T07:20:00.123Z  item="green tea" raw="\\xff\\n" empty=""\n'
    )


def test_an_id_that_no_calendar_has_is_told_all_the_same(cli: Lines) -> None:
    cli.ask("XADD", "s", "18446744073709551615-18446744073709551615", "a", "b")
    assert "18446744073709551615  a=b" in cli("range", "s")


def test_json_keeps_every_bit_and_every_field(cli: Lines) -> None:
    cli.ask("XADD", "s", "1-0", "a", b"\xff", "b", "é")
    cli.ask("XADD", "s", "2-0", "a", "1", "a", "2")
    cli.ask("XADD", "s", "3-0", b"\xfe", "1")
    assert [entry["fields"] for entry in cli.objects("range", "s")] == [
        {"a": {"base64": "/w=="}, "b": "é"},
        [["a", "1"], ["a", "2"]],
        [[{"base64": "/g=="}, "1"]],
    ]


def test_a_long_stream_is_read_in_pages_in_both_directions(cli: Lines) -> None:
    with cli.server.client() as client:
        for number in range(1, 7003):
            client.send(
                b"*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$%d\r\n%d\r\n$1\r\nn\r\n$1\r\n1\r\n"
                % (len(str(number)), number)
            )
        client.read_many(7002)
    wanted = [f"{number}-0" for number in range(1, 7003)]
    assert ids(cli) == wanted
    assert ids(cli, "--reverse") == wanted[::-1]
    assert ids(cli, "--reverse", "-n", 6000) == wanted[:-6001:-1]


def test_wide_entries_are_told_whole_to_programs_and_in_short_to_people(cli: Lines) -> None:
    for number in range(1, 4):
        cli.ask("XADD", "s", f"{number}-0", "wide", b"x" * 3_000_000)
    assert [len(entry["fields"]["wide"]) for entry in cli.objects("range", "s")] == [3_000_000] * 3
    told = cli("range", "s")
    assert told.count("... (3,000,000 bytes)") == 3 and len(told) < 2000


def test_a_stream_without_entries_is_no_mistake(cli: Lines) -> None:
    cli.ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    assert cli("range", "s") == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["yesterday"], "argument START: 'yesterday' is no ID and no time; write it as"),
        (["--since", "soon"], "argument --since: 'soon' is no time; write it as 10m"),
        (["--cuont", "3"], "argument START: no option --cuont"),
        (["1", "--since", "2"], "give an ID or time as a word or with --since, not both"),
        (["--count", "-3"], "argument --count: '-3' is no number from 1 on"),
    ],
)
def test_a_bound_that_is_none_is_wrong_usage(words: list[str], told: str, cli: Lines) -> None:
    assert cli.refused("range", "s", *words, code=2).startswith(told)


def test_a_pipe_that_closes_ends_it_without_a_word(server: ServerProcess, cli: Lines) -> None:
    for number in range(1, 3000):
        cli.ask("XADD", "s", f"{number}-0", "a", "x" * 100)
    line = f"{' '.join(FOREBAY)} range s | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        timeout=60,
        env={**environment(), "FOREBAY_URL": url_of(server)},
        check=True,
    )
    assert done.stdout.splitlines()[1:] == ["0"] and done.stderr == ""


def test_colour_is_for_a_terminal_and_a_line_stays_one_line(
    server: ServerProcess, cli: Lines
) -> None:
    cli.ask("XADD", "s", "1-0", "wide", "word" * 40)
    code, shown = at_terminal(["range", "s"], b"", server)
    assert code == 0 and re.search(r"\x1b\[36m1-0", shown)
    assert "\x1b" not in cli("range", "s")
    assert shown.count("\n") == 1
