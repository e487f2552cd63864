"""TestApp with things that take real time: functions in threads, sockets of handlers."""

from __future__ import annotations

import asyncio
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from forebay_workers import App, TestApp

# Plain functions in threads


def test_a_plain_function_is_waited_for_before_time_goes_on() -> None:
    app = App(group="g")

    @app.on("s")
    def handler(fields: dict[str, str]) -> None:
        threading.Event().wait(0.05)

    with TestApp(app) as t:
        t.publish("s", {"n": "1"})
        assert t.handled("s") == [{"n": "1"}]
        assert t.elapsed == 0.0
        assert t.pending("s") == []


def test_time_goes_on_without_a_function_that_never_ends() -> None:
    app, end = App(group="g", lease=30), threading.Event()

    @app.on("s")
    def handler(fields: dict[str, str]) -> None:
        end.wait()

    with TestApp(app, workers=2, patience=0.2) as t:
        t.publish("s", {"n": "1"})
        t.advance(100)
        (row,) = t.pending("s")
        assert (row.consumer, row.deliveries) == ("worker-1", 1)
        end.set()
        while not t.handled("s"):
            t.settle()
        assert t.pending("s") == []


# Sockets of handlers


@contextmanager
def slow_server() -> Iterator[int]:
    """Answers each line a little later; its port."""

    class Answer(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                threading.Event().wait(0.05)
                self.wfile.write(line)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_handler_that_asks_a_real_server_is_waited_for_before_time_goes_on() -> None:
    app = App(group="g")

    @app.on("s", timeout=1, to="out")
    async def handler(fields: dict[str, str]) -> dict[str, str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(b"hello\n")
            assert await reader.readline() == b"hello\n"
        writer.close()
        return fields

    with slow_server() as port, TestApp(app) as t:
        t.publish("s", {"n": "1"})
        t.drain()
        assert t.published("out") == [{"n": "1"}]
        assert t.elapsed == 0.0


def test_a_connection_that_is_made_in_the_test_serves_handlers() -> None:
    app, connections = App(group="g"), []

    @app.on("s", timeout=1)
    async def handler(fields: dict[str, str]) -> None:
        reader, writer = connections[0]
        writer.write(b"hello\n")
        assert await reader.readline() == b"hello\n"

    with slow_server() as port, TestApp(app) as t:
        connections.append(t.run(asyncio.open_connection("127.0.0.1", port)))
        t.publish("s", {"n": "1"})
        t.assert_done()
        assert t.elapsed == 0.0
        _, writer = connections[0]
        writer.close()
        t.run(writer.wait_closed())
