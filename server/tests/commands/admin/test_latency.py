"""LATENCY: spikes, and the histogram of running times."""

from collections.abc import Sequence

from forebay.commands.admin.histogram import by_powers_of_two, percentile, upper_bound
from forebay.commands.table import TABLE
from forebay.engine.call_counts import CallCounts
from server.tests.support.admin_client import AdminClient
from testkit.resp import ReplyError


def with_spikes() -> AdminClient:
    client = AdminClient(latency_threshold_ms=1)
    for second, took_ms in [(100, 5), (101, 50), (103, 20)]:
        client.engine.latency.record(b"command", second, took_ms)
    return client


def test_latest_answers_name_time_last_and_worst() -> None:
    assert with_spikes()("LATENCY", "LATEST") == [[b"command", 103, 20, 50]]


def test_history_is_oldest_first_and_empty_for_an_unknown_event() -> None:
    client = with_spikes()
    assert client("LATENCY", "HISTORY", "command") == [[100, 5], [101, 50], [103, 20]]
    assert client("LATENCY", "HISTORY", "nosuch") == []


def test_reset_answers_how_many_events_it_forgot() -> None:
    client = with_spikes()
    assert client("LATENCY", "RESET", "nosuch") == 0
    assert client("LATENCY", "RESET") == 1
    assert client("LATENCY", "LATEST") == []


def test_graph_draws_the_spikes() -> None:
    text = with_spikes()("LATENCY", "GRAPH", "command").decode()
    assert text.startswith("command - high 50 ms, low 5 ms (all time high 50 ms)\n")
    assert text.splitlines()[2:6] == [" #", " #", " ##", "###"]


def test_graph_of_an_event_without_samples_is_an_error() -> None:
    assert with_spikes()("LATENCY", "GRAPH", "fork") == ReplyError(
        "ERR No samples available for event 'fork'"
    )


def test_doctor_says_whether_it_watches_and_what_it_saw() -> None:
    assert b"disabled" in AdminClient()("LATENCY", "DOCTOR")
    assert b"No latency spike" in AdminClient(latency_threshold_ms=1)("LATENCY", "DOCTOR")
    report = with_spikes()("LATENCY", "DOCTOR")
    assert b"command: 3 latency spikes (average 25ms). Worst all time event 50ms." in report


def test_a_slow_command_becomes_a_spike() -> None:
    client = AdminClient(latency_threshold_ms=10)
    ticker = client.engine.ticker

    def slow(ctx: object, argv: object) -> None:
        ticker.now_us += 25_000
        client.session.out.ok()

    row = client.engine.commands[b"randomkey"]
    handler, row.handler = row.handler, slow
    try:
        client("RANDOMKEY")
    finally:
        row.handler = handler
    ((event, _, took_ms, worst_ms),) = client("LATENCY", "LATEST")
    assert (event, took_ms, worst_ms) == (b"command", 25, 25)


def test_histogram_counts_calls_up_to_each_power_of_two() -> None:
    client = AdminClient()
    client("CONFIG", "RESETSTAT")
    for usec in (1, 3, 4, 5, 100):
        client.engine.call_counts.ran(client.engine.commands[b"xlen"], usec)
    client("HELLO", "3")
    histogram = client("LATENCY", "HISTOGRAM", "xlen", "nosuch")
    points = {1: 1, 4: 3, 8: 4, 128: 5}
    assert histogram == {b"xlen": {b"calls": 5, b"histogram_usec": points}}


def test_histogram_of_a_container_is_that_of_its_subcommands() -> None:
    client = AdminClient()
    client("CONFIG", "RESETSTAT")
    client("CONFIG", "GET", "port")
    client("HELLO", "3")
    names = set(client("LATENCY", "HISTOGRAM", "config"))
    assert names == {b"config|get", b"config|resetstat"}
    assert set(client("LATENCY", "HISTOGRAM", "config|get")) == {b"config|get"}
    assert b"hello" in client("LATENCY", "HISTOGRAM")


def test_help_has_every_subcommand_of_the_table() -> None:
    lines = AdminClient()("LATENCY", "HELP")
    named = {line.split()[0].lower().encode() for line in lines[1:] if not line.startswith(" ")}
    assert named == set(TABLE[b"latency"].subcommands)


def buckets_of(*times_us: int) -> Sequence[int]:
    """The buckets of one command after calls of these durations."""
    row = TABLE[b"ping"]
    counts = CallCounts([row])
    for usec in times_us:
        counts.ran(row, usec)
    return counts.of(row).buckets


def test_every_time_falls_into_the_bucket_whose_bounds_hold_it() -> None:
    for usec in [*range(300), 1 << 20, (1 << 40) + 12345, (1 << 62) + 1]:
        bucket = buckets_of(usec).index(1)
        assert usec <= upper_bound(bucket)
        assert bucket == 0 or usec > upper_bound(bucket - 1)


def test_percentiles_are_at_most_a_quarter_above_the_truth() -> None:
    buckets = buckets_of(*range(1, 1001))
    assert 500 <= percentile(buckets, 50) <= 625
    assert 990 <= percentile(buckets, 99) <= 1240
    assert by_powers_of_two(buckets)[-1] == (1024, 1000)
