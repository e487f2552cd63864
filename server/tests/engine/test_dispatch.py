"""One command on its way through the engine: lookup, refusals, errors, statistics."""

from __future__ import annotations

import pytest

from forebay.commands.api import gates
from forebay.commands.api.context import Context
from forebay.commands.api.services import CallCount
from forebay.commands.api.spec import FAST, Command
from forebay.commands.table import TABLE
from forebay.errors import CommandError
from forebay.wire.argv import Argv, argv_of
from testkit.engine_client import START_MS, EngineClient, ReplyError


def broken(ctx: Context, argv: Argv) -> None:
    ctx.reply.array(3)
    ctx.reply.bulk(b"half a reply")
    raise ZeroDivisionError("a defect")


def refuses_late(ctx: Context, argv: Argv) -> None:
    ctx.reply.array(3)
    raise CommandError(b"LATE not today")


def slow(ctx: Context, argv: Argv) -> None:
    ctx.services.executor.ticker.now_us += int(argv[1])  # type: ignore[attr-defined]
    ctx.reply.ok()


@pytest.fixture
def client() -> EngineClient:
    extra = [
        Command(name="broken", handler=broken, arity=1, flags=0),
        Command(name="late", handler=refuses_late, arity=1, flags=FAST),
        Command(name="slow", handler=slow, arity=2, flags=FAST),
    ]
    return EngineClient(commands=TABLE | {row.name: row for row in extra})


def counted(client: EngineClient, name: bytes) -> CallCount:
    return client.engine.call_counts.of(client.engine.commands[name])


def test_a_name_is_found_in_any_letter_case(client: EngineClient) -> None:
    assert client("pInG") == "PONG"


def test_every_command_of_the_table_is_found_by_its_name(client: EngineClient) -> None:
    for name, row in client.engine.commands.items():
        for spelling in (name, name.upper()):
            assert client.engine.row_of(argv_of([spelling])) is row


def test_an_empty_command_is_nothing(client: EngineClient) -> None:
    client.engine.call(client.session, argv_of([]), START_MS)
    assert client.session.out.take() == b""


def test_an_unknown_command_names_its_first_arguments(client: EngineClient) -> None:
    assert client.raw("FOO", "bar", "baz") == (
        b"-ERR unknown command 'FOO', with args beginning with: 'bar' 'baz' \r\n"
    )
    assert client.raw("FOO") == b"-ERR unknown command 'FOO'\r\n"


def test_an_unknown_command_shows_at_most_128_bytes_of_name_and_arguments(
    client: EngineClient,
) -> None:
    assert client.raw("F" * 200, "a" * 50, "b" * 50, "c" * 50, "d") == (
        b"-ERR unknown command '%b', with args beginning with: '%b' '%b' '%b' \r\n"
        % (b"F" * 128, b"a" * 50, b"b" * 50, b"c" * 22)
    )


def test_line_ends_and_zero_bytes_cannot_leave_the_error_line(client: EngineClient) -> None:
    assert client.raw("FOO", b"a\r\nb\0c") == (
        b"-ERR unknown command 'FOO', with args beginning with: 'a  b' \r\n"
    )


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["echo"], b"echo"),
        (["PING", "a", "b"], b"ping"),
        (["CLIENT"], b"client"),
        (["CLIENT", "ID", "x"], b"client|id"),
        (["client", "kill"], b"client|kill"),
        (["XGROUP"], b"xgroup"),
        (["XGROUP", "create", "k"], b"xgroup|create"),
    ],
)
def test_wrong_arity_names_the_command_in_lower_case(
    client: EngineClient, words: list[str], name: bytes
) -> None:
    assert client.raw(*words) == b"-ERR wrong number of arguments for '%b' command\r\n" % name


def test_an_unknown_subcommand_is_shown_as_typed(client: EngineClient) -> None:
    assert client.raw("client", "Foo", "x") == (
        b"-ERR unknown subcommand 'Foo'. Try CLIENT HELP.\r\n"
    )
    assert client.raw("CLIENT", "F" * 200) == (
        b"-ERR unknown subcommand '%b'. Try CLIENT HELP.\r\n" % (b"F" * 128)
    )


def test_a_command_error_unwrites_what_was_written_before_it(client: EngineClient) -> None:
    client.send("PING")
    client.send("LATE")
    client.send("PING")
    assert client.session.out.take() == b"+PONG\r\n-LATE not today\r\n+PONG\r\n"


def test_a_defect_is_logged_answered_and_survived(client: EngineClient) -> None:
    with pytest.raises(ZeroDivisionError):
        client.send("BROKEN")
    assert client.session.out.take() == b"-ERR internal error\r\n"
    assert client.engine.stats.faults == 1
    assert client("PING") == "PONG"


def test_a_defect_inside_exec_spoils_only_its_own_reply(client: EngineClient) -> None:
    for words in (["MULTI"], ["PING"], ["BROKEN"], ["ECHO", "x"]):
        client(*words)
    with pytest.raises(ZeroDivisionError):
        client.send("EXEC")
    assert client.session.out.take() == b"*3\r\n+PONG\r\n-ERR internal error\r\n$1\r\nx\r\n"


# Statistics


def test_calls_and_their_times_are_counted_by_row(client: EngineClient) -> None:
    for usec in (1, 100, 3):
        client("SLOW", usec)
    count = counted(client, b"slow")
    assert (count.calls, count.usec, count.failed_calls, count.rejected_calls) == (3, 104, 0, 0)
    assert sum(count.buckets) == 3
    assert client.engine.stats.commands == 3
    assert client.session.calls == 3


