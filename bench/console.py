"""``make bench-console``: what an open console costs on a large server, and how quick it is.

    python -m bench.console [--quick]

A Forebay with 10,000 streams and 1,000,000 pending entries in ten groups, and its console.

    first answer    the API of the first page
    first paint     in Chromium, from an empty cache
    an update       from the reply of an XADD to the event at a viewer with the stream on screen
    share of a core what the server, and the console itself, use while pages are open

The share without a console is subtracted.  ``load`` in the line of the machine is how many programs
wanted a core during the run: on a busy machine the times describe the machine.  Prints
each line, and after a full run writes the table in docs/console.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

import redis

from bench import report
from bench.peers import machine
from testkit.browser import chromium
from testkit.consoles import Asker, console
from testkit.servers import ServerProcess, cpu_s, start_forebay
from testkit.waiting import wait_until

STREAMS, FULL, QUICK = 10_000, 1_000_000, 100_000
BUSY = 10
PIECE = 1_000
PACE_S = 0.37


class Line(NamedTuple):
    """One figure, and what it should be."""

    name: str
    figure: str
    goal: str

    def row(self) -> str:
        """A row of the table."""
        return f"| {self.name} | {self.figure} | {self.goal} |"


def name_of(number: int) -> str:
    """A stream; the busy ones come first on the page."""
    return f"stream:{number:05}"


def fill(client: redis.Redis, pending: int) -> None:
    """Make the streams; ten of them have groups with delivered entries."""
    for start in range(0, STREAMS, PIECE):
        pipe = client.pipeline(transaction=False)
        for number in range(start, start + PIECE):
            pipe.xadd(name_of(number), {"n": number})
        pipe.execute()
    for number in range(BUSY):
        stream, share = name_of(number), pending // BUSY
        client.xgroup_create(stream, "readers", 0)
        for start in range(0, share, PIECE):
            pipe = client.pipeline(transaction=False)
            for entry in range(start, min(start + PIECE, share)):
                pipe.execute_command("XADD", stream, "*", "n", entry, "text", "some words")
            pipe.execute()
            given: dict[Any, Any] = {stream: ">"}
            client.xreadgroup("readers", f"consumer {start % 7}", given, count=PIECE + 1)


def shares(seconds: float, *pids: int) -> list[float]:
    """The share of a core that each of these processes uses, measured for a while."""
    begun_s, used_s = time.perf_counter(), [cpu_s(pid) for pid in pids]
    time.sleep(seconds)
    took_s = time.perf_counter() - begun_s
    return [(cpu_s(pid) - used) / took_s for pid, used in zip(pids, used_s, strict=True)]


def first_answers(asker: Asker, rounds: int) -> list[float]:
    """Milliseconds until the API has answered."""
    found = []
    for _ in range(rounds):
        begun_s = time.perf_counter()
        asker.get("/streams?count=50")
        found.append((time.perf_counter() - begun_s) * 1000)
    return found


def updates(asker: Asker, client: redis.Redis, rounds: int) -> list[float]:
    """Milliseconds from the reply of an XADD to the event with its new length."""
    found, dice = [], Random(1)
    with asker.live("/streams?count=50") as states:
        state = next(states)
        for _ in range(rounds):
            at = dice.randrange(50)
            wanted = state["streams"][at]["length"] + 1
            time.sleep(dice.random() * PACE_S)
            client.xadd(state["streams"][at]["name"], {"n": 1})
            begun_s = time.perf_counter()
            while state["streams"][at]["length"] != wanted:
                state = next(states)
            found.append((time.perf_counter() - begun_s) * 1000)
    return found


def paints(port: int, rounds: int) -> list[float]:
    """Milliseconds until something is on the screen, each time in a new browser."""
    found = []
    for _ in range(rounds):
        with chromium() as browser, browser.page(port) as page:
            page.go("")
            page.see("stream:00049")
            script = "return performance.getEntriesByType('paint').map((one) => one.startTime)"
            found.append(max(page.driver.execute_script(script)))
    return found


@contextmanager
def looking(asker: Asker, pages: int) -> Iterator[None]:
    """Open this many pages; their events are read as a browser reads them."""
    over = threading.Event()

    def read(path: str) -> None:
        with asker.live(path) as states:
            for _ in states:
                if over.is_set():
                    return

    paths = ("/streams?count=50", "/server")
    readers = [threading.Thread(target=read, args=(path,)) for path in paths * pages]
    for reader in readers:
        reader.start()
    try:
        yield
    finally:
        over.set()
        for reader in readers:
            reader.join()


def measured(server: ServerProcess, client: redis.Redis, quick: bool) -> Iterator[Line]:
    """Measure everything."""
    rounds, seconds = (10, 5.0) if quick else (100, 20.0)
    (alone,) = shares(seconds, server.pid)
    with console(f"redis://127.0.0.1:{server.port}") as asker:
        asker.enter()
        begun_s = time.perf_counter()
        wait_until("all are known", lambda: asker.get("/streams")["total"] == STREAMS, 120)
        yield Line("all streams are known after", f"{time.perf_counter() - begun_s:.1f} s", "")
        yield of_times("first answer of the API", first_answers(asker, rounds), "")
        for pages in (1, 20):
            with looking(asker, pages):
                used, own = shares(seconds, server.pid, asker.pid)
            name = "an open page" if pages == 1 else f"{pages} open pages"
            yield Line(f"share of a core for {name}: server", f"{used - alone:.1%}", "at most 2 %")
            yield Line(f"share of a core for {name}: console", f"{own:.1%}", "")
        yield of_times("an update", updates(asker, client, rounds), "within 200 ms")
        yield of_times("first paint", paints(asker.port, 2 if quick else 5), "under 1,000 ms")


def of_times(name: str, times_ms: list[float], goal: str) -> Line:
    """The median, the 90th percentile and the worst of some times."""
    most = sorted(times_ms)[len(times_ms) * 9 // 10]
    told = f"{median(times_ms):,.0f} ms; 9 of 10 within {most:,.0f} ms, all {max(times_ms):,.0f} ms"
    return Line(name, told, goal)


def main() -> None:
    """Measure, print, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the entries, less time")
    quick = parser.parse_args().quick
    facts = machine()
    print(report.told(facts))
    directory = Path(tempfile.mkdtemp())
    server = start_forebay(directory)
    try:
        with closing(redis.Redis(port=server.port)) as client:
            fill(client, QUICK if quick else FULL)
            lines = []
            for line in measured(server, client, quick):
                lines.append(line)
                print(f"{line.name:50} {line.figure:55} {line.goal}", flush=True)
    finally:
        server.stop()
        shutil.rmtree(directory)
    if not quick:
        facts["load"] = f"{os.getloadavg()[1]:.0f}"
        write_page(lines, facts)


def write_page(lines: list[Line], facts: dict[str, str]) -> None:
    """The table in docs/console.md."""
    rows = ["| | measured | goal |", "| --- | --- | --- |", *(line.row() for line in lines)]
    page = report.ROOT / "docs" / "console.md"
    report.write_between_markers(page, f"On {report.told(facts)}:", rows)


if __name__ == "__main__":
    main()
