"""LATENCY: spikes by event, and the distribution of running times by command.

Where the numbers come from
    spikes      kept while latency-monitor-threshold is above 0; LATEST, HISTORY,
                GRAPH, DOCTOR and RESET work on them
    HISTOGRAM   always counted, in buckets of a power of two (histogram.py)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from forebay.commands.admin.histogram import by_powers_of_two
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import help_row
from forebay.commands.api.spec import ADMIN, LOADING, NOSCRIPT, STALE, Command
from forebay.errors import CommandError
from forebay.wire.argv import Argv

_FLAGS = ADMIN | NOSCRIPT | LOADING | STALE
_CATEGORIES = "admin slow dangerous"

GRAPH_ROWS = 4
GRAPH_COLUMNS = 80

IS_OFF = (
    "Latency monitoring is disabled. Set latency-monitor-threshold to a number of milliseconds"
    " with CONFIG SET in order to enable it: events that take longer are then kept by kind.\n"
)
NOTHING_SEEN = "No latency spike was observed since the start or the last LATENCY RESET.\n"


def latency_latest(ctx: Context, argv: Argv) -> None:
    """LATENCY LATEST."""
    latency = ctx.services.latency
    names = list(latency.events())
    ctx.reply.array(len(names))
    for name in names:
        at_s, took_ms = latency.samples(name)[-1]
        ctx.reply.value([name, at_s, took_ms, latency.maximum(name)])


def latency_history(ctx: Context, argv: Argv) -> None:
    """LATENCY HISTORY event."""
    samples = ctx.services.latency.samples(argv[2])
    ctx.reply.array(len(samples))
    for at_s, took_ms in samples:
        ctx.reply.value([at_s, took_ms])


def latency_reset(ctx: Context, argv: Argv) -> None:
    """LATENCY RESET [event ...]."""
    ctx.reply.integer(ctx.services.latency.reset(argv.list()[2:]))


def latency_graph(ctx: Context, argv: Argv) -> None:
    """LATENCY GRAPH event."""
    event = argv[2]
    samples = ctx.services.latency.samples(event)
    if not samples:
        raise CommandError(b"ERR No samples available for event '%s'" % event)
    high = ctx.services.latency.maximum(event)
    text = graph(event.decode("utf-8", "replace"), samples, high, ctx.now_ms // 1000)
    ctx.reply.verbatim(b"txt", text.encode())


def graph(event: str, samples: Sequence[tuple[int, int]], all_time_ms: int, now_s: int) -> str:
    """Columns of # for the latest spikes, the oldest on the left."""
    shown = samples[-GRAPH_COLUMNS:]
    times_ms = [took_ms for _, took_ms in shown]
    low, high = min(times_ms), max(times_ms)
    span = max(1, high - low)
    heights = [1 + (took_ms - low) * (GRAPH_ROWS - 1) // span for took_ms in times_ms]
    lines = [f"{event} - high {high} ms, low {low} ms (all time high {all_time_ms} ms)"]
    lines.append("-" * GRAPH_COLUMNS)
    lines += [
        "".join("#" if height >= row else " " for height in heights).rstrip()
        for row in range(GRAPH_ROWS, 0, -1)
    ]
    lines.append(f"from {now_s - shown[0][0]}s to {now_s - shown[-1][0]}s ago")
    return "\n".join(lines) + "\n"


def latency_doctor(ctx: Context, argv: Argv) -> None:
    """LATENCY DOCTOR."""
    ctx.reply.verbatim(b"txt", diagnosis(ctx).encode())


def diagnosis(ctx: Context) -> str:
    """The report about the spikes."""
    latency = ctx.services.latency
    names = list(latency.events())
    if not names:
        return IS_OFF if ctx.settings.latency_threshold_ms == 0 else NOTHING_SEEN
    lines = ["Latency spikes were observed:", ""]
    for number, name in enumerate(names, 1):
        samples = latency.samples(name)
        mean_ms = sum(took_ms for _, took_ms in samples) // len(samples)
        event = name.decode("utf-8", "replace")
        lines.append(
            f"{number}. {event}: {len(samples)} latency spikes (average {mean_ms}ms). "
            f"Worst all time event {latency.maximum(name)}ms."
        )
    lines += [
        "",
        "Look at SLOWLOG GET for the commands that ran long, and at the load of the machine.",
    ]
    return "\n".join(lines) + "\n"


def latency_histogram(ctx: Context, argv: Argv) -> None:
    """LATENCY HISTOGRAM [command ...]."""
    called = list(_called_rows(ctx, argv.list()[2:]))
    call_counts = ctx.services.call_counts
    out = ctx.reply
    out.map(len(called))
    for row in called:
        out.bulk(row.full_name)
        buckets = call_counts.of(row).buckets
        points = by_powers_of_two(buckets)
        out.map(2)
        out.bulk(b"calls")
        out.integer(sum(buckets))
        out.bulk(b"histogram_usec")
        out.map(len(points))
        for limit_us, calls in points:
            out.integer(limit_us)
            out.integer(calls)


def _called_rows(ctx: Context, names: Sequence[bytes]) -> Iterator[Command]:
    """The rows that were called; those of the named commands, or all."""
    commands = ctx.services.executor.commands
    counts = ctx.services.call_counts
    if names:
        rows = [_find(ctx, name.lower()) for name in names]
    else:
        rows = list(commands.values())
    for row in rows:
        if row is not None:
            family = (row, *row.subcommands.values())
            yield from (member for member in family if counts.of(member).calls)


def _find(ctx: Context, name: bytes) -> Command | None:
    container, _, sub = name.partition(b"|")
    row = ctx.services.executor.commands.get(container)
    return row.subcommands.get(sub) if row is not None and sub else row


_HELP = """
DOCTOR
    Return a human readable latency analysis report.
GRAPH <event>
    Return an ASCII latency graph for the <event> class.
HISTORY <event>
    Return time-latency samples for the <event> class.
LATEST
    Return the latest latency samples for all events.
RESET [<event> ...]
    Reset latency data of one or more <event> classes.
    (default: reset all data for all event classes)
HISTOGRAM [COMMAND ...]
    Return a cumulative distribution of latencies in the format of a histogram for the \
specified command names.
    If no commands are specified then all histograms are replied.
"""


_row = partial(Command, flags=_FLAGS, categories=_CATEGORIES, group="server")


_SUBCOMMANDS = [
    _row(
        name="doctor",
        handler=latency_doctor,
        arity=2,
        since="2.8.13",
        summary="A readable report about delays.",
        syntax="",
    ),
    _row(
        name="graph",
        handler=latency_graph,
        arity=3,
        since="2.8.13",
        summary="The samples of one event, drawn in text.",
        syntax="event",
    ),
    _row(
        name="histogram",
        handler=latency_histogram,
        arity=-2,
        since="7.0.0",
        summary="Running times of commands, as cumulative counts.",
        syntax="[command [command ...]]",
    ),
    _row(
        name="history",
        handler=latency_history,
        arity=3,
        since="2.8.13",
        summary="The samples of one event, with their times.",
        syntax="event",
    ),
    _row(
        name="latest",
        handler=latency_latest,
        arity=2,
        since="2.8.13",
        summary="The newest and the worst sample of every event.",
        syntax="",
    ),
    _row(
        name="reset",
        handler=latency_reset,
        arity=-2,
        since="2.8.13",
        summary="Forgets the samples of the given events, or of all.",
        syntax="[event [event ...]]",
    ),
    help_row(container="latency", text=_HELP, since="2.8.13"),
]

ROWS = [
    Command(
        name="latency",
        handler=None,
        arity=-2,
        flags=0,
        categories="slow",
        since="2.8.13",
        summary="Shows delays of the server.",
        group="server",
        subcommands=_SUBCOMMANDS,
    )
]
