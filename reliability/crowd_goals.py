"""R16 and R17: thousands of clients that do nothing, and thousands that wait.

R16  Idle connections: the cost of each, whether PING is still answered, and the error for the one
     connection too many.
R17  Clients in XREADGROUP BLOCK: entries wake them in the order in which they arrived, while half
     of them are killed, unblocked, run out of time or hang up.  At the end no client waits.
"""

from __future__ import annotations

import contextlib
import itertools
import resource
import select
import time
from pathlib import Path
from random import Random

from reliability.goals import Outcome
from reliability.pings import Pings, quiet_p99_ms
from testkit.resp import RawClient, encode, parse
from testkit.servers import ServerProcess, start_forebay
from testkit.waiting import info_field, wait_until

#: Redis's default of maxclients: what the first crowd of R16 fills.
DEFAULT_CLIENTS = 10_000
LARGE_MAXCLIENTS = 16_000
#: How long they stay; the second crowd is for a night run.
HOLD_S, LONG_HOLD_S = 10.0, 60.0
MOST_BYTES = 4096
MOST_PING_MS = 5.0
TOO_MANY = b"-ERR max number of clients reached\r\n"
#: The ways in which a waiting client ends; the others get an entry.
ENDS = ("kill", "unblock", "hang up", "timeout")
TIMEOUT_MS = 1500


