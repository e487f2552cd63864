"""R18 and R19: clients that never read, and clients that attack before AUTH.

R18  Subscribers, MONITORs, replicas and readers of a large stream that do not read: each is closed
     at its limit, the memory is bounded by the limits, and other clients wait no longer than they
     do for redis-server under the same attack.
R19  Huge announced arrays and strings, a byte at a time, floods of refused commands, all without
     the password: the cost of each connection.
"""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path
from random import Random

from reliability.crowd_goals import many_descriptors
from reliability.goals import Outcome
from reliability.pings import Pings
from testkit.oracle import OracleMissingError, start_redis
from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess, start_forebay
from testkit.waiting import wait_until

MIB = 1 << 20
LIMIT_MIB = 8
#: The size of an XRANGE of everything: far more than the limit.
STREAM_MIB = 64
KINDS = ("subscriber", "monitor", "reader", "replica")
#: For a client that asks, waits and asks again: one reply of 8 MB, or one message to all, may
#: delay it, on cores that the attackers share with the server.
MOST_PING_MS = 75.0
ENTRY = b"x" * 8192
MESSAGE = b"x" * 65536
PASSWORD = "secret"
MOST_STRANGER_BYTES = 64 << 10
#: Memory that a server may keep after the attack, for any number of clients: spare buffers.
SPARE_BYTES = 32 * MIB


def deaf_client(server: ServerProcess) -> RawClient:
    """A client with a small window that does not read."""
    client = server.client(timeout_s=60)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return client


# R18


def slow_consumers(n: int, seed: int, scratch: Path) -> Outcome:
    """R18: ``n`` clients of all kinds that do not read; redis-server gets the same."""
    outcome = Outcome(n=n)
    many_descriptors()
    limits: list[str] = []
    for kind in ("normal", "pubsub", "replica"):
        limits += ["--client-output-buffer-limit", kind, f"{LIMIT_MIB}mb", "0", "0"]
    peer = start_peer(scratch / "peer", *limits)
    peer_pings = None
    if peer is not None:
        grown, peer_pings = attacked(peer, n)
        outcome.figures["redis_grown_mb"] = round(grown / 1e6)
    server = start_forebay(scratch / "server", "--appendonly", "no", *limits)
    grown, pings = attacked(server, n)
    judge_deaf(outcome, server, grown)
    judge_waits(outcome, pings, peer_pings)
    return outcome


def start_peer(directory: Path, *directives: str) -> ServerProcess | None:
    """A redis-server for comparison, where there is one."""
    try:
        return start_redis(directory, *directives)
    except OracleMissingError:
        return None


def attacked(server: ServerProcess, n: int) -> tuple[int, Pings]:
    """How much the server grew meanwhile, and the waits of a client that only sends PING.

    The server is stopped afterwards.
    """
    deaf: list[RawClient] = []
    try:
        with server.client(timeout_s=120) as admin:
            fill(admin, STREAM_MIB)
            have_at_hand(n * LIMIT_MIB * MIB)
            before = server.rss_bytes()
            deaf += [deaf_client(server) for _ in range(n)]
            with Pings(server) as pings:
                most = starve(server, admin, deaf)
    finally:
        for client in deaf:
            client.close()
        server.stop()
    return most - before, pings


def have_at_hand(size: int) -> None:
    """Use this much memory once: a virtual machine gets it from its host at the first use, page
    by page, and the server must not pay for that.
    """
    del bytearray(size)[:]


