"""The metrics for Prometheus: names that dashboards use, labels that any stream name survives."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import yaml

from console.tests.conftest import Scene
from testkit.consoles import console
from testkit.places import ROOT
from testkit.servers import ServerProcess
from testkit.waiting import wait_until


def metrics(scene: Scene) -> str:
    return scene.asker.request("GET", "/metrics").data.decode()


def test_streams_and_groups_have_the_names_of_redis_exporter(scene: Scene) -> None:
    for number in range(3):
        scene.client.xadd('od"d\\name\n', {"n": number})
    scene.client.xgroup_create('od"d\\name\n', "billing", 0)
    scene.client.xreadgroup("billing", "ann", {'od"d\\name\n': ">"}, count=1)
    labels = 'db="db0",stream="od\\"d\\\\name\\n"'
    wanted = (
        f"redis_stream_length{{{labels}}} 3",
        f'redis_stream_group_messages_pending{{{labels},group="billing"}} 1',
        f'redis_stream_group_lag{{{labels},group="billing"}} 2',
        "redis_up 1",
    )
    wait_until("they are there", lambda: all(line in metrics(scene) for line in wanted))
    families = [line.split()[2] for line in metrics(scene).splitlines() if line.startswith("#")]
    assert len(families) == len(set(families))


def expressions() -> Iterator[str]:
    """The expressions of the dashboard and of the alert rules."""
    folder = ROOT / "console" / "prometheus"
    board = json.loads((folder / "grafana-dashboard.json").read_text())
    for panel in board["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    for group in yaml.safe_load((folder / "alerts.yaml").read_text())["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


def test_every_name_of_the_dashboard_and_the_alerts_is_in_the_real_output(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    primary, replica = make_forebay(), make_forebay()
    with replica.client() as client:
        client("REPLICAOF", "127.0.0.1", primary.port)
    with primary.client() as client:
        client("XADD", "orders", "*", "n", 1)
        client("XGROUP", "CREATE", "orders", "billing", 0)
    named = {name for one in expressions() for name in re.findall(r"(?:redis|forebay)_\w+", one)}
    assert len(named) > 10
    with console(f"redis://127.0.0.1:{primary.port}") as asker:
        asker.enter()

        def missing() -> set[str]:
            text = asker.request("GET", "/metrics").data.decode()
            return named - {line.split()[2] for line in text.splitlines() if line[0] == "#"}

        wait_until("all are there", lambda: not missing())
