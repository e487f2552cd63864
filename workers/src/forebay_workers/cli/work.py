"""``forebay work``: run the handlers of an app, in several processes, and show what they do."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console
from rich.live import Live

from forebay_workers.cli.supervisor import Supervisor
from forebay_workers.cli.telling import complain, told
from forebay_workers.clock import RealClock
from forebay_workers.observe.health import Health, address
from forebay_workers.observe.metrics import prometheus, whole

EPILOG = """\
One line for each stream says how many messages a second are handled, how many wait (lag), how
many are being handled (pending), and how many were tried again or are dead letters. After SIGTERM
or ctrl-c, handlers have --grace seconds to end; all other messages are handed back.

The server is the one that App(url) names, or else FOREBAY_URL. Modules are searched in this
folder first. If the app does not set up logging, the log goes to standard error.

examples:
  forebay work shop:app
  forebay work shop:app --workers 4 --health :8081
  forebay work shop:app --reload
"""

app = App(name="work", help="Runs the handlers of an app.", help_epilogue=EPILOG)
LIVE_S, PLAIN_S, LOOK_S = 1.0, 10.0, 1.0


@app.default
@told
async def work(
    place: Annotated[str, Parameter(name="APP", help="module:name of the App, as shop:app")],
    /,
    *,
    workers: Annotated[int, Parameter(metavar="N", show_default=True, help="processes")] = 1,
    reload: Annotated[bool, Parameter(help="restart when a .py file here changes")] = False,
    health: Annotated[
        str | None, Parameter(metavar="ADDRESS", help="serve probes and metrics, as :8081")
    ] = None,
    grace: Annotated[
        float | None,
        Parameter(metavar="SECONDS", help="how long handlers may take to end (from the App)"),
    ] = None,
) -> int:
    """Run the handlers of an app."""
    if workers < 1:
        complain("--workers must be 1 or more")
        return 2
    clock = RealClock()
    supervisor = Supervisor(place, workers, grace, clock, complain, printed_for_children())
    probes = Health(lambda: supervisor.is_ready, lambda: prometheus(supervisor.report()))
    if health is not None:
        await probes.start(*address(health))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, supervisor.stop)
    beside = [asyncio.create_task(show(supervisor, clock))]
    if reload:
        beside.append(asyncio.create_task(watch(supervisor, clock)))
    try:
        return await supervisor.run()
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await probes.close()


def printed_for_children() -> list[str]:
    """The outputs of children to print ourselves, so that they do not mix with the live lines."""
    if not sys.stderr.isatty():
        return []
    return ["stderr", "stdout"] if sys.stdout.isatty() else ["stderr"]


def lines(
    report: Mapping[str, Mapping[str, float]], handled: dict[str, float], seconds: float
) -> Iterator[str]:
    """One line a stream; ``handled`` has the counts of the previous lines."""
    report = whole(report)
    width = max(map(len, report), default=0)
    for stream, row in sorted(report.items()):
        rate = (row["handled"] - handled.get(stream, 0.0)) / seconds
        handled[stream] = row["handled"]
        lag = f"{row['lag']:,.0f}" if "lag" in row else "?"
        yield (
            f"{stream:<{width}}  {rate:>9,.1f}/s  lag {lag}  pending {row.get('pending', 0):,.0f}  "
            f"retries {row['failed']:,.0f}  dead {row.get('dead', 0):,.0f}"
        )


async def show(supervisor: Supervisor, clock: RealClock) -> None:
    """Live lines on a terminal, plain ones elsewhere."""
    console = Console(stderr=True, highlight=False)
    handled: dict[str, float] = {}
    if not console.is_terminal:
        while True:
            await clock.sleep(PLAIN_S)
            for line in lines(supervisor.report(), handled, PLAIN_S):
                sys.stderr.write(line + "\n")
    with Live(console=console, auto_refresh=False, redirect_stdout=True) as live:
        while True:
            await clock.sleep(LIVE_S)
            live.update("\n".join(lines(supervisor.report(), handled, LIVE_S)), refresh=True)


def changes(folder: Path) -> dict[str, float]:
    """When each Python file below a folder was last changed; hidden folders are left out."""
    found = {}
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._"]
        for name in names:
            if name.endswith(".py"):
                file = os.path.join(path, name)  # noqa: PTH118 - a thousand calls, each second
                try:
                    found[file] = os.stat(file).st_mtime
                except OSError:
                    continue
    return found


async def watch(supervisor: Supervisor, clock: RealClock) -> None:
    """Reload when a file changes."""
    known = changes(Path.cwd())
    while True:
        await clock.sleep(LOOK_S)
        now = changes(Path.cwd())
        if now != known:
            known = now
            supervisor.reload()
