"""Real clients over TLS: redis-cli, redis-benchmark, redis-py, and the command line of Forebay."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest
import redis
import redis.asyncio

from testkit.certificates import Certificates
from testkit.oracle import find
from testkit.servers import environment, free_port, start_forebay


class Place:
    """A server that speaks only TLS, and the options for its clients."""

    def __init__(self, port: int, certificates: Certificates) -> None:
        self.port = port
        pair = certificates.client
        self.files = [str(certificates.ca_file), str(pair.cert), str(pair.key)]
        ca, cert, key = self.files
        self.url = (
            f"rediss://127.0.0.1:{port}?ssl_ca_certs={ca}&ssl_certfile={cert}&ssl_keyfile={key}"
        )

    def run(self, program: str, *words: str) -> str:
        """The output of a program of Redis."""
        ca, cert, key = self.files
        options = ("--tls", "--cacert", ca, "--cert", cert, "--key", key, "-p", str(self.port))
        done = subprocess.run([find(program), *options, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def forebay(self, *words: str) -> str:
        """The output of Forebay's command line."""
        line = [sys.executable, "-m", "forebay", *words, "--url", self.url]
        done = subprocess.run(line, capture_output=True, text=True, env=environment())
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    certificates = Certificates(tmp_path_factory.mktemp("certificates"))
    port = free_port()
    words = certificates.words(port=0, tls_port=port, appendonly="no")
    server = start_forebay(tmp_path_factory.mktemp("server"), *words)
    yield Place(port, certificates)
    server.stop()


def test_redis_cli_speaks_tls(place: Place) -> None:
    assert place.run("redis-cli", "XADD", "cli", "1-1", "rider", "Castilla") == "1-1\n"
    assert place.run("redis-cli", "XLEN", "cli") == "1\n"


def test_redis_benchmark_speaks_tls(place: Place) -> None:
    words = ("-q", "-n", "2000", "-c", "20", "-P", "4")
    printed = place.run("redis-benchmark", *words, "XADD", "bench", "*", "f", "v")
    assert "requests per second" in printed
    assert int(place.run("redis-cli", "XLEN", "bench")) == 2000


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py_speaks_tls(place: Place, protocol: int) -> None:
    with redis.Redis.from_url(place.url, protocol=protocol) as client:
        client.delete("py")
        client.xgroup_create("py", "g", id="0", mkstream=True)
        pipeline = client.pipeline(transaction=True)
        for n in range(100):
            pipeline.xadd("py", {"n": n})
        pipeline.execute()
        assert len(client.xreadgroup("g", "c", {"py": ">"}, count=100)) == 1
        assert client.xlen("py") == 100


def test_redis_py_speaks_tls_in_an_event_loop(place: Place) -> None:
    async def talk() -> bytes:
        async with redis.asyncio.Redis.from_url(place.url) as client:
            reader = asyncio.create_task(client.xread({"loop": "$"}, block=0))
            while not (await client.info("clients"))["blocked_clients"]:
                await asyncio.sleep(0)
            await client.xadd("loop", {"f": "v"})
            ((_, entries),) = await reader
            return bytes(entries[0][1][b"f"])

    assert asyncio.run(talk()) == b"v"


def test_the_command_line_speaks_tls(place: Place) -> None:
    place.forebay("add", "line", "item=tea", "price=3.20")
    assert "tea" in place.forebay("range", "line")
    assert "line" in place.forebay("info", "line")
