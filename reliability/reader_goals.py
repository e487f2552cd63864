"""R18-READERS: readers that ask for a whole stream at once and read nothing of it.

    limited   the limit is a sixth of their reply: each is closed there, memory hardly grows
    default   without any configuration: the server makes their replies, one after another

A PING of another client waits for one of their replies at most.  Redis, under the same load, runs
the commands of all ready clients before it answers any of them.
"""

from __future__ import annotations

import time
from pathlib import Path

from reliability.crowd_goals import many_descriptors
from reliability.glutton_goals import (
    MIB,
    closed,
    deaf_client,
    fill,
    have_at_hand,
    start_peer,
)
from reliability.goals import Outcome
from reliability.pings import Pings
from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess, start_forebay

READERS = 20
#: The share of its reply that a limited reader may leave unread: 64 MB of 400.
SHARE = 6.25
#: How much memory may grow besides the allowed replies.
SPARE_BYTES = 64 * MIB
PATIENCE_S = 300.0


def whole_streams(n: int, seed: int, scratch: Path) -> Outcome:
    """R18-READERS: twenty readers, ``n`` MB for each of them."""
    outcome = Outcome(n=n)
    many_descriptors()
    limit_mib = max(1, int(n / SHARE))
    limit = ("--client-output-buffer-limit", "normal", f"{limit_mib}mb", "0", "0")
    for phase, directives in (("limited", limit), ("default", ())):
        peer = start_peer(scratch / f"peer-{phase}", *directives)
        waits_ms = None if peer is None else asked(peer, n, bool(directives))[1].worst_ms()
        server = start_forebay(scratch / phase, "--appendonly", "no", *directives)
        grown, pings = asked(server, n, bool(directives))
        allowed = (2 * limit_mib if directives else READERS * n) * 1.1 * MIB + SPARE_BYTES
        judge(outcome, phase, pings, waits_ms)
        outcome.figures[f"{phase}_grown_mb"] = round(grown / 1e6)
        if grown > allowed:
            outcome.failures.append(f"{phase}: memory grew by {grown >> 20} MiB")
        if directives and closed(server) != READERS:
            outcome.failures.append(f"{closed(server)} of {READERS} readers were closed")
    return outcome


def asked(server: ServerProcess, size_mib: int, is_limited: bool) -> tuple[int, Pings]:
    """How much the server grew, and the waits of a client that only sends PING."""
    deaf: list[RawClient] = []
    try:
        with server.client(timeout_s=PATIENCE_S) as admin:
            fill(admin, size_mib)
            have_at_hand(READERS * size_mib * MIB)
            most = before = server.rss_bytes()
            deaf += [deaf_client(server) for _ in range(READERS)]
            with Pings(server) as pings:
                for client in deaf:
                    client.send(encode("XRANGE", "s", "-", "+"))
                until = time.monotonic() + PATIENCE_S
                while done(server, admin, is_limited) < READERS and time.monotonic() < until:
                    most = max(most, server.rss_bytes())
            most = max(most, server.rss_bytes())
    finally:
        for client in deaf:
            client.close()
        server.stop()
    return most - before, pings


def done(server: ServerProcess, admin: RawClient, is_limited: bool) -> int:
    """How many readers are done: closed, or given their whole reply."""
    if is_limited:
        admin("PING")
        return closed(server)
    for line in admin("INFO", "commandstats").decode().splitlines():
        if line.startswith("cmdstat_xrange:calls="):
            return int(line.partition("=")[2].partition(",")[0])
    return 0


def judge(outcome: Outcome, phase: str, pings: Pings, peer_worst_ms: float | None) -> None:
    """Note the waits of the other client; they may not be worse than with redis-server."""
    outcome.figures[f"{phase}_ping_worst_ms"] = pings.worst_ms()
    if pings.fault:
        outcome.failures.append(f"{phase}: {pings.fault}")
    if peer_worst_ms is None:
        return
    outcome.figures[f"{phase}_redis_ping_worst_ms"] = peer_worst_ms
    if pings.worst_ms() > peer_worst_ms:
        outcome.failures.append(
            f"{phase}: PING took {pings.worst_ms()} ms, and {peer_worst_ms} ms with redis-server"
        )
