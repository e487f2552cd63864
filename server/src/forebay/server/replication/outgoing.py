"""The output to one replica: a copy of all data, from a file or a pipe, then the stream.

    file ----.
    pipe -----+--> output of the connection, a window at a time --> socket
    backlog ------------------------------------------------------> socket

The output never holds more than a window, so that a slow replica costs no extra memory: unsent
data is in the file, in the pipe or in the backlog, which all replicas share.  The stream is sent
straight from the backlog.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from forebay.commands.api.session import Session
from forebay.persistence.files import ReadFile
from forebay.replication.backlog import Backlog
from forebay.replication.copying import head_of_file
from forebay.replication.history import NOWHERE
from forebay.replication.peers import ONLINE, TRANSFER, Peer
from forebay.server.net import sysio
from forebay.server.net.connection import Connection, Shared
from forebay.wire.resp_writer import RespWriter

#: The most that is given to a replica at a time.
WINDOW_BYTES = 1 << 20


class Side(Protocol):
    """What a feed needs of the primary side."""

    backlog: Backlog | None

    def copied(self, feed: ReplicaFeed) -> None:
        """A replica has been sent all data."""

    def gone(self, feed: ReplicaFeed) -> None:
        """A replica's connection is closed."""


class ReplicaFeed:
    """The source of a connection to a replica."""

    def __init__(self, side: Side, peer: Peer, session: Session) -> None:
        self.side = side
        self.peer = peer
        self.session = session
        self.file: ReadFile | None = None
        #: Called when the output has room again, while a pipe fills it.
        self.on_room: Callable[[], None] | None = None
        #: Bytes received from it at the last look: growth is a sign of life.
        self.heard_bytes = 0
        #: Bytes that it had taken at the last look, and how many looks found no progress.
        self.taken_bytes = 0
        self.stuck_looks = 0

    def send_file(self, file: ReadFile) -> None:
        """Send a copy from a file."""
        self.file = file
        self.peer.state = TRANSFER
        self.session.out.raw(head_of_file(file.size))

    # What the loop asks

    def refill(self, conn: Connection, shared: Shared) -> bool:
        """Give the next piece; a link that is being closed gets nothing more, because the name
        or the beginning of the stream may have changed in the same turn.
        """
        waiting = conn.out.pending()
        if waiting >= WINDOW_BYTES or self.session.closing:
            return True
        if self.file is not None:
            self._read_file(conn.out, WINDOW_BYTES - waiting)
        elif self.on_room is not None:
            self.on_room()
        elif waiting == 0 and self.peer.streams() and self.side.backlog is not None:
            return self.send_stream(conn, shared, self.side.backlog)
        return True

    def send_stream(self, conn: Connection, shared: Shared, backlog: Backlog) -> bool:
        """Send the stream from its place on: as much as the socket takes, at most a window."""
        peer, left = self.peer, WINDOW_BYTES
        while left > 0 and peer.position < backlog.end:
            block = backlog.block_at(peer.position)
            at = peer.position - block.start
            n = min(left, len(block.data) - at)
            done = conn.send_from(shared, block.data, at, n)
            if done < 0:
                return sysio.again(done)
            peer.position += done
            left = left - done if done == n else 0
        return True

    def _read_file(self, out: RespWriter, room: int) -> None:
        assert self.file is not None
        piece = self.file.read(room)
        if piece:
            out.raw(piece)
            return
        self.close_file()
        self.peer.state = ONLINE
        self.side.copied(self)

    def has_more(self) -> bool:
        """Whether there is something to add if there is room."""
        return self.file is not None or (self.peer.streams() and self.owed() > 0)

    def owed(self) -> int:
        """Bytes of the stream that it has not been sent yet."""
        backlog = self.side.backlog
        if backlog is None or self.peer.position == NOWHERE or self.peer.rdb_only:
            return 0
        return backlog.end - self.peer.position

    def is_copying(self) -> bool:
        """Whether its output holds parts of a copy, and nothing of the stream."""
        return self.peer.state == TRANSFER or self.peer.waits_for_ack

    def stuck_s(self) -> int:
        """For how many seconds it has taken nothing of its waiting output; call it once a
        second.  It counts calls, so that a pause of this server is not the replica's fault.
        """
        session = self.session
        if session.bytes_out != self.taken_bytes or session.out.pending() == 0:
            self.taken_bytes = session.bytes_out
            self.stuck_looks = 0
        else:
            self.stuck_looks += 1
        return self.stuck_looks

    def close_file(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def closed(self) -> None:
        """The connection is closed."""
        self.close_file()
        self.side.gone(self)
