"""FAILOVER: the primary hands its role over to a replica that has everything.

begin    writes wait (as in CLIENT PAUSE ... WRITE), and the stream does not grow
waits    until the chosen replica, or any, has applied the whole stream; or until the time is
         up: then all goes on as before, or with FORCE the role is handed over all the same
hand     we become its replica and send PSYNC ... FAILOVER: it becomes the primary and continues
         the stream, so that no server needs a copy of all data
done     our link is up, or it failed: then we become the primary again
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from forebay.commands.api.services import FailoverPlan
from forebay.engine.engine import Engine
from forebay.errors import CommandError
from forebay.replication.handshake import FAILOVER, FORCED_FAILOVER
from forebay.replication.peers import Peer
from forebay.server.logger import Log
from forebay.server.net.timers import Clock
from forebay.server.replication.primary import PrimarySide
from forebay.server.replication.replica import CONNECTED, ReplicaSide

# As INFO prints them.
NONE = "no-failover"
WAITING = "waiting-for-sync"
HANDING = "failover-in-progress"

UNDER_WAY = b"ERR FAILOVER already in progress."
NOT_UNDER_WAY = b"ERR No failover in progress."
ON_REPLICA = b"ERR FAILOVER is not valid when server is a replica."
NO_REPLICAS = b"ERR FAILOVER requires connected replicas."
NEEDS_TARGET = b"ERR FAILOVER with force option requires both a timeout and target HOST and IP."
NOT_A_REPLICA = b"ERR FAILOVER target HOST and PORT is not a replica."
NOT_ONLINE = b"ERR FAILOVER target replica is not online."
#: Writes never wait longer than this.
PAUSE_MS = 1 << 40
#: After this many failed attempts to reach the new primary we give up.
MOST_FAILURES = 3

Become = Callable[[str, int, str], None]


class Roles(Protocol):
    """The part that can make this server the primary again."""

    def become_primary(self) -> None: ...


class Failover:
    """One handover at a time."""

    def __init__(
        self, engine: Engine, side: PrimarySide, replica: ReplicaSide, log: Log, clock: Clock
    ) -> None:
        self.engine = engine
        self.side = side
        self.replica = replica
        self.log = log
        self.clock = clock
        self.state = NONE
        self.plan = FailoverPlan("", 0, 0, False)
        self.until_ms = 0
        #: Connected by server/startup.py.
        self.roles: Roles | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether a role is being handed over."""
        return self.state != NONE

    def begin(self, plan: FailoverPlan, is_replica: bool) -> None:
        """FAILOVER."""
        if self.is_under_way:
            raise CommandError(UNDER_WAY)
        if is_replica:
            raise CommandError(ON_REPLICA)
        if not len(self.side.peers):
            raise CommandError(NO_REPLICAS)
        if plan.force and not (plan.host and plan.timeout_ms):
            raise CommandError(NEEDS_TARGET)
        if plan.host:
            self._check_target(plan)
        self.plan = plan
        self.state = WAITING
        now_ms = self.clock.monotonic_ms()
        self.until_ms = now_ms + plan.timeout_ms if plan.timeout_ms else 0
        self.engine.pause(self.clock.now_ms() + PAUSE_MS, writes_only=True)
        self.side.hold_still()
        self.log.notice("FAILOVER: writes wait until a replica has everything")

    def _check_target(self, plan: FailoverPlan) -> None:
        found = [peer for peer in self.side.peers if peer.address == (plan.host, plan.port)]
        if not found:
            raise CommandError(NOT_A_REPLICA)
        if not found[0].is_online():
            raise CommandError(NOT_ONLINE)

    def abort(self) -> None:
        """FAILOVER ABORT."""
        if not self.is_under_way:
            raise CommandError(NOT_UNDER_WAY)
        self._give_up("it was aborted")

    def beat(self, become_replica: Become) -> None:
        """Ten times a second: take the next step if it is due."""
        if self.state == WAITING:
            self._look_for_heir(become_replica)
        elif self.state == HANDING:
            self._look_for_link()

    def _look_for_heir(self, become_replica: Become) -> None:
        ready = [peer for peer in self._candidates() if peer.acked >= self.side.history.offset]
        if ready:
            self._hand_over(*ready[0].address, FAILOVER, become_replica)
        elif self.until_ms and self.clock.monotonic_ms() > self.until_ms:
            if self.plan.force:
                self._hand_over(self.plan.host, self.plan.port, FORCED_FAILOVER, become_replica)
            else:
                self._give_up("no replica caught up in time")

    def _candidates(self) -> list[Peer]:
        plan = self.plan
        return [
            peer
            for peer in self.side.peers
            if peer.is_online() and (not plan.host or peer.address == (plan.host, plan.port))
        ]

    def _hand_over(self, host: str, port: int, how: str, become_replica: Become) -> None:
        self.log.notice(f"FAILOVER: the role of the primary goes to {host}:{port}")
        self.state = HANDING
        become_replica(host, port, how)

    def _look_for_link(self) -> None:
        if self.replica.state == CONNECTED:
            self.log.notice("FAILOVER: done")
            self._end()
        elif not self.replica.failover:
            # A copy of all data is on its way: the new primary has taken over.
            self._end()
        elif self.replica.failures >= MOST_FAILURES:
            self._give_up(f"the new primary cannot be reached: {self.replica.last_error}")

    def _give_up(self, why: str) -> None:
        self.log.warning(f"FAILOVER ends, and this server stays the primary: {why}")
        if self.state == HANDING:
            assert self.roles is not None
            self.state = NONE
            self.roles.become_primary()
        self._end()

    def _end(self) -> None:
        self.state = NONE
        self.side.move_on()
        self.engine.unpause()
