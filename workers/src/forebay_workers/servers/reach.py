"""From a URL to its server: one server, the primary that Sentinel names, or a cluster."""

from __future__ import annotations

from forebay_workers.clock import Clock
from forebay_workers.servers.cluster import Cluster
from forebay_workers.servers.connect import Server, Serves
from forebay_workers.servers.slots import CLUSTER


def reach(url: str, clock: Clock) -> Serves:
    """The server of the URL; this opens no connection yet."""
    return Cluster(url, clock) if url.startswith(CLUSTER) else Server(url)
