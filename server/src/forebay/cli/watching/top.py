"""``forebay top``: streams and groups as a live table, the busiest first."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import App, Parameter

from forebay.cli.moments import iso, length_ms
from forebay.cli.output import counted, json_of, text_of, write_json
from forebay.cli.remote.facts import program
from forebay.cli.remote.names import is_pattern
from forebay.cli.remote.option import Url
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Json, Patterns, at_least_one
from forebay.cli.tables import Cell, made_table, show_table
from forebay.cli.watching.sample import Row, Sample, rows, sample, with_ages
from forebay.cli.words import size, span, whole

HELP = """\
Show streams and their groups as a live table, the busiest first, until ctrl-c.

It shows entries, how many come in and go out per second, pending entries, and how far
each group is behind, in entries and in time.
"""

EPILOG = """\
examples:
  forebay top
  forebay top 'orders:*' --every 500ms
  forebay top --count 1                          one table, then stop
  forebay top --json --every 10s >> rates.ndjson

in/s: entries added per second.  out/s: entries given to the group per second.
lag: entries that the group was not given yet.  behind: the age of the oldest of them.
A dash means not known.
"""

app = App(name="top", help=HELP, help_epilogue=EPILOG)

COLUMNS = (
    *("stream", "entries", "in/s", "group", "consumers", "pending", "out/s", "lag", "behind"),
)
USUAL_MS = 2000
SHORTEST_MS = 50
#: Lines of a terminal that are not rows: the head, the names of columns, the last line.
OTHER_LINES = 6

Every = Annotated[int, Parameter(metavar="TIME", converter=length_ms, help="how often (2s)")]
Tables = Annotated[
    int | None,
    Parameter(alias="-n", metavar="N", converter=at_least_one, help="end after this many tables"),
]
Rows = Annotated[
    int | None,
    Parameter(metavar="N", converter=at_least_one, help="the first N rows (what fits, or 50)"),
]


@app.default
def top(
    *streams: Patterns,
    every: Every = USUAL_MS,
    count: Tables = None,
    rows: Rows = None,
    json: Json = False,
    url: Url = None,
) -> int:
    """Look, wait, look again."""
    with connected(url) as server:
        watch = Watch(server, streams or ("*",), max(every, SHORTEST_MS) / 1000, rows)
        if json:
            watch.run(count, tell_json)
        elif sys.stdout.isatty() and count is None:
            watch_on_terminal(watch)
        else:
            watch.run(count, tell_table)
    return 0


class Watch:
    """Compares each sample with the one before."""

    def __init__(
        self, server: Server, words: Sequence[str], every_s: float, most: int | None
    ) -> None:
        self.server, self.words, self.every_s, self.most = server, words, every_s, most
        self.last = sample(server, self.names())

    def names(self) -> list[bytes]:
        """The streams that exist now; a name must exist, a pattern may match none."""
        found: dict[bytes, None] = {}
        for word in self.words:
            names = self.server.streams(word) if is_pattern(word) else self.server.chosen([word])
            found.update(dict.fromkeys(names))
        return list(found)

    def turn(self) -> tuple[Sample, list[Row], int]:
        """Wait, look, and say what changed: the rows that fit, and how many there are."""
        time.sleep(self.every_s)
        now = sample(self.server, self.names())
        found = rows(self.last, now)
        self.last = now
        lines = shutil.get_terminal_size().lines - OTHER_LINES
        most = self.most or (max(1, lines) if sys.stdout.isatty() else 50)
        return now, list(with_ages(self.server, found[:most], now.now_ms)), len(found)

    def run(self, count: int | None, tell: Any) -> None:
        """``count`` turns, or for ever."""
        done = 0
        while count is None or done < count:
            now, shown, there = self.turn()
            tell(now, shown, there)
            sys.stdout.flush()
            done += 1


def watch_on_terminal(watch: Watch) -> None:
    """Draw on the same place again and again; at the end the screen is as before."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False)
    with Live(Text("looking ..."), console=console, screen=True, auto_refresh=False) as live:
        while True:
            now, shown, there = watch.turn()
            said = watch.server.info()
            head = f"{program(said)} at {watch.server.address}  {iso(now.now_ms)}"
            load = (
                f"{counted(len(now.streams), 'stream')}, "
                f"{counted(whole(said.get('connected_clients')) or 0, 'client')}, "
                f"{whole(said.get('instantaneous_ops_per_sec')) or 0:,} commands/s, "
                f"{size(whole(said.get('used_memory')) or 0)}"
            )
            table = made_table(COLUMNS, [cells(row) for row in shown])
            live.update(Group(Text(head), Text(load), table, Text(rest(shown, there))))
            live.refresh()


def tell_table(_: Sample, shown: Sequence[Row], there: int) -> None:
    """Print a table, in a pipe or with --count."""
    show_table(COLUMNS, [cells(row) for row in shown])
    sys.stdout.write(f"{rest(shown, there)}\n")


def rest(shown: Sequence[Row], there: int) -> str:
    """How many rows are not shown."""
    return f"... {there - len(shown):,} more" if there > len(shown) else ""


def cells(row: Row) -> list[Cell]:
    """A row for people."""
    group = row.group
    head: list[Cell] = [text_of(row.stream.name), row.stream.length, row.in_rate]
    if group is None:
        return [*head, "", "", "", "", "", ""]
    behind = None if row.behind_ms is None else span(row.behind_ms / 1000) if row.behind_ms else "0"
    counts: list[Cell] = [group.consumers, group.pending, row.out_rate, group.lag]
    return [*head, text_of(group.name), *counts, behind]


def tell_json(now: Sample, shown: Sequence[Row], _: int) -> None:
    """Print one object per row."""
    for row in shown:
        group = row.group
        facts: dict[str, Any] = {
            "time_ms": now.now_ms,
            "stream": json_of(row.stream.name),
            "entries": row.stream.length,
            "in_per_s": row.in_rate,
            "group": json_of(group.name) if group else None,
        }
        if group is not None:
            facts |= {
                "consumers": group.consumers,
                "pending": group.pending,
                "out_per_s": row.out_rate,
                "lag": group.lag,
                "behind_ms": row.behind_ms,
            }
        write_json(facts)