def test_a_clock_that_goes_backwards_does_no_harm(client: EngineClient) -> None:
    client("SLOW", -50)
    assert counted(client, b"slow").usec == 0


def test_an_error_of_the_handler_is_a_failed_call(client: EngineClient) -> None:
    client("LATE")
    count = counted(client, b"late")
    assert (count.calls, count.failed_calls, count.rejected_calls) == (1, 1, 0)
    assert client.engine.stats.errors == {b"LATE": 1}


def test_a_refusal_before_the_handler_is_a_rejected_call(client: EngineClient) -> None:
    client("LATE", "x")
    count = counted(client, b"late")
    assert (count.calls, count.failed_calls, count.rejected_calls) == (0, 0, 1)
    assert client.engine.stats.errors == {b"ERR": 1}
    assert client.engine.stats.error_replies == 1


def test_a_subcommand_is_counted_in_its_own_row(client: EngineClient) -> None:
    client("CLIENT", "ID")
    assert counted(client, b"client").calls == 0
    assert client.engine.call_counts.of(TABLE[b"client"].subcommands[b"id"]).calls == 1


def test_the_commands_of_exec_are_counted_one_by_one(client: EngineClient) -> None:
    client("MULTI")
    client("PING")
    client("LATE")
    client("EXEC")
    assert counted(client, b"ping").calls == 1
    assert counted(client, b"late").failed_calls == 1
    assert counted(client, b"exec").calls == 1
    assert counted(client, b"exec").failed_calls == 0


# Slow commands


def test_a_slow_command_goes_to_the_slow_log(client: EngineClient) -> None:
    client("SLOW", 9_999)
    client("SLOW", 10_000)
    (call,) = client.engine.slowlog.entries(-1)
    assert call.argv == [b"SLOW", b"10000"]
    assert (call.usec, call.at_s, call.addr) == (10_000, START_MS // 1000, b"127.0.0.1:50000")


def test_the_slow_log_hides_passwords(client: EngineClient) -> None:
    client.configure(slowlog_slower_than_us=0)
    client("AUTH default secret")
    client("HELLO 2 AUTH default secret")
    kept = [call.argv for call in client.engine.slowlog.entries(-1)]
    assert all(b"secret" not in args for args in kept)
    assert kept[1] == [b"AUTH", b"(redacted)", b"(redacted)"]


def test_a_negative_threshold_switches_the_slow_log_off(client: EngineClient) -> None:
    client.configure(slowlog_slower_than_us=-1)
    client("SLOW", 10_000_000)
    assert len(client.engine.slowlog) == 0


def test_the_slow_log_keeps_the_newest_and_cuts_arguments(client: EngineClient) -> None:
    client.configure(slowlog_slower_than_us=0, slowlog_max_len=2)
    client("ECHO", "first")
    client("ECHO", "x" * 200)
    client("FOO")
    client("EXISTS", *[str(i) for i in range(40)])
    newest, older = client.engine.slowlog.entries(10)
    assert len(newest.argv) == 32
    assert newest.argv[-1] == b"... (10 more arguments)"
    assert older.argv == [b"ECHO", b"x" * 128 + b"... (72 more bytes)"]


def test_a_spike_is_noted_under_the_kind_of_command(client: EngineClient) -> None:
    client.configure(latency_threshold_ms=5)
    client("SLOW", 4_999)
    client("SLOW", 7_000)
    client("SLOW", 6_000)
    assert client.engine.latency.samples(b"fast-command") == [(START_MS // 1000, 7)]


# Memory


def test_commands_that_need_memory_are_refused_when_it_is_full() -> None:
    client = EngineClient(maxmemory=100)
    assert client("SET", "a", "b") == "OK"
    client.engine.services.memory_used = lambda: 101
    refusal = ReplyError("OOM command not allowed when used memory > 'maxmemory'.")
    assert client("SET", "a", "b") == refusal
    assert client("GET", "a") == b"b"
    assert client("DEL", "a") == 1
    client.configure(maxmemory=0)
    assert client("SET", "a", "b") == "OK"


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        ("MAXLEN 3 *", True),
        ("MAXLEN = 2 *", True),
        ("MAXLEN ~ 3 *", True),
        ("MAXLEN ~ 3 LIMIT 100 *", True),
        ("MINID 2 *", True),
        ("MAXLEN 4 *", False),
        ("MINID 1 *", False),
        ("ACKED MAXLEN 3 *", False),
        ("*", False),
    ],
)
def test_an_xadd_runs_without_memory_if_an_old_entry_goes_for_the_new_one(
    words: str, runs: bool
) -> None:
    client = EngineClient(maxmemory=100)
    for number in (1, 2, 3):
        client("XADD", "s", number, "f", "v")
    client.engine.services.memory_used = lambda: 101
    reply = client("XADD", "s", *words.split(), "f", "v")
    assert isinstance(reply, bytes) == runs, reply
    client.engine.services.memory_used = lambda: 111
    assert isinstance(client("XADD", "s", *words.split(), "f", "v"), ReplyError)


def test_an_xadd_that_makes_room_is_still_held_to_the_other_rules() -> None:
    client = EngineClient(maxmemory=100)
    client("XADD s 1 f v")
    client.engine.services.memory_used = lambda: 101
    client.engine.misconf_text = b"MISCONF no disk"
    client.engine.set_gate(gates.MISCONF, on=True)
    assert client("XADD s MAXLEN 1 * f v") == ReplyError("MISCONF no disk")
