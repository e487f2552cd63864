"""Two engines in one process: nothing that one does shows in the other."""

from __future__ import annotations

import pytest

from forebay.commands.api.spec import ADMIN
from forebay.commands.table import TABLE
from server.tests.support.admin_client import AdminClient
from testkit.engine_client import ReplyError

Pair = tuple[AdminClient, AdminClient]


@pytest.fixture
def pair() -> Pair:
    return AdminClient(latency_threshold_ms=1), AdminClient(latency_threshold_ms=1)


def seen(client: AdminClient) -> dict[str, dict[str, str]]:
    """The counters of INFO; INFO counts itself too, so only those of other commands."""
    sections = ("commandstats", "errorstats", "latencystats")
    shown = {name: client.info(name) for name in sections}
    return {
        name: {key: value for key, value in fields.items() if not key.endswith("info")}
        for name, fields in shown.items()
    }


def test_calls_failures_and_refusals_are_counted_by_the_engine_that_saw_them(pair: Pair) -> None:
    first, second = pair
    first("XADD", "s", "1-1", "f", "v")
    first("XADD", "s", "1-1", "f", "v")
    first("XADD", "s")
    first("NOSUCH")
    second("XLEN", "s")
    assert set(seen(first)["commandstats"]) == {"cmdstat_xadd"}
    assert seen(first)["commandstats"]["cmdstat_xadd"].endswith("rejected_calls=1,failed_calls=1")
    assert seen(first)["errorstats"] == {"errorstat_ERR": "count=3"}
    assert set(seen(second)["commandstats"]) == {"cmdstat_xlen"}
    assert seen(second)["errorstats"] == {}


def test_resetstat_clears_the_counters_of_one_engine(pair: Pair) -> None:
    first, second = pair
    for client in pair:
        client("XADD", "s", "*", "f", "v")
        client("NOSUCH")
    before = seen(second)
    first("CONFIG", "RESETSTAT")
    assert set(seen(first)["commandstats"]) == {"cmdstat_config|resetstat"}
    assert seen(first)["errorstats"] == {}
    assert seen(second) == before


def test_running_times_and_spikes_are_of_one_engine(pair: Pair) -> None:
    first, second = pair
    first.engine.call_counts.ran(TABLE[b"xadd"], 900)
    first.engine.latency.record(b"command", 100, 50)
    assert first("LATENCY", "HISTOGRAM", "xadd") != []
    assert second("LATENCY", "HISTOGRAM", "xadd") == []
    assert second("LATENCY", "LATEST") == []
    assert "latency_percentiles_usec_xadd" in seen(first)["latencystats"]
    assert "latency_percentiles_usec_xadd" not in seen(second)["latencystats"]


def test_every_command_leaves_the_other_engine_as_it_was(pair: Pair) -> None:
    first, second = pair
    second("XADD", "s", "1-1", "f", "v")
    before = seen(second), second.raw("XINFO", "STREAM", "s"), second.raw("DBSIZE")
    for row in TABLE.values():
        if not row.flags & ADMIN:
            first.raw(row.name, *([b"s"] * (abs(row.arity) - 1)))
    after = seen(second), second.raw("XINFO", "STREAM", "s"), second.raw("DBSIZE")
    assert after[1:] == before[1:]
    del after[0]["commandstats"]["cmdstat_xinfo|stream"], after[0]["commandstats"]["cmdstat_dbsize"]
    assert after[0]["commandstats"] == before[0]["commandstats"]
    assert after[0]["errorstats"] == before[0]["errorstats"]


def test_an_xadd_that_failed_half_way_leaves_its_words_to_nobody(pair: Pair) -> None:
    first, second = pair
    words = ["NOMKSTREAM", "MAXLEN", "~", "10", "LIMIT", "5", "KEEPREF", "IDMPAUTO", "p"]
    assert isinstance(first("XADD", "s", *words, "no-id", "f", "v"), ReplyError)
    assert second("XADD", "s", "7-*", "f", "v") == b"7-0"
    assert first("XADD", "s", "8-*", "f", "v") == b"8-0"
    assert first("XLEN", "s") == second("XLEN", "s") == 1


def test_engines_that_take_turns_write_what_each_would_write_alone(pair: Pair) -> None:
    """Pools, cached IDs and spare columns: replies of both engines, mixed."""
    first, second = pair
    alone = AdminClient()
    calls = [
        *[("XADD", "s", f"{n}-{n % 3}", "f", "v" * n) for n in range(1, 40)],
        ("XRANGE", "s", "-", "+"),
        ("XGROUP", "CREATE", "s", "g", "0"),
        ("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">"),
        ("FB.COLUMNS", "s", "-", "+", "IDS"),
        ("FB.COLUMNS", "s", "-", "+", "FIELDS", "1", "f"),
        ("XACK", "s", "g", "1-1", "2-2"),
        ("DUMP", "s"),
    ]
    for at, call in enumerate(calls):
        other = calls[at // 2]
        wanted = alone.raw(*call)
        assert first.raw(*call) == wanted
        second.raw(*other)
    assert first.engine.effects.take() == alone.engine.effects.take()


def test_what_engines_keep_for_the_next_call_is_not_the_same_object(pair: Pair) -> None:
    first, second = pair
    for client in pair:
        client("XADD", "s", "*", "f", "v")
        client("FB.COLUMNS", "s", "-", "+")
    one, other = first.engine.ctx, second.engine.ctx
    assert one.xadd_options is not other.xadd_options
    assert one.writer_pool is not other.writer_pool
    assert one.spare_columns and not {*map(id, one.spare_columns)} & {*map(id, other.spare_columns)}
