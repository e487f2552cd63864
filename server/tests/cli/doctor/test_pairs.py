"""``forebay doctor`` and real replicas: in step, hanging, cut off, and waiting for all data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from server.tests.support.doctor import Doctor, Findings
from testkit.nodes import REPLICATING, Node, nodes_in, wait_for_replicas
from testkit.servers import free_port
from testkit.waiting import wait_until

Start = Callable[..., Node]
Pair = tuple[Node, Node]


@pytest.fixture
def start(scratch: Path) -> Iterator[Start]:
    with nodes_in(scratch) as begin:
        yield begin


@pytest.fixture(params=REPLICATING)
def pair(start: Start, request: pytest.FixtureRequest) -> Pair:
    """A primary with a backlog of 16 KB, and its replica, in step."""
    primary = start(request.param, repl_backlog_size="16kb", min_replicas_max_lag=1)
    replica = start(request.param)
    replica.follow(primary)
    wait_for_replicas(primary, [replica])
    return primary, replica


@contextmanager
def written_to(node: Node) -> Iterator[None]:
    """A client writes to the server meanwhile."""
    stop = threading.Event()

    def write() -> None:
        with node.client() as client:
            while not stop.is_set():
                client("SET", "k", "v" * 10_000)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def port_of(node: Node) -> int:
    return node.address[1]


def the_replica(findings: Findings) -> dict[str, Any]:
    (found,) = [found for topic, found in findings.items() if topic.startswith("replica 127.")]
    return found


def test_a_replica_in_step_is_well(pair: Pair, doctor: Doctor) -> None:
    above, below = (doctor.findings(port_of(node)) for node in pair)
    assert the_replica(above)["level"] == "ok"
    assert above["min-replicas-to-write"]["level"] == "advice"
    assert above["persistence"]["level"] == "problem"  # no files, and a replica that follows
    assert below["link to the primary"]["level"] == "ok"
    assert below["server"]["facts"]["role"] == "replica"


def test_a_backlog_that_a_short_cut_outlasts_is_found_by_what_is_written(
    pair: Pair, doctor: Doctor
) -> None:
    with written_to(pair[0]):
        found = doctor.findings(port_of(pair[0]), "--seconds", "0.3")["backlog"]
    assert found["level"] == "problem" and found["facts"]["bytes_per_second"] > 10_000
    assert "CONFIG SET repl-backlog-size" in found["do"]


def test_a_replica_that_hangs_is_a_problem(pair: Pair, doctor: Doctor) -> None:
    primary, replica = pair
    replica.pause()
    primary("CONFIG", "SET", "min-replicas-to-write", "1")
    wait_until("a silent replica", lambda: "lag=4" in primary.info("replication")["slave0"])
    findings = doctor.findings(port_of(primary))
    assert the_replica(findings)["level"] == "problem"
    assert "has confirmed nothing for" in the_replica(findings)["sentence"]
    assert "NOREPLICAS" in findings["min-replicas-to-write"]["sentence"]
    assert findings["min-replicas-to-write"]["level"] == "problem"


def test_a_link_that_is_cut_is_a_problem_below_and_advice_above(pair: Pair, doctor: Doctor) -> None:
    primary, replica = pair
    replica.follow(("127.0.0.1", free_port()), wait=False)
    wait_until("no replica", lambda: primary.info()["connected_slaves"] == "0")
    wait_until("a refusal", lambda: not replica.is_linked())
    found = doctor.findings(port_of(replica))["link to the primary"]
    assert found["level"] == "problem" and found["do"].startswith("redis-cli -h 127.0.0.1 -p ")
    assert "there was one" in doctor.findings(port_of(primary))["replicas"]["sentence"]


@pytest.mark.parametrize("kind", REPLICATING)
def test_a_full_sync_that_waits_is_advice(kind: str, start: Start, doctor: Doctor) -> None:
    primary, replica = start(kind, repl_diskless_sync_delay=60), start(kind)
    replica.follow(primary, wait=False)
    wait_until("a replica", lambda: "wait_bgsave" in primary.info().get("slave0", ""))
    found = the_replica(doctor.findings(port_of(primary)))
    assert found["level"] == "advice" and "wait_bgsave" in found["sentence"]
