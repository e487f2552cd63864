"""``forebay bench``: rows, ratios, nothing left on a server.  The figures are not asserted."""

from __future__ import annotations

import pytest

from server.tests.support.lines import Lines, url_of
from testkit.servers import ServerProcess

QUICK = ("--seconds", "0.05", "--rounds", "1")


def test_one_server_has_a_rate_in_each_row(cli: Lines) -> None:
    told = cli.objects("bench", *QUICK)
    assert [row["work"] for row in told] == [
        "XADD P1",
        "XADD P16",
        "XRANGE 100",
        "XREADGROUP + XACK 100",
    ]
    assert all(row["rates"][0] > 0 and row["ratio"] is None for row in told)
    assert cli.ask("DBSIZE") == 0


def test_two_servers_have_a_ratio(
    cli: Lines, forebay_server: ServerProcess, redis_server: ServerProcess
) -> None:
    urls = ["--url", url_of(forebay_server), "--url", url_of(redis_server)]
    (row,) = cli.objects("bench", *urls, "--only", "xrange", *QUICK)
    assert row["servers"][0].startswith("Forebay ") and row["servers"][1].startswith("Redis ")
    assert row["ratio"] == pytest.approx(row["rates"][0] / row["rates"][1], rel=0.01, abs=0.001)
    table = cli("bench", *urls, "--only", "P16", *QUICK).splitlines()
    assert table[0].split()[-1] == "ratio" and table[1].split()[-1].endswith("x")
    assert table[-1].startswith("ratio: the first server to the second")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--only", "XLEN"], "no row has 'XLEN' in it; rows: XADD P1, XADD P16"),
        (["--seconds", "0"], "argument --seconds: '0' is no number of seconds"),
        (["--rounds", "none"], "argument --rounds: 'none' is no number from 1 on"),
        (["--url", "rediss://a"], "bench measures plain connections, without TLS"),
        (["--url", "http://a"], "argument --url: 'http://a' cannot be used"),
    ],
)
def test_a_mistake_is_wrong_usage(words: list[str], told: str, cli: Lines) -> None:
    assert cli.refused("bench", *words, code=2).startswith(told)
