"""R23: the memory and the open files of a server that runs for a long time do not grow.

The clock of the server runs 360 times as fast (soak_server.py): an hour takes ten seconds.  Each
hour streams are trimmed, groups are created and destroyed, keys expire, connections open and
close, the AOF is rewritten and snapshots are saved.  At the end of an hour all is quiet for a
moment, and the server is measured:

    memory    of the hours after the warm-up, the slope of a straight line, at most 1 % an hour
    files     as many open descriptors as after the warm-up
    data      streams within their limits, no group or consumer too many, expired keys gone
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from reliability.goals import Outcome
from testkit.resp import RawClient, encode, parse
from testkit.servers import ServerProcess, free_port, worker_path
from testkit.waiting import wait_until

FACTOR = 360
HOUR_S = 3600 / FACTOR
#: The first hours are not judged: buffers, caches and the allocator grow to their size.
WARM_UP_SHARE = 0.4
MOST_SLOPE = 0.01
#: A slope below this is noise of the allocator, whatever the share: bytes an hour.
NOISE_BYTES = 256 << 10
STREAMS = 4
LIMIT = 5_000
PIPELINE = 50
PADDING = "x" * 60


@dataclass
class Hour:
    """The figures of a quiet server."""

    rss_bytes: int
    files: int
    used_bytes: int


def soak(n: int, seed: int, scratch: Path) -> Outcome:
    """R23: ``n`` hours of the server's time."""
    dice, outcome = Random(seed), Outcome()
    server = start(scratch)
    hours: list[Hour] = []
    try:
        for _ in range(n):
            operations = busy_hour(server, dice)
            outcome.count("operations", operations)
            outcome.failures += untidy(server)
            hours.append(measured(server))
            outcome.n += 1
        outcome.count("rewrites", int(info(server)["aof_rewrites"]))
        outcome.count("snapshots", int(info(server)["rdb_saves"]))
    finally:
        code = server.stop()
    if code != 0 or "Traceback" in server.log():
        outcome.failures.append(f"it ended with {code}: {server.log()[-2000:]}")
    judge(hours, outcome)
    return outcome


def start(scratch: Path) -> ServerProcess:
    """A server with a fast clock that writes to a disk."""
    port, folder = free_port(), scratch / "soak"
    folder.mkdir(parents=True)
    words = ["--port", str(port), "--bind", "127.0.0.1", "--unixsocket", str(folder / "sock")]
    words += ["--dir", str(folder), "--save", "", "--auto-aof-rewrite-percentage", "0"]
    module = [
        "env",
        f"PYTHONPATH={worker_path()}",
        sys.executable,
        "-m",
        "reliability.soak_server",
        str(FACTOR),
    ]
    return ServerProcess("forebay", [*module, *words], folder, port)


def busy_hour(server: ServerProcess, dice: Random) -> int:
    """An hour of work; the number of commands."""
    end, done = time.monotonic() + HOUR_S, 0
    with server.client(unix=True) as client:
        client.insist("BGREWRITEAOF")
        while time.monotonic() < end:
            lines = [line for _ in range(PIPELINE) for line in some_lines(dice)]
            client.send(b"".join(encode(*line) for line in lines))
            client.read_many(len(lines))
            done += len(lines)
            if dice.random() < 0.05:
                passers_by(server, dice)
        wait_until("the rewrite", lambda: not under_way(server))
        client.insist("BGSAVE")
        wait_until("the snapshot", lambda: not under_way(server))
    return done


def some_lines(dice: Random) -> list[list[str]]:
    """A few commands that belong together."""
    key, group = f"s{dice.randrange(STREAMS)}", f"g{dice.randrange(20)}"
    value = PADDING[: dice.randrange(60)]
    match dice.randrange(8):
        case 0:
            return [["XADD", key, "MAXLEN", str(LIMIT), "*", "f", value, "n", str(dice.random())]]
        case 1:
            return [["XADD", key, "MAXLEN", "~", str(LIMIT), "*", f"f{dice.randrange(5)}", value]]
        case 2:
            return [
                ["XGROUP", "CREATE", key, group, "$", "MKSTREAM"],
                ["XADD", key, "*", "f", value],
            ]
        case 3:
            read = ["XREADGROUP", "GROUP", group, f"c{dice.randrange(5)}", "COUNT", "20"]
            return [[*read, "STREAMS", key, ">"], ["XAUTOCLAIM", key, group, "c0", "60000", "0"]]
        case 4:
            return [["XGROUP", "DESTROY", key, group]]
        case 5:
            return [["XTRIM", key, "MAXLEN", str(LIMIT)], ["XRANGE", key, "-", "+", "COUNT", "10"]]
        case 6:
            return [["SET", f"k{dice.randrange(2000)}", value, "EX", str(dice.randint(60, 1800))]]
    return [["RPUSH", "list", value], ["LTRIM", "list", "-100", "-1"], ["SADD", "set", value[:3]]]


