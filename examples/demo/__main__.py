"""``make demo``: a race on a server, two crashes, and everything in a lake that SQL can query.

    server   <-- crews report passages, some bad, some late, some sent twice
             --> alice, bob, carol keep time as a consumer group; bob is killed
    server   killed as well, starts again from its AOF
             --> Spark: quarantine, aggregate, archive and trim; SQL over hot and cold

The director starts everything as separate processes, so that the crashes are real ones: bob
is killed with SIGKILL while he holds reports that he has not acknowledged, and so is the
server itself.  Spark starts while the race runs.  At the end everything is stopped and removed.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import redis

import forebay
from examples.demo.chart import chart
from examples.demo.lake import DEAD_LETTERS, Jobs, start_spark
from examples.demo.riders import (
    CHECKPOINTS,
    GROUP,
    RIDERS,
    STREAM,
    connect,
    keep_time,
    report_checkpoint,
)

LAPS, LAST_LAPS = 15, 2
PER_LAP = CHECKPOINTS * len(RIDERS)
REPORTS = LAPS * PER_LAP
PATIENCE_S = 60.0

start_process = multiprocessing.get_context("spawn")


def say(text: str = "") -> None:
    """A line with the seconds since the start; bold where a terminal can show it."""
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"{time.perf_counter() - STARTED:6.2f} s  {bold}{text}{plain}", flush=True)


STARTED = time.perf_counter()


def start_server(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A server on a free port that keeps its AOF in ``folder``, ready when it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = [sys.executable, "-m", "forebay", "serve", "--port", str(port), "--dir", str(folder)]
    server = subprocess.Popen([*command, "--loglevel", "warning"])
    wait_for(lambda: answers(port), "the server to answer")
    return server, port


def answers(port: int) -> bool:
    """Whether something there says PONG."""
    try:
        with connect(port) as client:
            return bool(client.ping())
    except (redis.ConnectionError, redis.BusyLoadingError):
        return False


def wait_for(true: Callable[[], bool], what: str) -> None:
    """Wait until it is true, or until it takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit(f"demo: waited {PATIENCE_S:.0f} s for {what}")
        time.sleep(0.005)


def launch(work: Callable[..., None], *args: Any) -> BaseProcess:
    """Run a part of the race in a process of its own."""
    process = start_process.Process(target=work, args=args)
    process.start()
    return process


def ride(port: int, first_lap: int, laps: int, meanwhile: Callable[[], None]) -> None:
    """Crews report some laps, each lap together; returns when they are home."""
    together = start_process.Barrier(CHECKPOINTS)
    crews = [
        launch(report_checkpoint, port, number, first_lap, laps, together)
        for number in range(CHECKPOINTS)
    ]
    meanwhile()
    for crew in crews:
        crew.join()


def main() -> None:
    """Run the whole demo."""
    with (
        tempfile.TemporaryDirectory(prefix="forebay-demo-") as folder,
        ThreadPoolExecutor(1) as background,
    ):
        code = tell(Path(folder), background)
    if code:
        raise SystemExit(code)


def tell(folder: Path, background: ThreadPoolExecutor) -> int:
    """The same in a folder of its own; returns the exit code of the server."""
    server, port = start_server(folder)
    try:
        with connect(port) as client:
            level = client.info("server")["redis_version"]
            say(f"forebay {forebay.__version__} on port {port} speaks Redis {level}")
            say("Spark starts in the background, which takes about 15 s")
            spark = background.submit(start_spark)
            race(client, port)
        server.kill()
        server.wait()
        say("the server itself was killed (SIGKILL); it starts again from its AOF")
        server, port = start_server(folder)
        with connect(port) as client:
            check_books(client)
            to_the_lake(client, port, spark, folder)
    finally:
        for process in multiprocessing.active_children():
            process.kill()
        server.terminate()
        code = server.wait(PATIENCE_S)
        say(f"server stopped, exit code {code}")
    return code


def race(client: Any, port: int) -> None:
    """Producers and consumers start; bob crashes; alice and carol finish his work."""
    client.xgroup_create(STREAM, GROUP, id="$", mkstream=True)
    client.xcfgset(STREAM, idmp_maxsize=1000)
    workers = [launch(keep_time, port, name, REPORTS) for name in ("alice", "bob", "carol")]
    say(f"{CHECKPOINTS} crews report {REPORTS} passages to {STREAM}; alice, bob, carol keep time")
    ride(port, 0, LAPS, lambda: crash(client, workers[1]))
    for worker in workers:
        worker.join()
    say("all crews are home, alice and carol have nothing left to do")


