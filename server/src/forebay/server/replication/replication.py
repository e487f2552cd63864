"""Both sides of replication put together, and what commands need from them.

    PrimarySide   the stream of changes and our replicas       primary.py, full_sync.py
    ReplicaSide   the server that we follow, if we follow one  replica.py, incoming.py
    Failover      FAILOVER: the role is handed over            failover.py

A role changes at once, between two commands; work that must wait for the end of the turn (the
stream takes the recorded changes, a connection is made) follows there.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.services import FailoverPlan, Link
from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings
from forebay.engine import roles
from forebay.engine.engine import Engine
from forebay.errors import CommandError
from forebay.replication.history import Position
from forebay.server.logger import Log
from forebay.server.net.turn_end import Participant
from forebay.server.replication.failover import Failover
from forebay.server.replication.full_sync import FullSync
from forebay.server.replication.primary import PrimarySide
from forebay.server.replication.replica import CONNECTED, ReplicaSide
from forebay.wire.argv import Argv

NO_PRIMARY_LINK = b"NOMASTERLINK Can't SYNC while not connected with my master"
NO_SYNC_NOW = b"NOMASTERLINK Can't SYNC while failing over"
BEHIND = b"NOMASTERLINK Can't SYNC yet: this replica is behind you in the stream of its master"
FAILING_OVER = b"ERR REPLICAOF not allowed while failing over."
TO_PRIMARY = b"ERR PSYNC FAILOVER can't be sent to a master."
LESS_THAN_ALL = b"ERR PSYNC FAILOVER can't be sent to a replica that is behind."
OTHER_STREAM = b"ERR PSYNC FAILOVER replid must match my replid."
ROLE_CHANGED = (
    b"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
)


class Replication(Participant):
    """The conductor; commands reach it as ``services.replication``."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        side: PrimarySide,
        replica: ReplicaSide,
        full_sync: FullSync,
        failover: Failover,
        log: Log,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.side = side
        self.replica = replica
        self.full_sync = full_sync
        self.handover = failover
        self.log = log
        #: All data is loaded: links may begin.
        self.is_started = False

    @property
    def is_replica(self) -> bool:
        """Whether another server decides what the data is."""
        return self.replica.address is not None

    @property
    def backlog_bytes(self) -> int:
        """Memory of the backlog."""
        backlog = self.side.backlog
        return backlog.held_bytes if backlog is not None else 0

    # The start

    def prepare(self) -> None:
        """Before the doors open: a future replica takes no writes from the start."""
        if self.settings.replicaof:
            roles.set_role(self.engine, is_replica=True)

    def start(self, position: Position | None) -> None:
        """All data is loaded; ``position`` is its place in a stream, as the files say."""
        self.is_started = True
        side = self.side
        if position is not None:
            side.history.adopt(position.replid, position.offset)
        if self.settings.replicaof:
            host, port = self.settings.replicaof
            self.replica.knows_place = position is not None
            self.replica.db_index = max(0, position.db_index) if position else 0
            self._begin_following(host, int(port))
        elif position is not None:
            # Our changes from now on are another stream; replicas that have all of the old one
            # may continue.
            side.history.rename(side.new_id())
            side.open_backlog()

    # Roles

    def follow(self, host: str, port: int) -> bool:
        """REPLICAOF host port."""
        if self.handover.is_under_way:
            raise CommandError(FAILING_OVER)
        if self.replica.address == (host, port):
            return False
        self.log.notice(f"This server follows {host}:{port} from now on")
        self.become_replica(host, port)
        return True

    def become_replica(self, host: str, port: int, failover: str = "") -> None:
        """From now on another server decides; everything recorded so far was ours."""
        if self.is_replica:
            self.replica.where()
        else:
            self._leave_the_lead()
        self.settings.replicaof = (host, str(port))
        self._begin_following(host, port, failover)
        self.disconnect_blocked()

    def _leave_the_lead(self) -> None:
        """Our own stream ends here: the data is at its end."""
        side, effects = self.side, self.engine.effects
        side.take(effects)
        self.replica.knows_place = side.backlog is not None and effects.count == 0
        self.replica.db_index = max(0, effects.selected)

    def _begin_following(self, host: str, port: int, failover: str = "") -> None:
        side = self.side
        self.log.role = "S"
        side.is_leading = False
        side.followed = self.replica.where
        if side.backlog is None:
            side.open_backlog()
        roles.set_role(self.engine, is_replica=True)
        self.replica.follow(host, port, failover)
        self.replica.turn_end.ask()

    def lead(self) -> None:
        """REPLICAOF NO ONE: our data continues as its own stream."""
        if self.handover.is_under_way:
            raise CommandError(FAILING_OVER)
        if not self.is_replica:
            return
        self.log.notice("This server follows no other from now on: it is a primary")
        self.become_primary()

    def become_primary(self) -> None:
        """Take writes again; replicas of the old primary that come here may continue."""
        side, effects = self.side, self.engine.effects
        self.replica.stop()
        self.log.role = "M"
        self.settings.replicaof = ()
        side.is_leading = True
        side.followed = None
        side.history.rename(side.new_id())
        side.close_all("the stream has another name now")
        if side.backlog is None:
            side.open_backlog()
        effects.handed = effects.out.size
        effects.base = side.history.offset - effects.handed
        effects.forget_database()
        effects.enabled = True
        side.alone_since_ms = side.clock.monotonic_ms()
        roles.set_role(self.engine, is_replica=False)

    def disconnect_blocked(self) -> None:
        """Close clients that wait for data of the old primary, with an error."""
        engine = self.engine
        for session in engine.sessions:
            if session.blocked is not None and engine.blocking.unblock(session, ROLE_CHANGED):
                engine.sessions.close(session)

    # What commands ask

    def role(self) -> list[object]:
        """ROLE."""
        if self.replica.address is not None:
            host, port = self.replica.address
            is_up = self.replica.state == CONNECTED
            offset = self.side.history.offset if is_up else -1
            return [b"slave", host.encode(), port, self.replica.state.encode(), offset]
        peers = [
            [peer.address[0].encode(), b"%d" % peer.address[1], b"%d" % peer.offset]
            for peer in self.side.peers
            if peer.is_online()
        ]
        return [b"master", self.side.history.offset, peers]

    def link_of(self, session: Session) -> Link:
        """The record of the replica at the other end."""
        return self.side.link_of(session)

    def psync(self, session: Session, replid: str, offset: int) -> None:
        """PSYNC."""
        if self.is_replica and self._is_behind(replid, offset):
            raise CommandError(BEHIND)
        self.side.psync(session, replid, offset)

    def _is_behind(self, replid: str, offset: int) -> bool:
        """Whether a replica asks for a part of the stream that our own primary has not sent us
        yet: a copy of our data would set the replica back.
        """
        history = self.side.history
        return replid == history.replid and offset > history.offset

    def take_the_lead(self, replid: str, offset: int, is_forced: bool) -> None:
        """PSYNC ... FAILOVER: the primary hands its role over to us."""
        if not self.is_replica:
            raise CommandError(TO_PRIMARY)
        if replid != self.side.history.replid:
            raise CommandError(OTHER_STREAM)
        if self._is_behind(replid, offset) and not is_forced:
            # We had everything when the primary chose us; we may have restarted since.
            raise CommandError(LESS_THAN_ALL)
        self.log.notice("The primary hands its role over: this server is the primary now")
        self.become_primary()

    def sync(self, session: Session) -> None:
        """SYNC."""
        self.side.sync(session)

    def check_sync(self) -> None:
        """Refuse while this server hands its role over, or its own link is down."""
        if self.handover.is_under_way:
            raise CommandError(NO_SYNC_NOW)
        if self.is_replica and self.replica.state != CONNECTED:
            raise CommandError(NO_PRIMARY_LINK)

    def acked(self, session: Session, offset: int, synced: int) -> None:
        """REPLCONF ACK."""
        self.side.acked(session, offset, synced)

    def reachable(self, offset: int) -> int:
        """Limit an offset to the end of the stream, this turn's changes included."""
        effects = self.engine.effects
        return min(offset, self.side.history.offset + effects.out.size - effects.handed)

    def count_acked(self, offset: int) -> int:
        """For WAIT."""
        return self.side.peers.count_acked(offset)

    def count_synced(self, offset: int) -> int:
        """For WAITAOF."""
        return self.side.peers.count_synced(offset)

    def wake_when(self, session: Session, is_enough: Callable[[], bool]) -> None:
        """WAIT and WAITAOF."""
        self.side.wait(session, is_enough)

    def pass_on(self, argv: Argv) -> None:
        """PUBLISH."""
        self.side.pass_on(argv)

    def failover(self, plan: FailoverPlan) -> None:
        """FAILOVER."""
        self.handover.begin(plan, self.is_replica)

    def abort_failover(self) -> None:
        """FAILOVER ABORT."""
        self.handover.abort()

    # Turns and beats

    def settle(self) -> None:
        """The stream has all of this turn."""
        self.side.settle()
        if self.is_started:
            self.replica.settle()

    def beat(self) -> None:
        """Ten times a second."""
        if self.is_started:
            self.replica.beat()
        self.side.beat()
        self.full_sync.beat()
        self.handover.beat(self.become_replica)
