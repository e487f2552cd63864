"""``make demo``: run the race, kill a worker, kill the server, watch nothing get lost.

The director starts everything as separate processes, so that the crashes are real
ones: bob is killed with SIGKILL while he holds reports that he has not acknowledged,
and at last the server itself, which then starts again from its log.
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
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import Synchronized
from typing import Any

import redis

import forebay
from examples.demo.riders import (
    CHECKPOINTS,
    GROUP,
    RIDERS,
    STREAM,
    connect,
    keep_time,
    podium,
    report_checkpoint,
)

LAPS = 15
REPORTS = LAPS * CHECKPOINTS * len(RIDERS)
PATIENCE_S = 20.0

start_process = multiprocessing.get_context("spawn")


def say(text: str = "") -> None:
    """A line with the seconds since the start; bold where a terminal can show it."""
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"{time.perf_counter() - STARTED:6.2f} s  {bold}{text}{plain}", flush=True)


STARTED = time.perf_counter()


def start_server(folder: str) -> tuple[subprocess.Popen[bytes], int]:
    """A server on a free port that keeps its log in ``folder``, ready when it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "forebay",
        "serve",
        "--port",
        str(port),
        "--loglevel",
        "warning",
        "--dir",
        folder,
    ]
    server = subprocess.Popen(command)
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
    """Until it is true, or too long."""
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


def main() -> None:
    """The whole story."""
    with tempfile.TemporaryDirectory(prefix="forebay-demo-") as folder:
        code = tell(folder)
    if code:
        raise SystemExit(code)


def tell(folder: str) -> int:
    """The same in a folder of its own; the exit code of the server."""
    server, port = start_server(folder)
    try:
        with connect(port) as client:
            level = client.info("server")["redis_version"]
            say(f"forebay {forebay.__version__} on port {port} speaks Redis {level}")
            race(client, port)
        server.kill()
        server.wait()
        say("the server itself was killed (SIGKILL); it starts again from its log")
        server, port = start_server(folder)
        with connect(port) as client:
            print_result(client)
    finally:
        server.terminate()
        code = server.wait(PATIENCE_S)
        say(f"server stopped, exit code {code}")
    return code


def race(client: Any, port: int) -> None:
    """Producers and consumers start; bob crashes; alice and carol finish his work."""
    client.xgroup_create(STREAM, GROUP, id="$", mkstream=True)
    client.xcfgset(STREAM, idmp_maxsize=1000)
    handled: Synchronized[int] = start_process.Value("q", 0)
    crews = [launch(report_checkpoint, port, number, LAPS) for number in range(CHECKPOINTS)]
    workers = [
        launch(keep_time, port, name, handled, REPORTS) for name in ("alice", "bob", "carol")
    ]
    say(f"{CHECKPOINTS} crews report {REPORTS} passages to {STREAM}; alice, bob, carol keep time")
    crash(client, workers[1])
    for process in (*crews, workers[0], workers[2]):
        process.join()
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


def print_result(client: Any) -> None:
    """What happened, from the server's own books."""
    stream, group = client.xinfo_stream(STREAM), client.xinfo_groups(STREAM)[0]
    retried = stream.get("iids-duplicates", 0)
    assert stream["length"] == REPORTS, "an entry was lost or written twice"
    assert (group["pending"], group["lag"]) == (0, 0), "work was left undone"
    print()
    for what, figure in (
        (f"entries in {STREAM} (expected {REPORTS})", stream["length"]),
        ("retries that the server recognised by their key", retried),
        (f"entries read by the group {GROUP}", group["entries-read"]),
        ("entries still pending", group["pending"]),
        ("entries still to be read", group["lag"]),
    ):
        print(f"    {what:50} {figure:5}")
    print("    fastest on average:")
    for place, (rider, speed) in enumerate(podium(client), 1):
        print(f"      {place}. {rider:12} {speed:5.2f} km/h")
    print()


if __name__ == "__main__":
    main()
