"""One client and its bytes, over a real socket: whole, in pieces, too many, garbage."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from testkit.resp import encode
from testkit.servers import ServerProcess
from testkit.waiting import client_field, wait_for_blocked, wait_until

Make = Callable[..., ServerProcess]

BIG = b"x" * 3_000_000


def test_a_command_that_arrives_byte_by_byte_is_run_once(forebay_server: ServerProcess) -> None:
    with forebay_server.client() as client:
        for byte in encode("XADD", "s", "1-1", "field", "value"):
            client.send(bytes([byte]))
        assert client.read() == b"$3\r\n1-1\r\n"
        assert client("XLEN", "s") == 1


@pytest.mark.parametrize("piece", [7, 1000, 65_536, 70_000])
def test_a_pipeline_cut_anywhere_gives_the_same_replies(
    forebay_server: ServerProcess, piece: int
) -> None:
    script = b"".join(encode("XADD", "s", f"{i}-1", "f", "v" * (i % 300)) for i in range(1, 1001))
    with forebay_server.client() as client:
        for at in range(0, len(script), piece):
            client.send(script[at : at + piece])
        expected = [b"$%d\r\n%d-1\r\n" % (len(str(i)) + 2, i) for i in range(1, 1001)]
        assert client.read_many(1000) == expected


def test_ten_thousand_commands_sent_before_the_first_reply_is_read(
    forebay_server: ServerProcess,
) -> None:
    with forebay_server.client() as client:
        client.send(encode("PING") * 10_000)
        assert client.read_many(10_000) == [b"+PONG\r\n"] * 10_000


def test_a_pipeline_with_far_more_output_than_the_socket_holds_is_answered_in_full(
    forebay_server: ServerProcess,
) -> None:
    """The client writes everything before it reads: neither side may get stuck."""
    with forebay_server.client() as client:
        client("XADD", "s", "1-1", "f", b"x" * 100_000)
        client.send(encode("XRANGE", "s", "-", "+") * 2_000)
        first = client.read()
        assert client.read_many(1_999) == [first] * 1_999


def test_arguments_larger_than_any_buffer_come_back_whole(forebay_server: ServerProcess) -> None:
    with forebay_server.client() as client:
        client("XADD", "s", "1-1", "f", BIG)
        assert client("XRANGE", "s", "-", "+") == [[b"1-1", [b"f", BIG]]]


def test_small_commands_behind_a_large_one_are_run_too(forebay_server: ServerProcess) -> None:
    with forebay_server.client() as client:
        client.send(encode("XADD", "s", "1-1", "f", BIG) + encode("XLEN", "s") * 500)
        assert client.read_many(501) == [b"$3\r\n1-1\r\n"] + [b":1\r\n"] * 500


def test_inline_commands_are_understood(forebay_server: ServerProcess) -> None:
    with forebay_server.client() as client:
        client.send(b"PING\r\nXADD s 5-1 'a b' \"c\\x41\"\n\r\nXLEN s\r\n")
        assert client.read_many(3) == [b"+PONG\r\n", b"$3\r\n5-1\r\n", b":1\r\n"]


@pytest.mark.parametrize(
    ("garbage", "answer"),
    [
        (b"*abc\r\n", b"-ERR Protocol error: invalid multibulk length\r\n"),
        (b"*1\r\n!3\r\n", b"-ERR Protocol error: expected '$', got '!'\r\n"),
        (b"*1\r\n$-5\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
        (b'PING "\r\n', b"-ERR Protocol error: unbalanced quotes in request\r\n"),
        (b"x" * 70_000, b"-ERR Protocol error: too big inline request\r\n"),
    ],
)
def test_garbage_gets_a_protocol_error_and_the_end_while_others_live(
    forebay_server: ServerProcess, garbage: bytes, answer: bytes
) -> None:
    with forebay_server.client() as other, forebay_server.client() as client:
        client.send(garbage)
        assert client.read() == answer
        assert client.closed()
        assert other("PING") == "PONG"


def test_commands_before_the_garbage_are_answered_first(forebay_server: ServerProcess) -> None:
    with forebay_server.client() as client:
        client.send(encode("PING") + b"*x\r\n" + encode("PING"))
        replies = client.read_many(2)
        assert replies == [b"+PONG\r\n", b"-ERR Protocol error: invalid multibulk length\r\n"]
        assert client.closed()


def test_a_client_that_only_stops_sending_gets_the_replies_to_what_it_sent(
    forebay_server: ServerProcess,
) -> None:
    with forebay_server.client() as client:
        client("XADD", "s", "1-1", "f", b"x" * 500_000)
        client.send(encode("XRANGE", "s", "-", "+") * 40)
        client.socket.shutdown(socket.SHUT_WR)
        assert len(client.read_many(40)) == 40
        assert client.closed()


def test_replies_that_wait_for_a_slow_reader_are_sent_though_it_has_stopped_sending(
    forebay_server: ServerProcess,
) -> None:
    with forebay_server.client() as client, forebay_server.client() as admin:
        number = client("CLIENT", "ID")
        client("XADD", "s", "1-1", "f", b"x" * 500_000)
        client.send(encode("XRANGE", "s", "-", "+") * 40)
        all_of_them = 40 * 500_000
        # What the kernel holds is sent for the server: a few megabytes at most.
        wait_until(
            "all have run",
            lambda: (
                int(client_field(admin, number, "obl")) > all_of_them // 2
                and int(client_field(admin, number, "tot-cmds")) == 42
            ),
        )
        client.socket.shutdown(socket.SHUT_WR)
        assert len(client.read_many(40)) == 40
        assert client.closed()


def test_commands_of_a_client_that_is_gone_are_run_all_the_same(
    forebay_server: ServerProcess,
) -> None:
    with forebay_server.client() as client:
        client.send(b"".join(encode("XADD", "s", f"{i}-1", "f", "v") for i in range(1, 20_001)))
        client.socket.shutdown(socket.SHUT_WR)
        assert client.closed()
    with forebay_server.client() as client:
        assert client("XLEN", "s") == 20_000


def test_a_client_that_vanishes_in_the_middle_of_a_command_leaves_nothing(
    forebay_server: ServerProcess,
) -> None:
    with forebay_server.client() as watcher:
        before = watcher("CLIENT", "LIST").count(b"\n")
        for _ in range(50):
            with forebay_server.client() as client:
                client.send(b"*3\r\n$4\r\nXADD\r\n$1000\r\nabc")
        wait_until("they are gone", lambda: watcher("CLIENT", "LIST").count(b"\n") == before)
        assert watcher("EXISTS", "abc") == 0


def test_commands_behind_a_blocking_one_wait_for_it(forebay_server: ServerProcess) -> None:
    with forebay_server.client() as writer, forebay_server.client() as reader:
        reader.send(encode("XREAD", "BLOCK", "0", "STREAMS", "s", "$") + encode("PING"))
        wait_for_blocked(writer, 1)
        writer("XADD", "s", "1-1", "f", "v")
        woken, pong = reader.read_many(2)
        assert b"1-1" in woken
        assert pong == b"+PONG\r\n"


def test_a_blocked_client_whose_time_is_up_goes_on_with_its_pipeline(
    forebay_server: ServerProcess,
) -> None:
    with forebay_server.client() as client:
        client.send(encode("XREAD", "BLOCK", "20", "STREAMS", "s", "$") + encode("PING"))
        assert client.read_many(2) == [b"*-1\r\n", b"+PONG\r\n"]


def test_quit_answers_and_closes(forebay_server: ServerProcess) -> None:
    with forebay_server.client() as client:
        client.send(encode("QUIT") + encode("PING"))
        assert client.read() == b"+OK\r\n"
        assert client.closed()
        assert not client.buffer


def test_output_for_somebody_else_is_sent_in_the_same_turn(forebay_server: ServerProcess) -> None:
    with forebay_server.client() as publisher, forebay_server.client() as subscriber:
        subscriber("SUBSCRIBE", "news")
        assert publisher("PUBLISH", "news", "hello") == 1
        assert subscriber.read() == b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n"


def test_a_client_killed_by_another_is_closed_even_if_it_reads_nothing(
    forebay_server: ServerProcess,
) -> None:
    with forebay_server.client() as admin, forebay_server.client() as victim:
        victim("XADD", "s", "1-1", "f", b"x" * 1_000_000)
        number = victim("CLIENT", "ID")
        victim.send(encode("XRANGE", "s", "-", "+") * 30)
        wait_until("it runs", lambda: b"cmd=xrange" in admin("CLIENT", "LIST", "ID", number))
        assert admin("CLIENT", "KILL", "ID", number) == 1
        wait_until("it is gone", lambda: admin("CLIENT", "LIST", "ID", number) == b"")
