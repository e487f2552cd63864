"""Replication over TLS: copies, the stream and failovers, with Forebay and Redis on either side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme

from server.tests.support.replicas import assert_same, cut, fill, syncs
from testkit.certificates import Certificates
from testkit.nodes import Node, here, nodes_in
from testkit.sentinels import Sentinels
from testkit.waiting import wait_until

Start = Callable[..., Node]
PAIRS = [("forebay", "forebay"), ("forebay", "redis"), ("redis", "forebay")]


@pytest.fixture
def start(tmp_path: Path, certificates: Certificates) -> Iterator[Start]:
    """Nodes that speak only TLS, to clients and to each other."""
    started: list[Node] = []
    with nodes_in(tmp_path) as begin:

        def begin_tls(kind: str, **directives: str | int) -> Node:
            place = here()
            own = certificates.directives(port=0, tls_port=place.port, tls_replication="yes")
            started.append(begin(kind, place, **(own | directives)))
            return started[-1]

        yield begin_tls
        for node in started:
            assert "Traceback" not in node.log(), node.log()


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_a_copy_and_the_stream_come_through_tls_and_a_cut_link_goes_on(
    start: Start, first: str, second: str, diskless: str
) -> None:
    primary = start(first, repl_diskless_sync=diskless)
    replica = start(second)
    fill(primary)
    primary("SET", "large", "x" * 3_000_000)
    replica.follow(primary)
    fill(primary, first=200)
    assert_same(primary, replica)
    cut(primary)
    fill(primary, first=400)
    assert_same(primary, replica)
    assert syncs(primary) == (1, 1)
    port = replica.address[1]
    assert f"port={port}," in primary.info("replication")["slave0"], "the TLS port is told"


def test_more_than_a_window_of_the_stream_comes_through_tls(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    replica.follow(primary)
    with primary.control() as client:
        for n in range(30):
            client.insist("SET", f"key:{n}", chr(65 + n) * 1_000_000)
    assert_same(primary, replica)


def test_a_replica_of_another_ca_is_refused_and_says_why(
    start: Start, certificates: Certificates
) -> None:
    foreign = certificates.issue("foreign-replica", trustme.CA())
    primary = start("forebay")
    replica = start("forebay", tls_client_cert_file=foreign.cert, tls_client_key_file=foreign.key)
    replica.follow(primary, wait=False)
    wait_until("it is said", lambda: "TLS:" in replica.log())
    wait_until("there too", lambda: "its certificate is not accepted" in primary.log())
    assert replica.info("replication")["master_link_status"] == "down"
    words = ("tls-client-cert-file", "", "tls-client-key-file", "")
    assert replica("CONFIG", "SET", *words) == "OK"
    wait_until("with a good one it follows", replica.is_linked)


def test_a_primary_of_another_ca_is_not_followed(start: Start, tmp_path: Path) -> None:
    others = Certificates(tmp_path / "others")
    primary, replica = start("forebay", **others.directives()), start("forebay")
    replica.follow(primary, wait=False)
    said = "its certificate is not accepted"
    wait_until("it is said", lambda: said in replica.log())


def test_a_replica_without_tls_at_a_tls_port_keeps_trying_and_says_so(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay", tls_replication="no")
    replica.follow(primary, wait=False)
    wait_until("it is closed", lambda: "the primary closed the connection" in replica.log())
    wait_until("it is named", lambda: "it speaks plain text" in primary.log())
    assert replica("CONFIG", "SET", "tls-replication", "yes") == "OK"
    wait_until("it follows", replica.is_linked)


def test_a_primary_that_stops_in_the_handshake_is_given_up(start: Start) -> None:
    primary, replica = start("forebay"), start("forebay")
    primary.pause()
    replica.follow(primary, wait=False)
    wait_until("it is said", lambda: "the TLS handshake took too long" in replica.log(), 60)
    primary.resume()
    wait_until("it follows", replica.is_linked)


def test_sentinels_fail_over_between_nodes_that_speak_tls_only(
    start: Start, certificates: Certificates, tmp_path: Path
) -> None:
    words = certificates.directives(tls_replication="yes")
    more = "".join(f"{name.replace('_', '-')} {value}\n" for name, value in words.items())
    first, second = start("forebay"), start("forebay")
    second.follow(first)
    with Sentinels(tmp_path / "sentinels", more=f"port 0\ntls-port {{port}}\n{more}") as sentinels:
        sentinels.monitor("orders", first.address)
        sentinels.wait_until_known("orders", replicas=1)
        first("XADD", "orders", "1-1", "n", 1)
        wait_until("it has it", lambda: second("XLEN", "orders") == 1)
        mark = sentinels.mark()
        first.kill()
        sentinels.wait_for("+switch-master", mark)
        wait_until("it leads", lambda: second.info("replication")["role"] == "master")
        first.restart()
        wait_until("the old one follows", first.is_linked)
        assert second.info("replication")["connected_slaves"] == "1"
