"""Replication of an engine without a server: a primary that has no replicas."""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.services import FailoverPlan, Link
from forebay.commands.api.session import Session
from forebay.errors import CommandError
from forebay.wire.argv import Argv

NO_LINKS = b"ERR this server has no links to others"


class Alone:
    """No replicas, no primary."""

    is_replica = False
    backlog_bytes = 0

    def follow(self, host: str, port: int) -> bool:
        """Not possible here."""
        raise CommandError(NO_LINKS)

    def lead(self) -> None:
        """It is a primary already."""

    def role(self) -> list[object]:
        """A primary without replicas."""
        return [b"master", 0, []]

    def link_of(self, session: Session) -> Link:
        """There are no links."""
        raise CommandError(NO_LINKS)

    def take_the_lead(self, replid: str, offset: int, is_forced: bool) -> None:
        """Not possible here."""
        raise CommandError(NO_LINKS)

    def check_sync(self) -> None:
        """There is no stream."""
        raise CommandError(NO_LINKS)

    def psync(self, session: Session, replid: str, offset: int) -> None:
        """Never called: check_sync() has refused it."""

    def sync(self, session: Session) -> None:
        """The same."""

    def acked(self, session: Session, offset: int, synced: int) -> None:
        """Never called: there are no replicas."""

    def reachable(self, offset: int) -> int:
        """There is no stream."""
        return offset

    def count_acked(self, offset: int) -> int:
        """None."""
        return 0

    def count_synced(self, offset: int) -> int:
        """None."""
        return 0

    def wake_when(self, session: Session, is_enough: Callable[[], bool]) -> None:
        """The client waits until its time is up."""

    def pass_on(self, argv: Argv) -> None:
        """There are no replicas."""

    def failover(self, plan: FailoverPlan) -> None:
        """Not possible here."""
        raise CommandError(b"ERR FAILOVER requires connected replicas.")

    def abort_failover(self) -> None:
        """There is none."""
        raise CommandError(b"ERR No failover in progress.")
