"""Clients that take too much: too many, too slow, too idle, too hostile."""

from __future__ import annotations

import contextlib
import resource
import socket
import time
from collections.abc import Callable, Iterator

import pytest

import forebay
from testkit.resp import RawClient, ReplyError, encode
from testkit.servers import ServerProcess
from testkit.waiting import client_field, info_field, wait_for_blocked, wait_until

Make = Callable[..., ServerProcess]

MIB = 1 << 20
BIG_ENTRY = b"x" * 200_000


@pytest.fixture(autouse=True, scope="module")
def descriptors() -> Iterator[None]:
    """Thousands of clients need thousands of descriptors on this side too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def clients(admin: RawClient) -> int:
    count: int = admin("CLIENT", "LIST").count(b"\n")
    return count


def slow_client(server: ServerProcess) -> RawClient:
    """A client with a small window that does not read."""
    client = server.client()
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client("PING")
    return client


def test_a_reader_that_never_reads_is_closed_at_its_limit_while_others_are_served(
    make_forebay: Make,
) -> None:
    server = make_forebay("--client-output-buffer-limit", "normal", "8mb", "0", "0")
    with server.client() as admin:
        admin("XADD", "s", "1-1", "f", BIG_ENTRY)
        before = server.rss_bytes()
        slow = [slow_client(server) for _ in range(5)]
        for client in slow:
            client.send(encode("XRANGE", "s", "-", "+") * 300)
        wait_until("they are closed", lambda: clients(admin) == 1)
        assert admin("PING") == "PONG"
        assert server.log().count("output buffer limit") == 5
        assert info_field(admin, "client_output_buffer_limit_disconnections") == 5
        assert server.rss_bytes() - before < 5 * 8 * MIB * 1.5 + 20 * MIB
        for client in slow:
            client.close()


def test_a_subscriber_that_never_reads_is_closed_at_the_limit_of_subscribers(
    make_forebay: Make,
) -> None:
    server = make_forebay("--client-output-buffer-limit", "pubsub", "2mb", "0", "0")
    with server.client() as publisher, slow_client(server) as subscriber:
        subscriber("SUBSCRIBE", "news")
        wait_until("it is closed", lambda: publisher("PUBLISH", "news", BIG_ENTRY) == 0)
        assert clients(publisher) == 1


def test_a_soft_limit_closes_only_after_its_time(make_forebay: Make) -> None:
    server = make_forebay("--client-output-buffer-limit", "pubsub", "0", "1mb", "1")
    with server.client() as publisher, slow_client(server) as subscriber:
        number = subscriber("CLIENT", "ID")
        subscriber("SUBSCRIBE", "news")
        started_s = time.monotonic()
        # Well above: the kernel may still take some of it.
        while int(client_field(publisher, number, "obl")) < 8 * MIB:
            assert publisher("PUBLISH", "news", BIG_ENTRY) == 1
        wait_until("it is closed", lambda: publisher("PUBLISH", "news", b"") == 0)
        assert time.monotonic() - started_s > 1
        assert "soft output buffer limit" in server.log()


def test_unread_replies_hold_back_a_clients_commands_not_its_requests(
    make_forebay: Make,
) -> None:
    """Even without a limit a slow reader costs a bounded amount, and gets everything in the end."""
    server = make_forebay("--client-output-buffer-limit", "normal", "0", "0", "0")
    with server.client() as admin, server.client() as slow:
        admin("XADD", "s", "1-1", "f", BIG_ENTRY)
        before = server.rss_bytes()
        slow.send(encode("XRANGE", "s", "-", "+") * 800)
        wait_until("replies pile up", lambda: server.rss_bytes() - before > 60 * MIB)
        wait_until("it is held back", lambda: reads_of_ten_turns(admin) == 0)
        assert server.rss_bytes() - before < 150 * MIB
        first = slow.read()
        assert slow.read_many(799) == [first] * 799


def reads_of_ten_turns(admin: RawClient) -> int:
    """How many XRANGE the server has run while it turned at least ten times."""
    before = xrange_calls(admin)
    for _ in range(10):
        assert admin("PING") == "PONG"
    return xrange_calls(admin) - before


def xrange_calls(admin: RawClient) -> int:
    """The number of XRANGE since the start."""
    stats = admin("INFO", "commandstats").decode()
    return int(stats.partition("cmdstat_xrange:calls=")[2].partition(",")[0])


def test_a_query_buffer_over_its_limit_ends_the_client(make_forebay: Make) -> None:
    server = make_forebay("--client-query-buffer-limit", "1mb")
    with server.client() as admin, server.client() as client:
        client.send(b"*2\r\n$4\r\nECHO\r\n$4000000\r\n")
        with contextlib.suppress(ConnectionError):
            client.send(b"x" * 3_000_000)
        assert client.closed()
        assert clients(admin) == 1
        assert "query buffer" in server.log()
        assert info_field(admin, "client_query_buffer_limit_disconnections") == 1


def test_a_bulk_longer_than_allowed_is_refused_when_it_is_announced(make_forebay: Make) -> None:
    server = make_forebay("--proto-max-bulk-len", "1mb")
    with server.client() as client:
        client.send(b"*2\r\n$4\r\nECHO\r\n$1048577\r\n")
        assert client.read() == b"-ERR Protocol error: invalid bulk length\r\n"
        assert client.closed()


def test_one_client_too_many_gets_the_error_and_the_end(make_forebay: Make) -> None:
    server = make_forebay("--maxclients", "5")
    inside = [server.client() for _ in range(5)]
    for client in inside:
        assert client("PING") == "PONG"
    with server.client() as late:
        assert late.read() == b"-ERR max number of clients reached\r\n"
        assert late.closed()
    inside.pop().close()
    wait_until("one is gone", lambda: clients(inside[0]) == 4)
    with server.client() as welcome:
        assert welcome("PING") == "PONG"
    for client in inside:
        client.close()


def test_idle_clients_are_closed_but_not_those_who_wait_or_listen(make_forebay: Make) -> None:
    server = make_forebay("--timeout", "1")
    with server.client() as blocked, server.client() as subscriber:
        subscriber("SUBSCRIBE", "news")
        blocked.send(encode("XREAD", "BLOCK", "0", "STREAMS", "s", "$"))
        with server.client() as admin:
            wait_for_blocked(admin, 1)
        # Twice: when the second one is closed, all clients idle for longer have been checked.
        for _ in range(2):
            with server.client() as idle:
                assert idle("PING") == "PONG"
                assert idle.closed()
        with server.client() as admin:
            assert clients(admin) == 3


def test_idle_clients_cost_little_and_slow_nobody_down(make_forebay: Make) -> None:
    server = make_forebay()
    with server.client() as first:
        before = server.rss_bytes()
        idle = [server.client() for _ in range(3_000)]
        for client in idle:
            client.send(encode("PING"))
        assert all(client.read() == b"+PONG\r\n" for client in idle)
        assert server.rss_bytes() - before < 3_000 * (4096 if forebay.compiled() else 8192)
        assert first("PING") == "PONG"
        for client in idle:
            client.close()
        wait_until("they are gone", lambda: clients(first) == 1)


def test_out_of_descriptors_the_server_neither_spins_nor_dies(make_forebay: Make) -> None:
    server = make_forebay("--maxclients", "50")
    limit_descriptors(server, server.open_files() + 10)
    with server.client() as first:
        assert first("PING") == "PONG"
        crowd = [server.client() for _ in range(30)]
        wait_until("it gives up", lambda: "No new clients" in server.log())
        used = server.cpu_s()
        assert first("XREAD", "BLOCK", "1000", "STREAMS", "s", "$") is None
        assert server.cpu_s() - used < 0.5
        assert server.log().count("No new clients") == 1
        for client in crowd:
            client.close()
        wait_until("they are gone", lambda: clients(first) == 1)
    with server.client() as late:
        assert late("PING") == "PONG"


def limit_descriptors(server: ServerProcess, most: int) -> None:
    """Lower the limit of descriptors of a running process."""
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (most, most))


def test_a_server_with_nothing_to_do_sleeps(make_forebay: Make) -> None:
    server = make_forebay()
    with server.client() as client:
        before = server.cpu_s()
        assert client("XREAD", "BLOCK", "1000", "STREAMS", "s", "$") is None
        assert server.cpu_s() - before < 0.3


# Before AUTH


def test_strangers_who_announce_huge_arrays_cost_next_to_nothing(make_forebay: Make) -> None:
    """CVE-2021-32675."""
    server = make_forebay("--requirepass", "secret")
    with server.client() as admin:
        admin("AUTH", "secret")
        before = server.rss_bytes()
        hostile = [server.client() for _ in range(2_000)]
        for at, client in enumerate(hostile):
            client.send(b"*3\r\n$4\r\nXADD\r\n$16384\r\nabc" if at % 2 else b"*10\r\n$16384\r\n")
        assert admin("PING") == "PONG"
        wait_until("all is read", lambda: hoarders(admin) == 2_000)
        assert server.rss_bytes() - before < 2_000 * 16 * 1024
        for client in hostile:
            client.close()


def hoarders(admin: RawClient) -> int:
    """How many clients have an unfinished command that the server keeps."""
    lines = admin("CLIENT", "LIST").splitlines()
    return sum(b" cmd=NULL " in line and b" qbuf=0 " not in line for line in lines)


@pytest.mark.parametrize(
    ("request_bytes", "answer"),
    [
        (b"*1000000\r\n", b"-ERR Protocol error: unauthenticated multibulk length\r\n"),
        (b"*2\r\n$20000\r\n", b"-ERR Protocol error: unauthenticated bulk length\r\n"),
    ],
)
def test_strangers_may_not_announce_what_clients_may(
    make_forebay: Make, request_bytes: bytes, answer: bytes
) -> None:
    server = make_forebay("--requirepass", "secret")
    with server.client() as stranger:
        stranger.send(request_bytes)
        assert stranger.read() == answer
        assert stranger.closed()


def test_after_auth_in_the_same_pipeline_the_limits_are_those_of_clients(
    make_forebay: Make,
) -> None:
    server = make_forebay("--requirepass", "secret")
    with server.client() as client:
        client.send(encode("AUTH", "secret") + encode("XADD", "s", "1-1", "f", b"x" * 100_000))
        assert client.read_many(2) == [b"+OK\r\n", b"$3\r\n1-1\r\n"]


def test_a_stranger_who_floods_and_does_not_read_is_closed(make_forebay: Make) -> None:
    """CVE-2025-21605."""
    server = make_forebay("--requirepass", "secret")
    with server.client() as admin:
        admin("AUTH", "secret")
        before = server.rss_bytes()
        flood = encode("PING") * 100_000
        hostile = [slow_client(server) for _ in range(20)]
        for client in hostile:
            with pytest.raises(ConnectionError):
                for _ in range(50):
                    client.send(flood)
        wait_until("they are closed", lambda: clients(admin) == 1)
        assert server.rss_bytes() - before < 30 * MIB
        assert server.log().count("Closing client") == 20
        for client in hostile:
            client.close()


def test_a_stranger_who_reads_gets_an_answer_to_everything(make_forebay: Make) -> None:
    server = make_forebay("--requirepass", "secret")
    with server.client() as stranger:
        for _ in range(100):
            assert stranger("PING") == ReplyError("NOAUTH Authentication required.")


# All clients together


def test_blocked_clients_may_be_evicted_while_an_entry_wakes_them(make_forebay: Make) -> None:
    """CVE-2026-23479: killed, evicted and woken in the same turns."""
    server = make_forebay()
    with server.client() as admin:
        admin("CLIENT", "NO-EVICT", "ON")
        waiting = [server.client() for _ in range(300)]
        for client in waiting:
            client.send(encode("XREAD", "BLOCK", "0", "STREAMS", "s", "$"))
        wait_for_blocked(admin, 300)
        numbers = [int(line.split()[0][3:]) for line in admin("CLIENT", "LIST").splitlines()[1:]]
        orders = b"".join(encode("CLIENT", "KILL", "ID", number) for number in numbers[::3])
        entry = encode("XADD", "s", "*", "f", b"x" * 50_000)
        admin.send(orders + entry + encode("CONFIG", "SET", "maxmemory-clients", "1mb") + entry)
        admin.read_many(len(numbers[::3]) + 3)
        wait_until("nobody waits", lambda: info_field(admin, "blocked_clients") == 0)
        for field in ("total_blocking_keys", "clients_in_timeout_table"):
            assert info_field(admin, field) == 0
        for client in waiting:
            client.close()
        wait_until("they are gone", lambda: clients(admin) == 1)


def test_the_largest_clients_go_first(make_forebay: Make) -> None:
    server = make_forebay("--maxmemory", "100mb", "--maxmemory-clients", "4%")
    with server.client() as admin, server.client() as small, server.client() as large:
        admin("CLIENT", "NO-EVICT", "ON")
        small.send(b"*2\r\n$4\r\nECHO\r\n$1000000\r\n" + b"x" * 500_000)
        with contextlib.suppress(ConnectionError):
            large.send(b"*2\r\n$4\r\nECHO\r\n$9000000\r\n" + b"x" * 6_000_000)
        assert large.closed()
        assert info_field(admin, "evicted_clients") == 1
        assert "Evicting client" in server.log()
        small.send(b"x" * 500_000 + b"\r\n")
        assert len(small.read()) > 1_000_000
