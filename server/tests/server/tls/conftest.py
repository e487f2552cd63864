"""One CA for all tests of TLS, and servers that use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testkit.certificates import Certificates, Pair
from testkit.resp import RawClient
from testkit.servers import ServerProcess, free_port, start_forebay


class TlsServer:
    """A Forebay with a TLS port and a plain one."""

    def __init__(self, folder: Path, certificates: Certificates, *words: str) -> None:
        self.certificates = certificates
        self.tls_port = free_port()
        port = ("--tls-port", str(self.tls_port))
        self.process: ServerProcess = start_forebay(folder, *certificates.words(), *port, *words)

    @property
    def address(self) -> tuple[str, int]:
        """Where it speaks TLS."""
        return ("127.0.0.1", self.tls_port)

    def client(self, pair: Pair | None = None, timeout_s: float = 20.0) -> RawClient:
        """A TLS connection; with the client's certificate unless another is named."""
        pair = pair or self.certificates.client
        return RawClient(self.address, timeout_s, self.certificates.context(pair))

    def stranger(self) -> RawClient:
        """A TLS connection without a certificate."""
        return RawClient(self.address, tls=self.certificates.context())

    def pings(self, pair: Pair | None = None, *, stranger: bool = False) -> bool:
        """Whether a new client is answered."""
        with self.stranger() if stranger else self.client(pair) as client:
            return bool(client("PING") == "PONG")

    def control(self, *words: str | int) -> Any:
        """One command over the unix socket."""
        with self.process.client(unix=True) as client:
            return client(*words)


MakeServer = Callable[..., TlsServer]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def start(tmp_path: Path, certificates: Certificates) -> Iterator[MakeServer]:
    """A function that starts servers; they are stopped afterwards."""
    started: list[TlsServer] = []

    def begin(*words: str) -> TlsServer:
        folder = tmp_path / f"server-{len(started)}"
        started.append(TlsServer(folder, certificates, *words))
        return started[-1]

    yield begin
    for server in started:
        server.process.stop()
        assert "Internal error" not in server.process.log()


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[TlsServer]:
    """One server for all tests of a file that do not change it."""
    words = ("--loglevel", "verbose", "--appendonly", "no")
    server = TlsServer(tmp_path_factory.mktemp("server"), certificates, *words)
    yield server
    server.process.stop()
    assert "Internal error" not in server.process.log()
