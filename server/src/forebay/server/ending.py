"""The end of the server, by SHUTDOWN or by a signal: replicas first, then the disk, then the loop.

    asked --> do replicas have everything? --yes--> data to disk --> the loop stops
                  | no                                    | refused: all goes on
                  v                                       v
               writes wait, at most for shutdown-timeout; SHUTDOWN ABORT: all goes on

A replica that lags when its primary ends would be promoted without the last writes.  NOW does not
wait for replicas; FORCE ends even if the disk refuses.

Rules
  1. The client that asked gets an answer only if the server goes on.
  2. The server waits only for replicas that acknowledge: redis-cli can be a replica too, and
     never does.
"""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.context import Context
from forebay.commands.api.session import Session
from forebay.errors import CommandError
from forebay.replication.peers import SHOWN, Peer
from forebay.server.durability.durability import CANNOT_END, Durability
from forebay.server.net.turn_end import Participant
from forebay.server.replication.primary import PrimarySide, shown
from forebay.server.server import Server

#: Writes are held back until the end, or until the shutdown is aborted.
PAUSE_MS = 1 << 40
FAILED = "Errors trying to shut down the server. Check the logs for more information."


class Ending(Participant):
    """SHUTDOWN and signals."""

    def __init__(self, server: Server, durability: Durability, side: PrimarySide) -> None:
        self.server = server
        self.durability = durability
        self.side = side
        self.log = server.log
        self.clock = server.clock
        self.is_waiting = False
        self.words: list[bytes] = []
        #: The offset that replicas must reach, and the deadline for it.
        self.target = 0
        self.until_ms = 0
        #: Clients that asked and have no answer yet.
        self.askers: list[Session] = []
        #: Called when the next signal must count as a first one again.
        self.on_abort: Callable[[], None] = lambda: None

    # Asked

    def by_command(self, ctx: Context, words: list[bytes]) -> bool:
        """SHUTDOWN; True if the caller must wait.  Raises CommandError."""
        self.log.notice("User requested shutdown...")
        self.begin(words)
        if self.is_waiting:
            self.askers.append(ctx.session)
        else:
            ctx.services.sessions.close(ctx.session)
        return self.is_waiting

    def by_signal(self, name: str) -> None:
        """The operator ends the server by a signal."""
        self.log.notice(f"Received {name}, stopping after this turn; again to stop at once")
        settings = self.server.settings
        on_int, on_term = settings.shutdown_on_sigint, settings.shutdown_on_sigterm
        chosen = on_int if name == "SIGINT" else on_term
        try:
            self.begin([word.upper().encode() for word in chosen])
        except CommandError:
            self.log.warning(
                f"{name} received but errors trying to shut down the server, check the logs"
            )

    def begin(self, words: list[bytes]) -> None:
        """End now, or when the replicas have everything; raises CommandError."""
        if self.is_waiting and b"NOW" not in words:
            return
        self.words = words
        self.side.catch_up()
        self.target = self.side.history.offset
        timeout_s = 0 if b"NOW" in words else self.server.settings.shutdown_timeout_s
        if timeout_s and self.lagging():
            self.wait_for_replicas(timeout_s)
        else:
            self.finish()

    # Waiting

    def wait_for_replicas(self, timeout_s: int) -> None:
        """Hold writes back until replicas have all earlier ones."""
        self.side.hold_still()
        self.target = self.side.history.offset
        self.until_ms = self.clock.monotonic_ms() + timeout_s * 1000
        self.server.engine.pause(self.clock.now_ms() + PAUSE_MS, writes_only=True)
        self.is_waiting = True
        self.log.notice("Waiting for replicas before shutting down.")

    def lagging(self) -> list[Peer]:
        """Replicas that have not applied everything."""
        return [
            peer
            for peer in self.side.peers
            if peer.acked < self.target and not peer.rdb_only and not peer.is_old
        ]

    @property
    def left_ms(self) -> int:
        """For INFO: how long replicas still have; -1 if the server does not wait."""
        return max(0, self.until_ms - self.clock.monotonic_ms()) if self.is_waiting else -1

    def beat(self) -> None:
        """Ten times a second: end if all replicas caught up or the time is up."""
        if not self.is_waiting or (self.lagging() and self.left_ms > 0):
            return
        try:
            self.finish()
        except CommandError:
            self.log.warning(FAILED)
            self.go_on()

    # The end, or not

    def finish(self) -> None:
        """Write everything to disk and stop; raises CommandError if the disk refuses."""
        self.tell_lagging()
        self.durability.finish(self.words)
        for session in self.askers:
            self.server.engine.kill(session)
        self.server.stop()

    def tell_lagging(self) -> None:
        """Log which replicas lag."""
        behind, known = self.lagging(), len(self.side.peers)
        for peer in behind:
            self.log.notice(
                f"Lagging replica {shown(peer)} reported offset {self.target - peer.acked} "
                f"behind, state={SHOWN[peer.state]}."
            )
        if known:
            text = f"{known - len(behind)} of {known} replicas are in sync when shutting down."
            self.log.notice(text)

    def abort(self) -> bool:
        """SHUTDOWN ABORT; False if nothing is under way."""
        if not self.is_waiting:
            return False
        self.log.notice("Shutdown manually aborted.")
        self.go_on()
        return True

    def go_on(self) -> None:
        """The server goes on: writes pass again, and clients that asked get an error."""
        self.is_waiting = False
        self.on_abort()
        self.side.move_on()
        engine, askers = self.server.engine, self.askers
        engine.unpause()
        self.askers = []
        for session in askers:
            engine.blocking.unblock(session, CANNOT_END)