def fill(admin: RawClient, size_mib: int) -> None:
    """A stream of this size."""
    order = encode("XADD", "s", "*", "f", ENTRY) * 100
    for _ in range(size_mib * MIB // len(ENTRY) // 100):
        admin.send(order)
        admin.read_many(100)


def closed(server: ServerProcess) -> int:
    """How many clients were closed at their limit: both servers log each of them."""
    return server.log_path.read_text().count("output buffer limit")


def starve(server: ServerProcess, admin: RawClient, deaf: list[RawClient]) -> int:
    """Let each of them ask for more than its limit; returns the highest memory seen."""
    most = 0
    for i, client in enumerate(deaf):
        kind = KINDS[i % len(KINDS)]
        if kind == "subscriber":
            client.send(encode("SUBSCRIBE", "news"))
        elif kind == "monitor":
            client.send(encode("MONITOR"))
        elif kind == "replica":
            client.send(encode("PSYNC", "?", "-1"))
        else:
            client.send(encode("XRANGE", "s", "-", "+"))
    until = time.monotonic() + 120
    while closed(server) < len(deaf):
        if time.monotonic() > until:
            break
        # Subscribers, monitors and replicas get these.
        admin("PUBLISH", "news", MESSAGE)
        admin("XADD", "other", "MAXLEN", "1", "*", "f", MESSAGE)
        most = max(most, server.rss_bytes())
    return max(most, server.rss_bytes())


def judge_deaf(outcome: Outcome, server: ServerProcess, grown: int) -> None:
    """Whether each was closed, and memory was bounded."""
    allowed = outcome.n * LIMIT_MIB * MIB * 1.1 + SPARE_BYTES
    outcome.figures |= {"grown_mb": round(grown / 1e6), "allowed_mb": round(allowed / 1e6)}
    if closed(server) != outcome.n:
        outcome.failures.append(f"{closed(server)} of {outcome.n} deaf clients were closed")
    if grown > allowed:
        outcome.failures.append(f"memory grew by {grown >> 20} MiB")


def judge_waits(outcome: Outcome, pings: Pings, peer_pings: Pings | None) -> None:
    """Whether others waited for little, and no longer than they do for redis-server."""
    outcome.figures |= {
        "ping_p99_ms": pings.p99_ms(),
        "ping_due_p99_ms": pings.due_p99_ms(),
        "ping_worst_ms": pings.worst_ms(),
    }
    if pings.fault:
        outcome.failures.append(pings.fault)
    if pings.p99_ms() > MOST_PING_MS:
        outcome.failures.append(f"PING took {pings.p99_ms()} ms, and {MOST_PING_MS} ms may be")
    if peer_pings is None:
        return
    peer_ms = peer_pings.due_p99_ms()
    outcome.figures |= {
        "redis_ping_p99_ms": peer_pings.p99_ms(),
        "redis_ping_due_p99_ms": peer_ms,
        "redis_ping_worst_ms": peer_pings.worst_ms(),
    }
    due_ms = pings.due_p99_ms()
    if due_ms > peer_ms:
        outcome.failures.append(f"PING took {due_ms} ms since it was due, Redis {peer_ms} ms")


# R19


def strangers_cost(n: int, seed: int, scratch: Path) -> Outcome:
    """R19: ``n`` connections that have not given the password, in three crowds."""
    outcome, dice = Outcome(), Random(seed)
    many_descriptors()
    for name, attack in ATTACKS.items():
        server = start_forebay(scratch / name, "--appendonly", "no", "--requirepass", PASSWORD)
        crowd: list[RawClient] = []
        try:
            with server.client(timeout_s=120) as admin:
                admin.insist("AUTH", PASSWORD)
                before = server.rss_bytes()
                crowd += [deaf_client(server) for _ in range(n)]
                most = attack(server, crowd, dice)
                each = (most - before) / n
                outcome.figures[f"bytes_each_{name}"] = round(each)
                outcome.n += n
                if most - before > n * MOST_STRANGER_BYTES + SPARE_BYTES // 2:
                    outcome.failures.append(f"{name}: {each:.0f} bytes a connection")
                if admin("PING") != "PONG":
                    outcome.failures.append(f"{name}: PING was not answered")
        finally:
            for client in crowd:
                client.close()
            server.stop()
    return outcome


def announce(server: ServerProcess, crowd: list[RawClient], dice: Random) -> int:
    """Announce a lot, and begin to send it (CVE-2021-32675)."""
    openings = (
        b"*1000000\r\n",
        b"*2147483647\r\n",
        b"*2\r\n$536870912\r\n",
        b"*10\r\n$16384\r\n" + b"x" * 16000,
        b"*10\r\n" + (b"$16384\r\n" + b"x" * 16384 + b"\r\n") * 5,
        b"x" * 70_000,
    )
    for client in crowd:
        give(client, dice.choice(openings))
    return peak(server)


def trickle(server: ServerProcess, crowd: list[RawClient], dice: Random) -> int:
    """A byte at a time, of a command that never ends."""
    word = b"*3\r\n$4\r\nAUTH\r\n$16384\r\n" + b"x" * 100
    most = 0
    for at in range(60):
        for client in crowd:
            give(client, word[at : at + 1])
        most = max(most, server.rss_bytes())
    return max(most, peak(server))


def flood(server: ServerProcess, crowd: list[RawClient], dice: Random) -> int:
    """Ask for refusals and read none of them (CVE-2025-21605)."""
    order = encode("GET", "k") * 2000
    most = 0
    for _ in range(10):
        for client in crowd:
            give(client, order)
        most = max(most, server.rss_bytes())
    return max(most, peak(server))


ATTACKS = {"announced": announce, "slow": trickle, "flood": flood}


def give(client: RawClient, data: bytes) -> None:
    """Send as much as possible without waiting, if the server has not hung up."""
    client.socket.setblocking(False)
    with contextlib.suppress(OSError):
        client.socket.send(data)


def peak(server: ServerProcess) -> int:
    """Memory after the server has handled everything that was sent: it answers a later client."""
    seen = server.rss_bytes()
    with server.client(timeout_s=120) as last:
        last.insist("AUTH", PASSWORD)
        seen = max(seen, server.rss_bytes())
        used = server.cpu_s()
        wait_until("it has read everything", lambda: _is_idle(server, used), 60)
    return max(seen, server.rss_bytes())


def _is_idle(server: ServerProcess, used: float) -> bool:
    """Whether the server hardly works for a moment."""
    before = server.cpu_s()
    time.sleep(0.2)
    return server.cpu_s() - before < 0.1
