"""Limits on unread output and on the memory of all clients; the test runs each turn of the server.

net/test_limits.py tests the limits of a real server under load.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from forebay.commands.api import gates
from forebay.commands.api.settings import OutputLimit, Settings
from forebay.commands.clients.client_line import memory_of
from forebay.engine.engine import Engine
from forebay.server.logger import Log
from forebay.server.net.turn_end import TurnEnd
from forebay.server.server import Server
from testkit.hand_server import Client, HandClock
from testkit.resp import encode

MIB = 1 << 20
NOTHING = b"(nothing)"
BIG = b"x" * MIB


#: Clients of the test that runs, to be closed at its end.
PRESENT: list[Client] = []


def join(server: Server) -> Client:
    """One more client."""
    PRESENT.append(Client(server))
    return PRESENT[-1]


@pytest.fixture
def server() -> Iterator[Server]:
    clock = HandClock()
    settings = Settings()
    settings.output_limits["normal"] = OutputLimit(2 * MIB, 0, 0)
    engine = Engine(settings, clock)
    server = Server(settings, engine, TurnEnd(engine.effects), Log(clock), clock)
    yield server
    for client in PRESENT:
        client.close()
    PRESENT.clear()
    for conn in server.loop.connections():
        server.loop.close(conn)
    server.loop.epoll.close()


@pytest.fixture
def client(server: Server) -> Client:
    for name in ("a", "b", "c", "d"):
        server.engine.keyspace.databases[0].put(name.encode(), BIG)
    return join(server)


def has_ended(client: Client) -> bool:
    """Whether the server closed it, with or without something to read before."""
    while (answer := client.answer()) != NOTHING:
        if answer == b"":
            return True
    return False


def test_a_reply_is_not_finished_if_its_client_may_not_have_it(
    server: Server, client: Client
) -> None:
    assert client.ask(encode("MGET", "a", "b", "c")) == b""
    assert server.engine.stats.output_limit_disconnections == 1
    assert server.loop.count == 0


def test_a_reply_within_the_limit_is_sent(server: Server, client: Client) -> None:
    assert client.ask(encode("MGET", "a")).startswith(b"*1\r\n$1048576\r\nxxx")
    assert server.loop.count == 1


def test_without_a_limit_a_reply_may_be_any_size(server: Server, client: Client) -> None:
    server.settings.output_limits["normal"] = OutputLimit(0, 0, 0)
    assert client.ask(encode("MGET", "a", "b", "c", "d")).startswith(b"*4\r\n")
    assert server.loop.count == 1


def test_the_writes_around_a_stopped_reply_are_done_and_recorded(
    server: Server, client: Client
) -> None:
    server.engine.effects.enabled = True
    words = [["MULTI"], ["SET", "before", "1"], ["MGET", "a", "b", "c"], ["SET", "after", "1"]]
    client.ask(b"".join(encode(*each) for each in [*words, ["EXEC"]]))
    assert has_ended(client)
    values = server.engine.keyspace.databases[0].values
    assert (values[b"before"], values[b"after"]) == (b"1", b"1")
    recorded = server.engine.effects.take()
    assert b"before" in recorded
    assert b"after" in recorded


def test_a_command_that_changes_data_is_not_stopped(server: Server, client: Client) -> None:
    server.engine.effects.enabled = True
    for _ in range(40):
        assert client.ask(encode("RPUSH", "l", BIG[:60_000])).startswith(b":")
    server.engine.effects.take()
    client.ask(encode("LPOP", "l", "40"))
    assert has_ended(client)
    assert b"l" not in server.engine.keyspace.databases[0].values
    assert b"$1\r\nl\r\n" in server.engine.effects.take()


def test_readers_who_may_not_have_their_replies_do_not_hold_the_loop(
    server: Server, client: Client
) -> None:
    light = join(server)
    assert light.ask(encode("PING")) == b"+PONG\r\n"
    heavy = [join(server) for _ in range(9)]
    for each in heavy:
        each.socket.send(encode("MGET", "a", "b", "c"))
    server.loop.turn()
    stopped = server.engine.stats.output_limit_disconnections
    assert 0 < stopped < 9
    light.socket.send(encode("PING"))
    server.loop.turn()
    assert light.answer() == b"+PONG\r\n"
    while server.loop.count > 2:
        server.loop.turn()
    assert server.engine.stats.output_limit_disconnections == 9


def test_light_clients_are_served_between_large_replies_of_others(
    server: Server, client: Client
) -> None:
    """Rule 3 of the loop: one large reply, not all of them, is in the way of a PING."""
    server.settings.output_limits["normal"] = OutputLimit(0, 0, 0)
    light = join(server)
    assert light.ask(encode("PING")) == b"+PONG\r\n"
    heavy = [join(server) for _ in range(3)]
    for each in heavy:
        each.socket.send(encode("MGET", *["a"] * 80))
    light.socket.send(encode("PING"))
    server.loop.turn()
    assert sum(each.conn.weight > 64 * MIB for each in heavy) == 1
    server.loop.turn()
    assert light.answer() == b"+PONG\r\n"
    assert sum(each.conn.weight > 64 * MIB for each in heavy) == 2
    server.loop.turn()
    assert sum(each.conn.weight > 64 * MIB for each in heavy) == 3


def new_reader(server: Server) -> Client:
    """A client that asks for a whole stream of 9 MB at once."""
    reader = join(server)
    reader.socket.send(encode("XRANGE", "s", "-", "+"))
    return reader


@pytest.fixture
def long_stream(server: Server) -> None:
    server.settings.output_limits["normal"] = OutputLimit(0, 0, 0)
    writer = join(server)
    for _ in range(180):
        writer.ask(encode("XADD", "s", "*", "f", BIG[:50_000]))


@pytest.mark.usefixtures("long_stream")
@pytest.mark.parametrize("opening", ["PING", "HELLO 3", "CLIENT ID", "XLEN s", "NOSUCH"])
def test_a_new_client_that_asks_for_little_does_not_wait_for_all_large_replies(
    server: Server, opening: str
) -> None:
    readers = [new_reader(server) for _ in range(4)]
    new = join(server)
    new.socket.send(encode(*opening.split()))
    server.loop.turn()
    assert new.answer() == NOTHING
    server.loop.turn()
    assert new.answer() != NOTHING
    assert sum(each.conn.weight > 8 * MIB for each in readers) == 1


@pytest.mark.usefixtures("long_stream")
def test_a_known_client_waits_for_one_large_reply_and_not_for_the_next(server: Server) -> None:
    known = join(server)
    known.ask(encode("PING"))
    readers = [new_reader(server) for _ in range(3)]
    for done in (1, 2):
        server.loop.turn()
        known.socket.send(encode("PING"))
        server.loop.turn()
        assert known.answer() == b"+PONG\r\n"
        assert sum(each.conn.weight > 8 * MIB for each in readers) == done


@pytest.mark.usefixtures("long_stream")
def test_who_stands_at_the_door_waits_for_one_large_reply(server: Server) -> None:
    readers = [new_reader(server) for _ in range(3)]
    come, door = socket.socketpair()
    arrived: list[bytes] = []
    server.loop.watch(door.fileno(), lambda: arrived.append(door.recv(1)))
    come.send(b"x")
    server.loop.turn()
    server.loop.turn()
    assert arrived == [b"x"]
    assert sum(each.conn.weight > 8 * MIB for each in readers) == 1
    server.loop.unwatch(door.fileno())
    come.close()
    door.close()


@pytest.mark.usefixtures("long_stream")
@pytest.mark.parametrize("opening", ["XREAD STREAMS s 0", "XINFO STREAM s FULL COUNT 0"])
def test_a_new_client_that_asks_for_data_takes_its_place_in_the_line(
    server: Server, opening: str
) -> None:
    readers = [new_reader(server) for _ in range(3)]
    for each in readers:
        each.conn.weight = 9 * MIB  # known for its large replies
    new = join(server)
    new.socket.send(encode(*opening.split()))
    for _ in readers:
        server.loop.turn()
        assert new.answer() == NOTHING
    server.loop.turn()
    assert new.answer() != NOTHING


@pytest.mark.usefixtures("long_stream")
def test_light_clients_that_suddenly_ask_for_much_do_so_one_in_a_turn(server: Server) -> None:
    known = [join(server) for _ in range(3)]
    for each in known:
        assert each.ask(encode("PING")) == b"+PONG\r\n"
    readers = [new_reader(server), *known]
    for each in known:
        each.socket.send(encode("XRANGE", "s", "-", "+"))
    server.loop.turn()
    server.loop.turn()
    assert sum(each.conn.weight > 8 * MIB for each in readers) == 2


@pytest.mark.usefixtures("long_stream")
def test_large_outputs_of_clients_that_are_gone_are_freed_a_few_in_a_turn(server: Server) -> None:
    readers = [new_reader(server) for _ in range(12)]
    while any(each.conn.weight < 0 for each in readers):
        server.loop.turn()
    for each in readers:
        server.loop.close(each.conn)
    left = [len(server.loop.doomed)]
    while server.loop.doomed:
        server.loop.turn()
        left.append(len(server.loop.doomed))
    assert left[0] == 12
    assert left[1] in (10, 11)
    assert left == sorted(set(left), reverse=True)
    assert server.loop.doomed_bytes == 0


def test_a_stranger_who_asks_little_at_a_time_and_never_reads_is_closed(server: Server) -> None:
    """CVE-2025-21605: the requests stay small, so only the unread output shows the attack."""
    stranger = join(server)
    stranger.conn.session.set_gate(gates.UNAUTHENTICATED, True)
    for _ in range(400):
        stranger.socket.send(encode("GET", "k") * 100)
        server.loop.turn()
        assert stranger.conn.out.pending() <= 32 << 10
        if stranger.conn.fd < 0:
            break
    assert stranger.conn.fd < 0
    assert "has not authenticated" in stranger.conn.fault


# maxmemory-clients


def limit_all(server: Server, size: int) -> None:
    server.settings.maxmemory_clients = size
    server.apply_settings()


def hoard(client: Client, size: int) -> None:
    """Send the beginning of a large command."""
    client.ask(b"*2\r\n$4\r\nECHO\r\n$%d\r\n" % (2 * size))
    while size > 0 and client.conn.fd >= 0:
        client.ask(BIG[:50_000])
        size -= 50_000


@pytest.fixture
def quiet(server: Server) -> Client:
    quiet = join(server)
    quiet.ask(encode("PING"))
    return quiet


def test_the_largest_client_goes_when_all_use_too_much(server: Server, quiet: Client) -> None:
    limit_all(server, MIB)
    large = join(server)
    hoard(large, 2 * MIB)
    assert large.conn.fd < 0
    assert quiet.conn.fd >= 0
    assert server.engine.stats.evicted_clients == 1
    assert server.limits.counted_bytes < MIB


def test_a_client_that_must_not_go_stays_and_others_go_for_it(
    server: Server, quiet: Client
) -> None:
    limit_all(server, MIB)
    large = join(server)
    assert large.ask(encode("CLIENT", "NO-EVICT", "ON")) == b"+OK\r\n"
    hoard(large, 2 * MIB)
    assert large.conn.fd >= 0
    assert quiet.conn.fd < 0


def test_a_share_of_no_maxmemory_is_no_limit(server: Server) -> None:
    limit_all(server, -5)
    assert server.limits.most_bytes() == 0
    assert not server.loop.is_counting
    server.settings.maxmemory = 100 * MIB
    server.apply_settings()
    assert server.limits.most_bytes() == 5 * MIB
    assert server.loop.is_counting


def test_what_is_counted_is_what_clients_use(server: Server, quiet: Client) -> None:
    limit_all(server, 100 * MIB)
    before = server.limits.counted_bytes
    large = join(server)
    hoard(large, 2 * MIB)
    assert server.limits.counted_bytes - before > 2 * MIB
    server.loop.close(large.conn)
    assert server.limits.counted_bytes == before


def test_a_blocked_client_that_is_evicted_waits_no_longer(server: Server, quiet: Client) -> None:
    """CVE-2026-23479: here no client is closed while others are being served."""
    waiting = join(server)
    waiting.ask(encode("XREAD", "BLOCK", "0", "STREAMS", "s", "$"))
    assert server.engine.blocking.blocked_clients == 1
    waiting.socket.send(encode("XADD", "s", "*", "f", "v"))
    limit_all(server, 1)
    quiet.socket.send(encode("XADD", "s", "1-1", "f", BIG[:100]))
    server.loop.turn()
    server.loop.turn()
    assert server.engine.blocking.blocked_clients == 0
    assert server.loop.count == 0
    assert not server.engine.keyspace.databases[0].waiting


# A socket that takes no more


def test_a_full_socket_is_not_tried_again_before_it_has_room(
    server: Server, client: Client
) -> None:
    server.settings.output_limits["normal"] = OutputLimit(0, 0, 0)
    client.socket.send(encode("MGET", "a", "b", "c", "d") * 2)
    server.loop.turn()
    while not client.conn.is_full:
        server.loop.turn()
    waiting = client.conn.out.pending()
    other = join(server)
    assert other.ask(encode("PING")) == b"+PONG\r\n"
    assert (client.conn.is_full, client.conn.out.pending()) == (True, waiting)
    found = client.answer()
    while client.conn.out.pending() > 0 or not found.endswith(BIG[:100] + b"\r\n"):
        server.loop.turn()
        if (more := client.answer()) != NOTHING:
            found += more
    assert len(found) == 2 * (4 + 4 * (len(b"$1048576\r\n") + MIB + 2))
    assert not client.conn.is_full


def test_a_message_for_a_full_socket_is_not_tried_at_once(server: Server) -> None:
    deaf, writer = join(server), join(server)
    deaf.ask(encode("SUBSCRIBE", "news"))
    while not deaf.conn.is_full:
        writer.ask(encode("PUBLISH", "news", BIG[:60_000]))
    waiting = deaf.conn.out.pending()
    deaf.conn.error_number = 0  # a send that fails leaves its number there
    writer.ask(encode("PUBLISH", "news", BIG[:60_000]))
    assert deaf.conn.out.pending() > waiting
    assert deaf.conn.error_number == 0


def test_messages_that_a_full_socket_leaves_are_set_aside_and_come_in_order(
    server: Server,
) -> None:
    deaf, writer = join(server), join(server)
    deaf.ask(encode("SUBSCRIBE", "news"))
    messages = [b"%04d" % number + b"x" * 20_000 for number in range(100)]
    for each in messages:
        writer.ask(encode("PUBLISH", "news", each))
    out = deaf.conn.out
    assert out.aside is not None
    assert out.cap < 512 << 10
    assert deaf.conn.session.out.pending() > MIB
    found = b""
    while out.pending() > 0:
        if (more := deaf.answer()) != NOTHING:
            found += more
        server.loop.turn()
    while (more := deaf.answer()) != NOTHING:
        found += more
    assert found == b"".join(encode("message", "news", each) for each in messages)
    assert out.aside is None


def test_what_is_set_aside_counts_against_the_limit_and_is_freed_with_time(
    server: Server,
) -> None:
    server.settings.output_limits["pubsub"] = OutputLimit(40 * MIB, 0, 0)
    deaf, writer = join(server), join(server)
    deaf.ask(encode("SUBSCRIBE", "news"))
    order = encode("PUBLISH", "news", BIG[:60_000])
    for _ in range(600):
        writer.ask(order)
    assert deaf.conn.out.pending() > 30 * MIB
    assert memory_of(deaf.conn.session) >= deaf.conn.out.pending()
    while deaf.conn.fd >= 0:
        assert deaf.conn.out.pending() <= 40 * MIB
        writer.ask(order)
    assert server.engine.stats.output_limit_disconnections == 1
    assert server.loop.doomed_bytes > 24 * MIB
    while server.loop.doomed:
        server.loop.turn()
    assert server.loop.doomed_bytes == 0
