"""TLS bytes in both directions: cut anywhere, many at once, too many for a reader."""

from __future__ import annotations

import socket
import ssl
import threading
from array import array

import pytest

from server.tests.server.tls.conftest import MakeServer, TlsServer
from testkit.resp import RawClient, encode, parse
from testkit.waiting import wait_until

MIB = 1 << 20


class Pen:
    """A client whose TLS bytes the test holds: the test decides how they are sent."""

    def __init__(self, server: TlsServer, *, version: ssl.TLSVersion | None = None) -> None:
        context = server.certificates.context(server.certificates.client)
        if version is not None:
            context.minimum_version = context.maximum_version = version
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.socket = socket.create_connection(server.address, timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Pen:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def shake_hands(self) -> bytes:
        """The handshake up to the client's last message, which is returned instead of sent."""
        while True:
            try:
                self.tls.do_handshake()
                return self.outgoing.read()
            except ssl.SSLWantReadError:
                self.socket.sendall(self.outgoing.read())
                self.receive()

    def receive(self) -> None:
        """Take what the server sends."""
        data = self.socket.recv(MIB)
        if not data:
            raise EOFError
        self.incoming.write(data)

    def encrypted(self, data: bytes) -> bytes:
        """These bytes in encrypted form."""
        self.tls.write(data)
        return self.outgoing.read()

    def answer(self, size: int) -> bytes:
        """This many bytes of replies."""
        found = b""
        while len(found) < size:
            try:
                found += self.tls.read(size - len(found))
            except ssl.SSLWantReadError:
                self.receive()
        return found


@pytest.fixture(scope="module", params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def version(request: pytest.FixtureRequest) -> ssl.TLSVersion:
    found: ssl.TLSVersion = request.param
    return found


PING, PONG = encode("PING"), b"+PONG\r\n"


def test_the_end_of_the_handshake_and_the_first_command_may_come_in_one_piece(
    server: TlsServer,
) -> None:
    """TLS 1.3: the client may send before the server has accepted its certificate."""
    with Pen(server, version=ssl.TLSVersion.TLSv1_3) as pen:
        last = pen.shake_hands()
        pen.socket.sendall(last + pen.encrypted(PING) + pen.encrypted(PING * 2))
        assert pen.answer(3 * len(PONG)) == 3 * PONG


def test_a_handshake_may_come_byte_by_byte(server: TlsServer, version: ssl.TLSVersion) -> None:
    with Pen(server, version=version) as pen:
        while True:
            try:
                pen.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                for byte in pen.outgoing.read():
                    pen.socket.sendall(bytes([byte]))
                pen.receive()
        for byte in pen.outgoing.read() + pen.encrypted(PING):
            pen.socket.sendall(bytes([byte]))
        assert pen.answer(len(PONG)) == PONG


def test_the_first_message_may_be_cut_anywhere(server: TlsServer) -> None:
    """At every byte of the client hello: the first part, a pause that the server sees, the rest."""
    size = 0
    at = 1
    while size == 0 or at < size:
        with Pen(server) as pen:
            with pytest.raises(ssl.SSLWantReadError):
                pen.tls.do_handshake()
            hello = pen.outgoing.read()
            size = len(hello)
            pen.socket.sendall(hello[:at])
            pen.socket.sendall(hello[at:])
            pen.receive()
            last = pen.shake_hands()
            pen.socket.sendall(last + pen.encrypted(PING))
            assert pen.answer(len(PONG)) == PONG
        at += 23


def test_a_record_may_be_cut_anywhere(server: TlsServer, version: ssl.TLSVersion) -> None:
    with Pen(server, version=version) as pen:
        pen.socket.sendall(pen.shake_hands())
        record = pen.encrypted(PING)
        pen.socket.sendall(record)
        assert pen.answer(len(PONG)) == PONG
        for at in range(1, len(record)):
            record = pen.encrypted(PING)
            pen.socket.sendall(record[:at])
            pen.socket.sendall(record[at:] + pen.encrypted(PING))
            assert pen.answer(2 * len(PONG)) == 2 * PONG


def test_many_records_in_one_piece_are_all_run(server: TlsServer) -> None:
    with Pen(server) as pen:
        pen.socket.sendall(pen.shake_hands())
        pen.socket.sendall(b"".join(pen.encrypted(PING) for _ in range(3000)))
        assert pen.answer(3000 * len(PONG)) == 3000 * PONG


def test_large_arguments_and_large_replies_come_whole(server: TlsServer) -> None:
    value = bytes(range(256)) * (20 * MIB // 256)
    with server.client() as client:
        assert client("SET", "large", value) == "OK"
        assert client("GET", "large") == value
        assert client("DEL", "large") == 1


def test_commands_before_a_goodbye_are_answered(server: TlsServer) -> None:
    """The client sends commands and close_notify at once, and does not close the socket."""
    with Pen(server) as pen:
        pen.socket.sendall(pen.shake_hands())
        data = pen.encrypted(PING * 2)
        with pytest.raises(ssl.SSLWantReadError):
            pen.tls.unwrap()
        pen.socket.sendall(data + pen.outgoing.read())
        raw = b""
        while chunk := pen.socket.recv(MIB):
            raw += chunk
        pen.incoming.write(raw)
        found = b""
        while len(found) < 2 * len(PONG):
            found += pen.tls.read(1000)
        assert found == 2 * PONG


def test_the_server_says_goodbye_before_it_closes(server: TlsServer) -> None:
    with server.client() as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        client.socket.suppress_ragged_eofs = False
        assert client("QUIT") == "OK"
        assert client.socket.recv(10) == b"", "an end without close_notify would be an SSLError"


def test_garbage_after_the_handshake_ends_the_connection(server: TlsServer) -> None:
    with Pen(server) as pen:
        pen.socket.sendall(pen.shake_hands())
        pen.socket.sendall(pen.encrypted(PING))
        assert pen.answer(len(PONG)) == PONG
        record = bytearray(pen.encrypted(PING))
        record[-1] ^= 1
        pen.socket.sendall(record)
        with pytest.raises((EOFError, ConnectionError)):
            while True:
                pen.receive()
    said = "TLS: decryption failed or bad record mac"
    wait_until("it is said", lambda: said in server.process.log())


def test_a_reader_of_a_large_reply_may_be_slow(server: TlsServer) -> None:
    """100 MB, of which the kernel takes little at a time: nothing is lost, doubled or mixed."""
    value = array("I", range(25 * MIB)).tobytes()
    server.control("CONFIG", "SET", "client-output-buffer-limit", "normal 0 0 0")
    with server.client(timeout_s=120) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 << 10)
        assert client("SET", "hundred", value) == "OK"
        client.send(encode("GET", "hundred") + PING)
        with server.client() as other:
            for _ in range(100):
                assert other("PING") == "PONG"
        assert parse(client.read()) == value
        assert parse(client.read()) == "PONG"
        assert client("DEL", "hundred") == 1


def test_who_does_not_read_is_closed_at_the_limit(start: MakeServer) -> None:
    server = start("--client-output-buffer-limit", "normal 8mb 0 0")
    server.control("SET", "chunk", "x" * MIB)
    with server.client() as deaf:
        with pytest.raises((OSError, EOFError)):
            for _ in range(100):
                deaf.send(encode("GET", "chunk") * 10)
            raise EOFError
        wait_until(
            "it is closed", lambda: "exceeded its output buffer limit" in server.process.log()
        )
    assert server.pings()


def test_messages_to_many_subscribers_go_through_tls(server: TlsServer) -> None:
    clients = [server.client() for _ in range(20)]
    for client in clients:
        client("SUBSCRIBE", "news")
    server.control("PUBLISH", "news", "y" * 100_000)
    for client in clients:
        assert parse(client.read())[2] == b"y" * 100_000
        client.close()


def test_a_blocked_reader_is_woken(server: TlsServer) -> None:
    with server.client() as reader:
        reader.send(encode("XREAD", "BLOCK", 0, "STREAMS", "wakeup", "$"))
        wait_until("it waits", lambda: "blocked_clients:1" in str(server.control("INFO")))
        server.control("XADD", "wakeup", "1-1", "f", "v")
        assert parse(reader.read()) == [[b"wakeup", [[b"1-1", [b"f", b"v"]]]]]


# -- Handshakes ---------------------------------------------------------------------


def test_two_hundred_may_come_at_once(server: TlsServer) -> None:
    failures: list[BaseException] = []

    def one() -> None:
        try:
            assert server.pings()
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    threads = [threading.Thread(target=one) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_those_who_stop_in_the_handshake_hold_up_nobody_and_are_closed(start: MakeServer) -> None:
    server = start()
    silent = [socket.create_connection(server.address) for _ in range(20)]
    halves = []
    for _ in range(20):
        pen = Pen(server)
        with pytest.raises(ssl.SSLWantReadError):
            pen.tls.do_handshake()
        pen.socket.sendall(pen.outgoing.read()[:100])
        halves.append(pen)
    assert server.pings()
    for sock in (*silent, *(pen.socket for pen in halves)):
        sock.settimeout(60)
        assert sock.recv(1) == b"", "closed after ten seconds"
        sock.close()
    said = "the TLS handshake took too long"
    wait_until("all are named", lambda: server.process.log_path.read_text().count(said) == 40)
    assert server.pings()


def test_so_many_handshakes_may_be_under_way_and_the_slow_ones_go_for_others(
    start: MakeServer,
) -> None:
    server = start("--maxclients", "60")
    slow = [socket.create_connection(server.address) for _ in range(40)]
    assert server.pings(), "half of maxclients at most; after a second others may come"
    with RawClient(("127.0.0.1", server.process.port)) as plain:
        assert plain("PING") == "PONG"
    assert "the TLS handshake took too long" in server.process.log()
    for sock in slow:
        sock.close()


def test_what_was_answered_over_tls_survives_kill_9(start: MakeServer) -> None:
    server = start("--appendonly", "yes", "--appendfsync", "always")
    with server.client() as client:
        ids = [client("XADD", "orders", "*", "n", n) for n in range(50)]
    folder = server.process.directory
    server.process.kill()
    with start("--dir", str(folder)).client() as client:
        found = [entry[0] for entry in client("XRANGE", "orders", "-", "+")]
    assert found == ids


def test_a_connection_that_moved_much_does_not_keep_the_room_for_it(start: MakeServer) -> None:
    server = start("--appendonly", "no")
    crowd = [server.client() for _ in range(100)]
    text = b"x" * MIB
    try:
        for client in crowd:
            assert client("PING") == "PONG"
        before = server.process.rss_bytes()
        for client in crowd:
            assert client("ECHO", text) == text
        assert server.process.rss_bytes() - before < len(crowd) * 200_000
    finally:
        for client in crowd:
            client.close()
