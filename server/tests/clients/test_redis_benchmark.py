"""redis-benchmark against Forebay: its start-up commands and its load work."""

from __future__ import annotations

import subprocess

import forebay
from testkit.oracle import find
from testkit.servers import ServerProcess

REQUESTS = 20_000 if forebay.compiled() else 2_000


def benchmark(server: ServerProcess, *args: str) -> str:
    command = [find("redis-benchmark"), "-p", str(server.port), "-n", str(REQUESTS), *args]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    return done.stdout.decode()


def test_ping_inline_and_in_bulk(forebay_server: ServerProcess) -> None:
    printed = benchmark(forebay_server, "-t", "ping", "-q", "-c", "20")
    assert "PING_INLINE" in printed
    assert "PING_MBULK" in printed


def test_set_and_get_with_random_keys(forebay_server: ServerProcess) -> None:
    printed = benchmark(forebay_server, "-t", "set,get", "-q", "-r", "1000", "-P", "8")
    assert "requests per second" in printed


def test_xadd_pipelined_adds_every_entry(forebay_server: ServerProcess) -> None:
    fields = ("rider", "Castilla", "speed", "30.2", "position", "1", "location_id", "1")
    benchmark(forebay_server, "-q", "-P", "16", "-c", "50", "XADD", "race", "*", *fields)
    with forebay_server.client() as client:
        assert client("XLEN", "race") == REQUESTS


def test_csv_output_and_resp3(forebay_server: ServerProcess) -> None:
    printed = benchmark(forebay_server, "-3", "--csv", "-c", "5", "XLEN", "race")
    assert '"XLEN race"' in printed
