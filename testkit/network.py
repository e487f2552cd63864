"""A network that a test can cut: it has places for nodes, and each can be isolated.

    with any_network() as network:
        node = start("redis", network.place())
        network.isolate(node.place)           nothing reaches it, and no end is told
        network.heal(node.place)

``Namespaces`` (for root, on Linux) looks like a network of real machines to TCP.  Each place is a
network namespace with an address, on a cable to a bridge; isolating it pulls the cable.

    namespace 2 --veth--+
    namespace 3 --veth--+-- bridge 198.18.n.1, where the test's own clients and Sentinels are
    namespace 4 --veth--+

``Proxies`` need no rights.  Each place is a port of a proxy on the loopback; isolating it stalls
that proxy.  Only connections to the place are cut, not those that it opens itself.

A unix socket (``Node.control``) goes through neither, like a keyboard at that machine.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from testkit.nodes import Place, here
from testkit.proxy import Proxy
from testkit.servers import free_port

NODE_PORT = 6379
#: 198.18.0.0/15 is reserved for network tests; this many subnets of it are tried.
SUBNETS = 256


class Network:
    """Places, and the means to cut them off."""

    name = ""

    def place(self) -> Place:
        """A place for one more node."""
        raise NotImplementedError

    def safe_place(self) -> Place:
        """A place for a Sentinel: it reaches every place, and is never cut off."""
        raise NotImplementedError

    def isolate(self, place: Place) -> None:
        """Cut a place off."""
        raise NotImplementedError

    def heal(self, place: Place) -> None:
        """Connect it again."""
        raise NotImplementedError

    def close(self) -> None:
        """Remove the network; every process in it has ended."""
        raise NotImplementedError


def ip(*words: str) -> None:
    """One command of iproute2; an error is raised."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Namespaces(Network):
    """Machines on a bridge."""

    name = "namespaces"

    def __init__(self) -> None:
        self.subnet, self.bridge = self._claim()
        self.cables: dict[Place, str] = {}
        ip("addr", "add", f"198.18.{self.subnet}.1/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")

    def _claim(self) -> tuple[int, str]:
        """An unused subnet: the bridge of that name could be made."""
        for subnet in range(SUBNETS):
            bridge = f"fbnet{subnet}"
            try:
                ip("link", "add", bridge, "type", "bridge")
            except subprocess.CalledProcessError as error:
                if b"exists" not in error.stderr:
                    raise
            else:
                return subnet, bridge
        raise RuntimeError(f"all {SUBNETS} subnets for tests are in use; see `ip link`")

    def place(self) -> Place:
        number = len(self.cables) + 2
        namespace = cable = f"{self.bridge}-{number}"
        address = f"198.18.{self.subnet}.{number}"
        ip("netns", "add", namespace)
        ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        ip("link", "set", cable, "master", self.bridge, "up")
        ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        ip("-n", namespace, "link", "set", "eth0", "up")
        ip("-n", namespace, "link", "set", "lo", "up")
        prefix = ("ip", "netns", "exec", namespace)
        place = Place(address, NODE_PORT, (address, NODE_PORT), prefix)
        self.cables[place] = cable
        return place

    def safe_place(self) -> Place:
        address = (f"198.18.{self.subnet}.1", free_port())
        return Place(*address, address)

    def isolate(self, place: Place) -> None:
        ip("link", "set", self.cables[place], "down")

    def heal(self, place: Place) -> None:
        ip("link", "set", self.cables[place], "up")

    def close(self) -> None:
        for cable in self.cables.values():
            ip("link", "del", cable)  # the kernel removes a namespace later
            ip("netns", "del", cable)
        # Last, because the bridge is the claim on all of these names.
        ip("link", "del", self.bridge)


class Proxies(Network):
    """Ports of the loopback with a proxy in front of each."""

    name = "proxies"

    def __init__(self, seed: int = 0) -> None:
        self.seeds = itertools.count(seed)
        self.proxies: dict[Place, Proxy] = {}

    def place(self) -> Place:
        port = free_port()
        proxy = Proxy(("127.0.0.1", port), next(self.seeds))
        place = Place("127.0.0.1", port, proxy.address)
        self.proxies[place] = proxy
        return place

    def safe_place(self) -> Place:
        return here()

    def isolate(self, place: Place) -> None:
        self.proxies[place].stall()

    def heal(self, place: Place) -> None:
        self.proxies[place].resume()

    def close(self) -> None:
        for proxy in self.proxies.values():
            proxy.close()


def has_namespaces() -> bool:
    """Whether this user may make them here."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    try:
        network = Namespaces()
        network.place()
        network.close()
    except (subprocess.CalledProcessError, RuntimeError):
        return False
    return True


@contextmanager
def any_network(seed: int = 0) -> Iterator[Network]:
    """Namespaces where they can be made, else proxies."""
    network = Namespaces() if has_namespaces() else Proxies(seed)
    try:
        yield network
    finally:
        network.close()
