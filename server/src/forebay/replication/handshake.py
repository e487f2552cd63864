"""The dialogue of a replica with its primary before the stream begins: a table of states.

    PING --> [AUTH] --> REPLCONF listening-port --> [ip-address] --> capa --> version --> PSYNC
                                                                                           |
       +CONTINUE [replid]           continue at our offset                                 |
       +FULLRESYNC replid offset    a copy of all data is sent first                       |
       -LOADING, -NOMASTERLINK ...  not now: try again later                               |
       -ERR (no PSYNC there)        SYNC, the old way: a copy, and no name for the stream  v

Everything but PING and PSYNC is sent without waiting, as Redis does; the answers arrive in the
same order.  This object has no socket: it gets lines and returns the bytes to send.

Rules
  1. The primary must accept PING and AUTH.  It need not know any REPLCONF.
  2. An empty line is a keepalive, in every state.
  3. ``Refused`` ends the attempt; its text is for the operator.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from forebay.errors import ForebayError
from forebay.replication.history import NO_ID, Position

# States.
PING = "ping"
REPLIES = "replies"
PSYNC = "psync"
DONE = "done"

# How a primary hands its role over: words after PSYNC.  A replica without the whole stream takes
# the role only with FORCE.
FAILOVER = "FAILOVER"
FORCED_FAILOVER = "FAILOVER FORCE"

# Outcomes.
CONTINUE = "continue"
FULL = "full"
#: The primary does not know PSYNC: it sends a copy, and a stream without a name.
OLD = "old"

#: Answers to PING from a primary that requires a password first.
WANTS_PASSWORD = (b"-NOAUTH", b"-NOPERM", b"-ERR operation not permitted")
#: A primary that cannot write to its disk answers this to every client; its data is still
#: available.
IN_TROUBLE = b"-MISCONF"
#: Answers to PSYNC that say "later".
NOT_NOW = (b"-NOMASTERLINK", b"-LOADING", b"-MASTERDOWN", b"-BUSY")


#: The abilities of such a replica; a primary ignores unknown ones.
CAPABILITIES = ("capa", "eof", "capa", "psync2", "capa", "forebay")


class Refused(ForebayError):
    """The primary cannot be followed; the text says why."""


@dataclass(slots=True)
class Wishes:
    """The facts about this server, and the place where it wants to continue."""

    port: int
    announced_host: str = ""
    user: str = ""
    password: str = ""
    version: str = ""
    #: The place of our data; None asks for all of it.
    position: Position | None = None
    #: FAILOVER if we hand our role over to this server; empty if not.
    failover: str = ""


def command(*words: str | bytes) -> bytes:
    """A command as it is sent."""
    parts = [
        word.encode("utf-8", "surrogateescape") if isinstance(word, str) else word for word in words
    ]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(p), p) for p in parts)


def acknowledgement(offset: int, synced: int | None = None) -> bytes:
    """REPLCONF ACK: the offset of the data and, with an AOF, of the disk; sent for each WAIT."""
    text = b"%d" % offset
    if synced is not None:
        return command("REPLCONF", "ACK", text, "FACK", b"%d" % synced)
    return b"*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$%d\r\n%b\r\n" % (len(text), text)


class Handshake:
    """One attempt to follow a primary."""

    def __init__(self, wishes: Wishes) -> None:
        self.wishes = wishes
        self.state = PING
        self.outcome = ""
        #: The stream that follows, when the outcome is known.
        self.replid = NO_ID
        self.offset = -1
        #: Names of the requests without an answer yet.
        self.expected: deque[str] = deque()
        #: Errors of the primary that do not matter.
        self.notes: list[str] = []

    def begin(self) -> bytes:
        """The first bytes to send."""
        return command("PING")

    def take(self, line: bytes) -> bytes:
        """Take one line of the primary, without its end; the bytes to send next, perhaps none."""
        if not line:
            return b""
        return TABLE[self.state](self, line)

    # PING

    def on_pong(self, line: bytes) -> bytes:
        """The primary answers: introduce ourselves."""
        if not line.startswith((b"+", IN_TROUBLE, *WANTS_PASSWORD)):
            raise Refused(f"the primary answers PING with {shown(line)}")
        self.state = REPLIES
        return self.introduction()

    def introduction(self) -> bytes:
        """Password, address, abilities: sent at once, answered in order."""
        wishes = self.wishes
        questions: list[tuple[str, bytes]] = []
        if wishes.password:
            words = (
                ("AUTH", wishes.user, wishes.password) if wishes.user else ("AUTH", wishes.password)
            )
            questions.append(("AUTH", command(*words)))
        questions.append(
            ("listening-port", command("REPLCONF", "listening-port", str(wishes.port)))
        )
        if wishes.announced_host:
            questions.append(
                ("ip-address", command("REPLCONF", "ip-address", wishes.announced_host))
            )
        questions.append(("capa", command("REPLCONF", *CAPABILITIES)))
        questions.append(("version", command("REPLCONF", "version", wishes.version)))
        self.expected.extend(name for name, _ in questions)
        return b"".join(words for _, words in questions)

    # The introduction

    def on_reply(self, line: bytes) -> bytes:
        """An answer to one of the introductions; after the last one, ask for the stream."""
        name = self.expected.popleft()
        if line.startswith(b"-"):
            if name == "AUTH":
                raise Refused(
                    f"the primary does not accept masteruser and masterauth: {shown(line)}"
                )
            if line.startswith(WANTS_PASSWORD):
                raise Refused(f"the primary wants a password (masterauth): {shown(line)}")
            self.notes.append(f"REPLCONF {name} is answered with {shown(line)}")
        if self.expected:
            return b""
        self.state = PSYNC
        return self.question()

    def question(self) -> bytes:
        """PSYNC."""
        position = self.wishes.position
        words = ["PSYNC", "?", "-1"]
        if position is not None:
            words = ["PSYNC", position.replid, str(position.offset + 1)]
        if self.wishes.failover:
            words += self.wishes.failover.split()
        return command(*words)

    # PSYNC

    def on_psync(self, line: bytes) -> bytes:
        """How the stream begins."""
        words = line.split()
        if words[0] == b"+CONTINUE":
            self.on_continue(words)
        elif words[0] == b"+FULLRESYNC":
            self.on_full(words)
        elif line.startswith(NOT_NOW):
            raise Refused(f"the primary cannot be followed now: {shown(line)}")
        elif line.startswith(b"-ERR") and not self.wishes.failover:
            self.state, self.outcome = DONE, OLD
            self.notes.append(f"PSYNC is answered with {shown(line)}; SYNC is tried")
            return command("SYNC")
        else:
            raise Refused(f"PSYNC is answered with {shown(line)}")
        self.state = DONE
        return b""

    def on_continue(self, words: list[bytes]) -> None:
        """The stream continues at our offset."""
        position = self.wishes.position
        if position is None:
            raise Refused("the primary wants to go on with a stream that we do not know")
        self.outcome = CONTINUE
        self.replid, self.offset = position.replid, position.offset
        if len(words) > 1 and len(words[1]) == len(NO_ID):
            self.replid = words[1].decode("ascii", "replace")

    def on_full(self, words: list[bytes]) -> None:
        """The primary will send a copy of all data."""
        if len(words) < 3 or len(words[1]) != len(NO_ID) or not words[2].isdigit():
            raise Refused(f"the primary's FULLRESYNC is not understood: {words[1:]}")
        self.outcome = FULL
        self.replid, self.offset = words[1].decode("ascii", "replace"), int(words[2])


TABLE = {
    PING: Handshake.on_pong,
    REPLIES: Handshake.on_reply,
    PSYNC: Handshake.on_psync,
}


def shown(line: bytes) -> str:
    """A line of the primary for the log."""
    return f"'{line[:200].decode('utf-8', 'backslashreplace')}'"
