"""Workers over TLS: certificates of our own CA, and the errors when they do not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from forebay_workers import App, ConfigError, Patience, ServerError
from testkit.certificates import Certificates
from testkit.servers import ServerProcess, free_port
from workers.tests.support.target import until, working

Start = Callable[..., ServerProcess]


class Encrypted:
    """A server with a TLS port, and its certificates."""

    def __init__(self, start: Start, folder: Path, **more: str) -> None:
        self.certificates = Certificates(folder)
        self.port = free_port()
        self.server = start(*self.certificates.words(tls_port=self.port, **more))

    def url(self, password: str = "", **options: object) -> str:
        """Its address, with options of redis-py."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"rediss://{password}@127.0.0.1:{self.port}?{query}"

    def clients(self, password: str) -> int:
        """How many clients are connected, including this one."""
        with self.server.client(unix=True) as client:
            client("AUTH", password)
            lines: bytes = client("CLIENT", "LIST")
            return len(lines.splitlines())


@pytest.fixture(params=["make_redis", "make_forebay"])
def start(request: pytest.FixtureRequest) -> Start:
    found: Start = request.getfixturevalue(request.param)
    return found


def counting(app: App) -> list[int]:
    """An app that notes the messages it handles."""
    seen: list[int] = []

    @app.on("s")
    async def handler(fields: dict) -> None:
        seen.append(int(fields["n"]))

    return seen


async def handles(url: str) -> bool:
    """Whether messages are published and handled there."""
    app = App(url, group="g")
    seen = counting(app)
    async with working(app):
        await app.publish_many("s", [{"n": n} for n in range(100)])
        await until("handled", lambda: len(seen) >= 100)
    return seen == list(range(100))


async def fault(url: str) -> str:
    """The error of a worker that ends at once."""
    app = App(url, patience=Patience(away_s=0.0))
    counting(app)
    with pytest.raises(ServerError) as caught:
        await app.run()
    return str(caught.value)


async def test_a_worker_over_tls(start: Start, tmp_path: Path) -> None:
    place = Encrypted(start, tmp_path, tls_auth_clients="no")
    assert await handles(place.url(ssl_ca_certs=place.certificates.ca_file))


async def test_a_worker_that_shows_a_certificate(start: Start, tmp_path: Path) -> None:
    place = Encrypted(start, tmp_path)
    ca_file, mine = place.certificates.ca_file, place.certificates.client
    url = place.url(ssl_ca_certs=ca_file, ssl_certfile=mine.cert, ssl_keyfile=mine.key)
    assert await handles(url)
    assert "cannot be reached" in await fault(place.url(ssl_ca_certs=ca_file))


async def test_a_certificate_that_is_not_trusted_ends_the_worker(
    start: Start, tmp_path: Path
) -> None:
    place = Encrypted(start, tmp_path, tls_auth_clients="no")
    app = App(place.url())  # it waits for ever
    counting(app)
    with pytest.raises(ServerError, match="has a certificate that is not trusted here") as caught:
        await app.run()
    assert "ssl_ca_certs=" in str(caught.value)


async def test_a_wrong_password_over_tls_is_one_sentence(start: Start, tmp_path: Path) -> None:
    place = Encrypted(start, tmp_path, tls_auth_clients="no", requirepass="right")
    ca_file = place.certificates.ca_file
    for password in (":wrong", ""):
        text = await fault(place.url(password, ssl_ca_certs=ca_file))
        assert text.startswith(f"rediss://127.0.0.1:{place.port} refuses the password")
        assert "wrong@" not in text
        # redis-py does not wait for the end of a connection that was refused.
        await until("it is closed", lambda: place.clients("right") == 1)


async def test_no_tls_to_a_port_that_wants_it(start: Start, tmp_path: Path) -> None:
    place = Encrypted(start, tmp_path, tls_auth_clients="no")
    assert "cannot be reached" in await fault(f"redis://127.0.0.1:{place.port}")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("rediss://h?ssl_ca_certs=/nowhere/ca.pem", "there is no file '/nowhere/ca.pem'"),
        ("redis://h?colour=red", "it has no option 'colour'"),
        ("redis://h:port", "Port could not be cast"),
    ],
)
def test_a_url_that_cannot_be_used_is_one_sentence(url: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"cannot be used: {reason}"):
        App(url).server  # noqa: B018