def crash(client: Any, bob: BaseProcess) -> None:
    """Kill bob the moment he holds work that he has not acknowledged."""
    wait_for(lambda: client.xlen(STREAM) > REPORTS // 4, "the race to get going")
    wait_for(lambda: held_by(client, "bob") >= 5, "bob to have his hands full")
    assert bob.pid is not None
    os.kill(bob.pid, 9)
    bob.join()
    say(f"bob crashed (SIGKILL) holding {held_by(client, 'bob')} reports that nobody else has seen")
    wait_for(lambda: held_by(client, "bob") == 0, "the others to claim what bob held")
    say("after 0.7 s of silence the others claimed them with XAUTOCLAIM")


def held_by(client: Any, name: str) -> int:
    """How many entries a consumer has pending."""
    rows = client.xinfo_consumers(STREAM, GROUP)
    return next((row["pending"] for row in rows if row["name"] == name), 0)


def check_books(client: Any) -> None:
    """Check the server's counters: nothing lost, nothing twice, nothing left."""
    stream, group = client.xinfo_stream(STREAM), client.xinfo_groups(STREAM)[0]
    assert stream["length"] == REPORTS, "an entry was lost or written twice"
    assert (group["pending"], group["lag"]) == (0, 0), "work was left undone"
    retried = stream.get("iids-duplicates", 0)
    say(f"{REPORTS} entries; {retried} retries recognised by their key; 0 pending, 0 to be read")


def to_the_lake(client: Any, port: int, spark: Future[Any], folder: Path) -> None:
    """The jobs, one more lap that stays hot, the questions, the result."""
    session = spark.result()
    say("Spark is ready")
    jobs = Jobs(session, port, folder)
    try:
        jobs.quarantine()
        say(f"quarantine: {client.xlen(DEAD_LETTERS)} bad reports went to {DEAD_LETTERS}")
        windows = jobs.aggregate()
        late = sum(report.late_rows for report in windows)
        say(f"aggregate: {len(windows)} micro-batches, {late} reports came too late for their lap")
        told = jobs.archive()
        rate = max(report.rows_per_s for report in told)
        say(f"archive: {sum(r.rows for r in told)} entries to the lake, {rate:,.0f} rows/s")
        say(f"trimmed what every group has read: {client.xlen(STREAM)} entries left on the server")
        ride(port, LAPS, LAST_LAPS, lambda: None)
        say(f"{LAST_LAPS} more laps: {client.xlen(STREAM)} hot entries on the server")
        print_result(client, *jobs.ask(say))
    finally:
        session.stop()


def print_result(client: Any, riders: list[Any], laps: list[Any]) -> None:
    """Print the SQL results over hot and cold entries together."""
    total = sum(row["passages"] for row in riders)
    hot = client.xlen(STREAM)
    wanted = REPORTS + LAST_LAPS * PER_LAP
    assert total == wanted, f"the table has {total} entries, not {wanted}"
    (letter,) = client.xrange(DEAD_LETTERS, count=1)
    print()
    for what, figure in (
        (f"passages in one table (expected {wanted})", total),
        ("of these cold, in the lake", total - hot),
        ("of these hot, on the server", hot),
        (f"bad reports in {DEAD_LETTERS}", client.xlen(DEAD_LETTERS)),
        ("progress reports in forebay:pipelines", client.xlen("forebay:pipelines")),
    ):
        print(f"    {what:50} {figure:5}")
    print(f"    a bad one: {letter[1]['reason']}  (entry {letter[1]['source_id']})")
    print("\n    average speed, km/h, from 26 on")
    rows = [(row["rider"], row["speed"] - 26, f"{row['speed']:.2f}") for row in riders]
    print("\n".join(f"      {line}" for line in chart(rows)))
    print("\n    passages a lap, by the time of the race")
    lap_rows = [(f"{r['window_start']:%H:%M}", r["passages"], str(r["passages"])) for r in laps]
    print("\n".join(f"      {line}" for line in chart(lap_rows)))
    print()


if __name__ == "__main__":
    main()
