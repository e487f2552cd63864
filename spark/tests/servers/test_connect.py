"""URLs, and errors of servers as one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from forebay_spark.errors import OptionError, ServerError
from forebay_spark.options import BATCH, read_options
from forebay_spark.servers import state
from forebay_spark.servers.connect import CLUSTER, SENTINEL, Server, parse_url
from spark.tests.support.spark_streams import Target
from testkit.certificates import Certificates
from testkit.oracle import start_redis
from testkit.servers import ServerProcess, free_port, start_forebay


def server_at(url: str, **given: str) -> Server:
    return Server(read_options({"url": url, "streams": "s", **given}, BATCH))


def test_a_url_of_one_server_is_taken_apart() -> None:
    address = parse_url("rediss://ann:p%40ss@host:7000/3")
    assert address.tls and address.kind == ""
    assert address.hosts == (("host", 7000),)
    assert (address.user, address.password, address.path) == ("ann", "p@ss", ("3",))


def test_urls_of_sentinel_and_cluster_have_many_hosts() -> None:
    sentinel = parse_url("redis+sentinel://a,b:5000/mymaster/2")
    assert sentinel.kind == SENTINEL and sentinel.path == ("mymaster", "2")
    assert sentinel.hosts == (("a", 26379), ("b", 5000))
    cluster = parse_url("redis+cluster://a:1,b")
    assert cluster.kind == CLUSTER and cluster.hosts == (("a", 1), ("b", 6379))


@pytest.mark.parametrize("start", [start_forebay, start_redis])
def test_a_server_that_speaks_tls_is_reached_every_time(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    certificates = Certificates(tmp_path / "certificates")
    port = free_port()
    process = start(tmp_path / "server", *certificates.words(tls_port=port))
    pair = certificates.client
    url = (
        f"rediss://127.0.0.1:{port}?ssl_ca_certs={certificates.ca_file}"
        f"&ssl_certfile={pair.cert}&ssl_keyfile={pair.key}"
    )
    try:
        for _ in range(20):
            server = server_at(url)
            assert server.link("s").call("PING") == b"PONG"
            server.close()
    finally:
        process.stop()


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://host", "no known scheme"),
        ("host:6379", "no known scheme"),
        ("redis://host:port", "a port that is not a number"),
        ("redis+sentinel://host", "does not name the service"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: str, fault: str) -> None:
    with pytest.raises(OptionError, match=fault):
        parse_url(url)


def test_a_password_is_never_shown() -> None:
    with pytest.raises(OptionError) as caught:
        parse_url("http://ann:secret@host")
    assert "secret" not in str(caught.value)


def test_a_server_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay_spark.servers.patience.RETRY_PAUSES_S", (0.0,))
    url = f"redis://127.0.0.1:{free_port()}"
    with pytest.raises(ServerError, match=rf"No server answers at {url} .*correct the option url"):
        state.fetch(server_at(url), "s")


def test_a_wrong_password_is_named(make_forebay: Callable[..., ServerProcess]) -> None:
    port = make_forebay("--requirepass", "right").port
    for url in (f"redis://127.0.0.1:{port}", f"redis://:wrong@127.0.0.1:{port}"):
        with pytest.raises(ServerError, match=r"refuses the login .*Check user and password"):
            state.fetch(server_at(url), "s")
    assert state.fetch(server_at(f"redis://:right@127.0.0.1:{port}"), "s") is None
    assert state.fetch(server_at(f"redis://127.0.0.1:{port}", password="right"), "s") is None


def test_a_key_of_another_type_is_named(target: Target) -> None:
    target.client.set("s", "text")
    with pytest.raises(ServerError, match=r"The key 's' at .* is not a stream"):
        state.fetch(server_at(target.url), "s")


def test_a_database_of_the_url_is_used(target: Target) -> None:
    target.add("s", 1)
    assert state.fetch(server_at(f"{target.url}/0"), "s") is not None
    assert state.fetch(server_at(f"{target.url}/1"), "s") is None


def test_the_state_of_a_stream_is_what_xinfo_says(counting_target: Target) -> None:
    ids = counting_target.add("s", 10)
    counting_target.trim("s", ids[4])
    counting_target.client.xdel("s", ids[7])
    now = state.fetch(server_at(counting_target.url), "s")
    assert now is not None
    assert (now.length, now.added, now.removed) == (5, 10, 5)
    assert (str(now.first_id), str(now.last_id)) == (ids[4], ids[9])
    assert str(now.max_deleted_id) == ids[7]


def test_a_pattern_finds_streams_and_nothing_else(target: Target) -> None:
    for stream in ("orders:1", "orders:2", "other"):
        target.add(stream, 1)
    target.client.set("orders:text", "x")
    target.client.xadd(b"orders:\xff", {"a": 1})
    assert state.discover(server_at(target.url), "orders:*") == ["orders:1", "orders:2"]


def test_a_call_goes_on_over_a_new_connection(target: Target) -> None:
    server = server_at(target.url)
    link = server.link("s")
    assert link.call("PING") == b"PONG"
    target.client.client_kill_filter(_type="normal", skipme=True)
    assert link.call("PING") == b"PONG"
    server.close()
