"""R29: how long a start takes with a million entries, compared with redis-server.

Each server makes its files by ordinary commands, is stopped, and is started again: once
on the AOF as it was written, once on a snapshot.  The time is measured from the start of
the process to the first +PONG; until then every PING must be answered with -LOADING.
Afterwards all data must be there.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import forebay
from reliability.goals import Outcome
from reliability.processes import start
from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess

#: Seconds for a million entries, on the compiled core.
TARGET_S = {"aof": 5.0, "rdb": 2.0}
PIPELINE = 1000
#: The percentage of entries that are pending in a group.
PENDING_PERCENT = 5
FORMS = {
    "aof": ("--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0"),
    "rdb": ("--appendonly", "no"),
}


def recovery(n: int, seed: int, scratch: Path) -> Outcome:
    """Both forms on both servers."""
    outcome = Outcome(n=n)
    for form in FORMS:
        for kind in ("redis", "forebay"):
            directory = scratch / f"{kind}-{form}"
            directory.mkdir(parents=True)
            seconds, faults = recover(kind, form, n, seed, directory)
            outcome.figures[f"{form}_{kind}_s"] = round(seconds, 2)
            outcome.failures += [f"{kind}, {form}: {fault}" for fault in faults]
            if is_slow(kind, form, n, seconds):
                target = TARGET_S[form]
                outcome.failures.append(f"{kind}, {form}: {seconds:.2f} s, target {target} s")
    return outcome


def is_slow(kind: str, form: str, n: int, seconds: float) -> bool:
    """Whether the target is missed; it is for our compiled core and a full million entries."""
    return kind == "forebay" and forebay.compiled() and n >= 1_000_000 and seconds > TARGET_S[form]


def recover(kind: str, form: str, n: int, seed: int, directory: Path) -> tuple[float, list[str]]:
    """Fill, stop, start: the seconds of the start, and the differences from before."""
    server = start(kind, directory, *FORMS[form])
    try:
        with server.client(unix=True, timeout_s=120) as client:
            fill(client, n, random.Random(seed))
            before = facts(client)
            if form == "rdb" and client("SAVE") != "OK":
                return 0.0, ["SAVE failed"]
        server.stop()
        begin = time.monotonic()
        server = start(kind, directory, *FORMS[form])
        client = server.client(unix=True, timeout_s=120)
        seconds = time.monotonic() - begin
        with client:
            after = facts(client)
        return seconds, faults_of(server, before, after, n)
    finally:
        server.kill()


def fill(client: RawClient, n: int, dice: random.Random) -> None:
    """``n`` entries of four fields, and a group that has read some of them."""
    adds = [
        encode(
            "XADD", "s", "*", *[x for f in range(4) for x in (f"field{f}", dice.getrandbits(40))]
        )
        for _ in range(min(n, PIPELINE))
    ]
    batch = b"".join(adds)
    for _ in range(n // len(adds)):
        client.send(batch)
        client.read_many(len(adds))
    client("XGROUP", "CREATE", "s", "g", "0")
    for _ in range(n * PENDING_PERCENT // 100 // PIPELINE):
        client.raw("XREADGROUP", "GROUP", "g", "c", "COUNT", PIPELINE, "STREAMS", "s", ">")


def facts(client: RawClient) -> dict[str, Any]:
    """Facts that must be the same before and after.  For the group: name, consumers, pending,
    last ID; Redis does not log how many entries a group has read."""
    return {
        "length": client("XLEN", "s"),
        "digest": client("DEBUG", "DIGEST"),
        "group": client("XINFO", "GROUPS", "s")[0][:8],
        "pending": client("XPENDING", "s", "g"),
        "last": client("XREVRANGE", "s", "+", "-", "COUNT", 1),
    }


def faults_of(
    server: ServerProcess, before: dict[str, Any], after: dict[str, Any], n: int
) -> list[str]:
    """The differences from before; and whether a client got -LOADING."""
    faults = [
        f"{name} was {before[name]!r:.100} and is {after[name]!r:.100}"
        for name in before
        if before[name] != after[name]
    ]
    if server.loading_replies == 0 and n >= 1_000_000:
        faults.append(f"nobody was answered -LOADING; the log:\n{server.log()}")
    return faults
