"""R8 and the lines of R20: requests that no real client sends, and how a server handles them.

R8   structured requests for every command, and requests with wrong bytes, to a build with
     sanitizers: in this process, and a part of them over a socket to a server
R20  no CR and no LF of a user gets into a line of a reply: every request has a hostile word
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from reliability import sanitized
from reliability.fuzz.mutations import corpus, mutated
from reliability.fuzz.program import BATCH, run
from reliability.fuzz.replies import BrokenReplyError, check_replies
from reliability.fuzz.target import request_of
from reliability.fuzz.words import LineWriter
from reliability.goals import Outcome
from testkit.resp import RawClient
from testkit.servers import ServerProcess, start_forebay

GROWTH_BYTES = 64 << 20
#: For each million structured requests: how many have wrong bytes, and how many use a socket.
WRONG_SHARE, SOCKET_SHARE = 0.2, 0.05
PATIENCE_S = 0.05


def protocol(n: int, seed: int, scratch: Path) -> Outcome:
    """R8, on a build with sanitizers."""
    folder, outcome = sanitized.build(), Outcome()
    for kind, count in (("lines", n), ("bytes", int(n * WRONG_SHARE))):
        printed, wrong = sanitized.run(
            folder, "reliability.fuzz.program", kind, *map(str, (count, seed))
        )
        if wrong:
            outcome.failures.append(wrong)
        if printed.strip():
            take(outcome, kind, json.loads(printed))
    over_a_socket(int(n * SOCKET_SHARE), seed, scratch, sanitized.tracer(folder), outcome)
    return outcome


def echoes(n: int, seed: int, scratch: Path) -> Outcome:
    """R20: hostile words in every request, on the build that runs this."""
    del scratch
    outcome = Outcome()
    take(outcome, "echoes", run("echoes", n, seed))
    return outcome


def take(outcome: Outcome, kind: str, told: dict[str, Any]) -> None:
    """Add the figures of one run."""
    outcome.n += told["n"]
    outcome.count(kind, told["n"])
    outcome.count("replies", told["replies"])
    outcome.failures += told["faults"]
    if told["grown_bytes"] > GROWTH_BYTES:
        outcome.failures.append(f"{kind}: memory grew by {told['grown_bytes']:,} bytes")


def over_a_socket(
    n: int, seed: int, scratch: Path, tracer: Sequence[str], outcome: Outcome
) -> None:
    """Requests of both kinds to a real process, which must survive and report no defects."""
    dice, kept = Random(seed), corpus()
    writer = LineWriter(dice)
    server = start_forebay(scratch / "fuzzed", *QUIET, tracer=tracer)
    before = 0
    try:
        for number in range(0, n, BATCH):
            data = request_of([writer.line() for _ in range(BATCH)])
            data = data if number % 4 else mutated(dice, data, kept)
            outcome.failures += ask(server, data, f"seed {seed}, request {number} over a socket")
            outcome.n += BATCH
            before = before or (server.rss_bytes() if number > n // 2 else 0)
            if not server.alive():
                break
        outcome.count("over_a_socket", n)
        if before and server.alive() and server.rss_bytes() - before > GROWTH_BYTES:
            outcome.failures.append("the memory of the server grew")
    finally:
        code = server.stop()
    if code != 0 or "Traceback" in server.log() or "Internal error" in server.log():
        outcome.failures.append(f"the server ended with {code}: {server.log()[-3000:]}")


#: Nothing on disk: only the protocol is tried here.
QUIET = ("--appendonly", "no", "--save", "")


def ask(server: ServerProcess, data: bytes, what: str) -> list[str]:
    """One connection: send, read until it is silent or closed; then a new one must get its PONG."""
    try:
        with server.client(unix=True, timeout_s=PATIENCE_S) as client:
            out = everything(client, data)
        check_replies(out, may_be_cut=True)
        with server.client(unix=True) as client:
            client("FLUSHALL")
            reply = client("PING")
    except (BrokenReplyError, ValueError, OSError, EOFError) as wrong:
        return [f"{what}: {wrong!r} after {data[:300]!r}"]
    return [] if reply == "PONG" else [f"{what}: PING was answered with {reply!r}"]


def everything(client: RawClient, data: bytes) -> bytes:
    """All that comes back before the server is silent."""
    out = bytearray()
    try:
        client.send(data)
        while piece := client.socket.recv(1 << 16):
            out += piece
    except (TimeoutError, ConnectionError):
        pass
    return bytes(out)