def passers_by(server: ServerProcess, dice: Random) -> None:
    """Clients that connect, wait for an entry, and close without QUIT."""
    clients = [server.client(unix=True) for _ in range(dice.randint(1, 20))]
    for client in clients:
        client.send(encode("XREAD", "BLOCK", "0", "STREAMS", f"s{dice.randrange(STREAMS)}", "$"))
    for client in clients:
        client.close()


def under_way(server: ServerProcess) -> bool:
    """Whether a child is at work, or soon will be."""
    facts = info(server)
    names = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
    return any(facts[name] != "0" for name in names)


def info(server: ServerProcess) -> dict[str, str]:
    """INFO as a table."""
    with server.client(unix=True) as client:
        return facts_of(client)


def facts_of(client: RawClient) -> dict[str, str]:
    """The same, asked by a client that stays."""
    text = client("INFO", "everything").decode()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def untidy(server: ServerProcess) -> list[str]:
    """Data that should not be there at the end of an hour, when no client writes any more."""
    faults = []
    with server.client(unix=True) as client:
        for number in range(STREAMS):
            key = f"s{number}"
            client("XTRIM", key, "MAXLEN", LIMIT)
            faults += within(client, key)
        wait_until("the other clients to be gone", lambda: info(server)["connected_clients"] == "2")
        faults += lasting_keys(client)
    return faults


def within(client: RawClient, key: str) -> list[str]:
    """A stream and its groups within their limits."""
    length = client("XLEN", key)
    groups = parse(client.raw("XINFO", "GROUPS", key))
    if isinstance(groups, list) and length <= LIMIT and len(groups) <= 20:
        return []
    return [f"{key} has {length} entries and {groups!r:.200} for groups"]


def lasting_keys(client: RawClient) -> list[str]:
    """Keys that live longer than any expiry time that was set; -1 is a key without one."""
    lives = [(key, client("TTL", key)) for key in client("KEYS", "k*")]
    return [f"{key} lives for {ttl} s" for key, ttl in lives if ttl == -1 or ttl > 1800]


def measured(server: ServerProcess) -> Hour:
    """The figures of the server with one client, after the others have really been closed."""
    with server.client(unix=True) as client:
        wait_until(
            "the other clients to be gone", lambda: facts_of(client)["connected_clients"] == "1"
        )
        used_bytes = int(facts_of(client)["used_memory"])
        return Hour(server.rss_bytes(), server.open_files(), used_bytes)


def judge(hours: list[Hour], outcome: Outcome) -> None:
    """Memory and files of the hours after the warm-up."""
    later = hours[int(len(hours) * WARM_UP_SHARE) :]
    if len(later) < 2:
        return
    slope = slope_of([hour.rss_bytes for hour in later])
    mean = sum(hour.rss_bytes for hour in later) / len(later)
    outcome.figures["rss_mb"] = round(mean / 1e6, 1)
    outcome.figures["slope_percent_an_hour"] = round(100 * slope / mean, 2)
    if slope > max(MOST_SLOPE * mean, NOISE_BYTES):
        outcome.failures.append(f"memory grows by {slope:,.0f} bytes an hour: {hours}")
    if later[-1].files > later[0].files:
        outcome.failures.append(f"open files went from {later[0].files} to {later[-1].files}")


def slope_of(values: list[int]) -> float:
    """The slope of the straight line that is closest to these values."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    above = sum((i - middle) * (value - mean) for i, value in enumerate(values))
    return above / sum((i - middle) ** 2 for i in range(len(values)))
