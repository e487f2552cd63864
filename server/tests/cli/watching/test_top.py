"""``forebay top``: rates, lag in entries and time, in a pipe, on a terminal, as JSON."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess

from server.tests.support.lines import FOREBAY, Lines, Process, url_of
from testkit.servers import ServerProcess, environment

QUICK = ("--every", "50ms")


def fill(cli: Lines, stream: str, count: int) -> None:
    for _ in range(count):
        cli.ask("XADD", stream, "*", "a", "b")


def test_a_table_has_a_row_for_each_stream_and_group(cli: Lines) -> None:
    fill(cli, "a", 3)
    fill(cli, "b", 1)
    cli.ask("XGROUP", "CREATE", "a", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "COUNT", 1, "STREAMS", "a", ">")
    rows = [line.split() for line in cli("top", "--count", 1, *QUICK).splitlines()]
    assert rows[0] == ("stream entries in/s group consumers pending out/s lag behind".split())
    assert rows[1][:8] == ["a", "3", "0.0", "g", "1", "1", "0.0", "2"]
    assert rows[1][9] in ("s", "ms")
    assert rows[2] == ["b", "1", "0.0"]


def test_rates_are_what_changed_between_two_looks(server: ServerProcess, cli: Lines) -> None:
    fill(cli, "s", 10)
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    with Process(server, "top", "--json", "--every", "300ms") as top:
        first = json.loads(top.line())
        assert (first["in_per_s"], first["out_per_s"]) == (0, 0)
        fill(cli, "s", 30)
        cli.ask("XREADGROUP", "GROUP", "g", "alice", "COUNT", 25, "STREAMS", "s", ">")
        added = given = 0.0
        while not (added and given):
            told = json.loads(top.line())
            added, given = max(added, told["in_per_s"]), max(given, told["out_per_s"])
        assert told["entries"] == 40 and told["lag"] == 15 and told["pending"] == 25
        assert 0 < added <= 30 / 0.2 and 0 < given <= 25 / 0.2
        code, said = top.interrupt()
    assert (code, said) == (130, "")


def test_the_busiest_come_first_and_the_rest_is_counted(cli: Lines) -> None:
    for name in ("a", "b", "c"):
        fill(cli, name, 1)
    told = cli("top", "--count", 1, "--rows", 2, *QUICK).splitlines()
    assert [line.split()[0] for line in told[1:3]] == ["a", "b"]
    assert told[3] == "... 1 more"
    assert [each["stream"] for each in cli.objects("top", "b", "-n", 1, *QUICK)] == ["b"]


def test_a_group_that_has_everything_is_not_behind(cli: Lines) -> None:
    fill(cli, "s", 2)
    cli.ask("XGROUP", "CREATE", "s", "g", "$")
    (told,) = cli.objects("top", "--count", 1, *QUICK)
    assert (told["lag"], told["behind_ms"]) == (0, 0)


def test_a_server_without_streams_has_an_empty_table(cli: Lines) -> None:
    assert cli("top", "--count", 1, *QUICK).split()[0] == "stream"
    assert cli.objects("top", "--count", 1, *QUICK) == []


def test_ten_thousand_streams_are_looked_at(cli: Lines) -> None:
    with cli.server.client() as client:
        for number in range(10_000):
            client.send(b"XADD s:%05d 1 a b\r\n" % number)
        client.read_many(10_000)
    told = cli("top", "--count", 1, *QUICK).splitlines()
    assert told[-1] == "... 9,950 more"


def test_on_a_terminal_it_draws_until_ctrl_c_and_leaves_the_screen_as_it_was(
    server: ServerProcess, cli: Lines
) -> None:
    fill(cli, "orders", 2)
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*FOREBAY, "top", *QUICK],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment(), "FOREBAY_URL": url_of(server), "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    shown = b""
    while shown.count(b"orders") < 2:
        assert select.select([ours], [], [], 60)[0]
        shown += os.read(ours, 65536)
    process.send_signal(signal.SIGINT)
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert process.wait(60) == 130
    text = shown.decode("utf-8", "replace")
    assert text.startswith("\x1b[?1049h") and text.endswith("\x1b[?25h\x1b[?1049l")
    assert "Traceback" not in text
    assert re.search(r"1 stream, \d+ clients?, [\d,]+ commands/s, ", text)


def test_a_mistake_is_wrong_usage(cli: Lines) -> None:
    assert cli.refused("top", "--every", "often", code=2).startswith(
        "argument --every: 'often' is no length of time"
    )