def many_descriptors() -> None:
    """Let this process, and those it starts, hold as many sockets as the machine allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


# R16


def idle_connections(n: int, seed: int, scratch: Path) -> Outcome:
    """R16: ``n`` connections; more than the default of maxclients are a second crowd."""
    outcome = Outcome()
    many_descriptors()
    first = min(n, DEFAULT_CLIENTS)
    hold_s = LONG_HOLD_S if n > DEFAULT_CLIENTS else HOLD_S
    one_crowd(first, first, hold_s, scratch / "first", outcome)
    if n > DEFAULT_CLIENTS:
        one_crowd(n, LARGE_MAXCLIENTS, hold_s, scratch / "second", outcome)
    return outcome


def one_crowd(n: int, maxclients: int, hold_s: float, folder: Path, outcome: Outcome) -> None:
    """Fill a server with idle connections and watch it for this long."""
    server = start_forebay(folder, "--appendonly", "no", "--maxclients", str(maxclients))
    crowd: list[RawClient] = []
    try:
        quiet_ms = quiet_p99_ms(server, 3.0)
        before = server.rss_bytes()
        with Pings(server) as pings:
            # The pinging connection is a client too.
            gather(server, crowd, n - 1)
            settle(crowd)
            each = (server.rss_bytes() - before) / n
            pings.forget()
            time.sleep(hold_s)
            if n == maxclients:
                outcome.failures += one_too_many(server)
        outcome.n += n
        judge_crowd(outcome, f"{n}", each, pings, quiet_ms)
    finally:
        for client in crowd:
            client.close()
        server.stop()


def judge_crowd(outcome: Outcome, name: str, each: float, pings: Pings, quiet_ms: float) -> None:
    """Note the figures of a crowd, and what is wrong with them."""
    p99_ms = pings.p99_ms()
    outcome.figures[f"bytes_each_of_{name}"] = round(each)
    outcome.figures[f"ping_p99_ms_with_{name}"] = p99_ms
    outcome.figures[f"ping_p99_ms_without_{name}"] = quiet_ms
    if pings.fault:
        outcome.failures.append(pings.fault)
    if each > MOST_BYTES:
        outcome.failures.append(f"{name} idle connections cost {each:.0f} bytes each")
    # A busy machine is slow even without them.
    if p99_ms > max(MOST_PING_MS, 2 * quiet_ms):
        outcome.failures.append(f"PING took {p99_ms} ms beside {name} idle connections")


def gather(server: ServerProcess, crowd: list[RawClient], n: int) -> None:
    """Connect ``n`` clients."""
    while len(crowd) < n:
        crowd.append(server.client(timeout_s=120))


def settle(crowd: list[RawClient]) -> None:
    """Wait until every client has been served once, as a lasting one."""
    for client in crowd:
        client.send(encode("PING"))
    for client in crowd:
        assert client.read() == b"+PONG\r\n"


def one_too_many(server: ServerProcess) -> list[str]:
    """What is wrong with the answer to the connection above maxclients."""
    with server.client(timeout_s=30) as late:
        told = late.read()
        if told != TOO_MANY or not late.closed():
            return [f"the connection above maxclients was told {told!r}"]
    return []


# R17


def blocked_clients(n: int, seed: int, scratch: Path) -> Outcome:
    """R17: ``n`` clients wait for one group; half of them end in other ways than by an entry."""
    outcome, dice = Outcome(), Random(seed)
    many_descriptors()
    server = start_forebay(scratch / "server", "--appendonly", "no", "--maxclients", str(n + 10))
    waiting: list[RawClient] = []
    try:
        with server.client(timeout_s=120) as admin:
            before = info_field(admin, "connected_clients")
            fates = [dice.choice(ENDS) if dice.random() < 0.5 else "" for _ in range(n)]
            numbers = join_queue(server, admin, waiting, fates)
            entries = trouble(admin, waiting, numbers, fates, dice)
            got = answers(waiting, fates)
            outcome.n += n
            outcome.count("entries", len(entries))
            outcome.count("ended_otherwise", sum(bool(fate) for fate in fates))
            outcome.failures += order_faults(got, entries)
            for client in waiting:
                client.close()
            outcome.failures += leaks(admin, before)
    finally:
        for client in waiting:
            client.close()
        server.stop()
    return outcome


def join_queue(
    server: ServerProcess, admin: RawClient, waiting: list[RawClient], fates: list[str]
) -> list[int]:
    """Let clients wait, one after the other; returns their numbers."""
    admin("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    numbers: list[int] = []
    for i, fate in enumerate(fates):
        client = server.client(timeout_s=120)
        waiting.append(client)
        numbers.append(client.insist("CLIENT", "ID"))
        block_ms = TIMEOUT_MS if fate == "timeout" else 0
        words = f"XREADGROUP GROUP g c{i} COUNT 1 BLOCK {block_ms} STREAMS s >"
        client.send(encode(*words.split()))
    # Some may have run out of time already.
    steady = len(fates) - fates.count("timeout")
    wait_until("they wait", lambda: info_field(admin, "blocked_clients") >= steady, 120)
    return numbers


def trouble(
    admin: RawClient, waiting: list[RawClient], numbers: list[int], fates: list[str], dice: Random
) -> list[bytes]:
    """End half of the clients while entries wake the others; returns the IDs of the entries."""
    victims = [i for i, fate in enumerate(fates) if fate not in ("", "timeout")]
    dice.shuffle(victims)
    entries: list[bytes] = []
    for _ in range(fates.count("")):
        batch = b"".join(
            strike(waiting, numbers, fates, victims.pop()) for _ in range(2) if victims
        )
        admin.send(batch + encode("XADD", "s", "*", "f", "v"))
        entries.append(admin.read_many(batch.count(b"*") + 1)[-1])
    while victims:
        order = strike(waiting, numbers, fates, victims.pop())
        if order:
            admin.send(order)
            admin.read()
    return [parse(entry) for entry in entries]


def strike(waiting: list[RawClient], numbers: list[int], fates: list[str], i: int) -> bytes:
    """The order that ends a client; none if it hangs up by itself."""
    if fates[i] == "hang up":
        waiting[i].close()
        return b""
    if fates[i] == "kill":
        return encode("CLIENT", "KILL", "ID", numbers[i])
    return encode("CLIENT", "UNBLOCK", numbers[i])


def answers(waiting: list[RawClient], fates: list[str]) -> dict[int, bytes]:
    """Which client got which entry; clients that still wait have ``deadline`` seconds for it."""
    got: dict[int, bytes] = {}
    poller = select.poll()
    by_fd: dict[int, int] = {}
    for i, client in enumerate(waiting):
        if fates[i] != "hang up":
            by_fd[client.socket.fileno()] = i
            poller.register(client.socket.fileno(), select.POLLIN)
    until = time.monotonic() + 60
    while by_fd and time.monotonic() < until:
        events = poller.poll(2 * TIMEOUT_MS)
        if not events:
            break
        for fd, _ in events:
            i = by_fd.pop(fd)
            poller.unregister(fd)
            with contextlib.suppress(OSError, EOFError):
                reply = parse(waiting[i].read())
                if reply is not None:
                    got[i] = reply[0][1][0][0]
    return got


def order_faults(got: dict[int, bytes], entries: list[bytes]) -> list[str]:
    """Entries that two clients got, that were never written, or that were served out of order."""
    faults: list[str] = []
    received = [got[i] for i in sorted(got)]
    if len(set(received)) != len(received):
        faults.append("an entry went to two clients")
    if set(received) - set(entries):
        faults.append("a client got an entry that was never written")
    keys = [tuple(map(int, entry.split(b"-"))) for entry in received]
    late = sum(a > b for a, b in itertools.pairwise(keys))
    if late:
        faults.append(f"{late} clients got an entry before one who came first")
    return faults


def leaks(admin: RawClient, before: int) -> list[str]:
    """State that the server still holds for clients that are gone."""
    fields = ("blocked_clients", "total_blocking_keys", "clients_in_timeout_table")
    try:
        wait_until("all are gone", lambda: info_field(admin, "connected_clients") == before, 60)
        wait_until("nobody waits", lambda: all(info_field(admin, f) == 0 for f in fields), 60)
    except AssertionError as error:
        return [str(error)]
    return []
