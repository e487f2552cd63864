"""A client at the engine: commands in, parsed replies out, no socket and no clock.

    client = EngineClient()
    client("XADD", "s", "*", "f", "v")      -> b"1000000-0"
    client("XADD", "s", "1-1", "f", "v")    -> ReplyError("ERR The ID ...")
    other = client.new()                     a second session on the same engine
    client.now_ms += 5000                    time, shared by all sessions
    client.sleep(5000)                       the same, and work that is due is done
    client.effects()                         the commands for AOF and replicas
    client.configure(maxmemory=1)            settings, as CONFIG SET changes them

The engine copies some settings and updates the copies only after an administrator's
command.  So a test changes settings by ``configure`` or by CONFIG SET.

A client that blocks gets ``BLOCKED``; ``client.read()`` then returns the reply that has
arrived since, or ``BLOCKED`` again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings
from forebay.commands.api.spec import Command
from forebay.commands.table import TABLE
from forebay.engine.embedded import Embedded
from forebay.engine.faults import Faults
from forebay.wire.argv import argv_of
from testkit.resp import Arg, ReplyError, parse, split_replies

__all__ = ["BLOCKED", "START_MS", "EngineClient", "ReplyError"]

START_MS = 1_000_000


class _Blocked:
    def __repr__(self) -> str:
        return "BLOCKED"


#: The client waits; no reply yet.
BLOCKED = _Blocked()


class FaultCollector(Faults):
    """Keeps the reported defects."""

    def __init__(self) -> None:
        self.told: list[BaseException] = []

    def tell(self, session: Session, argv: list[bytes], fault: BaseException) -> None:
        self.told.append(fault)


class EngineClient:
    """One session at an engine of its own, or at that of another client."""

    def __init__(
        self,
        settings: Settings | None = None,
        now_ms: int = START_MS,
        shared: Embedded | None = None,
        commands: Mapping[bytes, Command] | None = None,
        **changed_settings: Any,
    ) -> None:
        if shared is None:
            shared = Embedded(
                now_ms,
                settings or Settings(**changed_settings),
                TABLE if commands is None else commands,
                FaultCollector(),
            )
        #: The engine and its time, which all sessions share.
        self.shared = shared
        self.engine = shared.engine
        self.session = self.engine.new_session(
            b"127.0.0.1:50000", b"127.0.0.1:6379", now_ms=self.now_ms
        )

    def new(self) -> EngineClient:
        """Another session on the same engine."""
        return EngineClient(shared=self.shared)

    @property
    def now_ms(self) -> int:
        return self.shared.now_ms

    @now_ms.setter
    def now_ms(self, value: int) -> None:
        self.shared.now_ms = value

    def configure(self, **changed_settings: Any) -> None:
        """Change settings while the engine runs, as CONFIG SET does."""
        for name, value in changed_settings.items():
            setattr(self.engine.settings, name, value)
        self.engine.refresh_settings()

    def sleep(self, ms: int) -> None:
        """Let time pass; work that becomes due meanwhile is done in its order."""
        self.shared.pass_time(ms)

    def send(self, *words: Arg) -> None:
        """Run a command and leave the reply in the session's output."""
        args = [to_bytes(word) for word in words]
        if len(args) == 1 and b" " in args[0]:
            args = args[0].split()
        self.engine.call(self.session, argv_of(args), self.now_ms)
        faults = self.engine.faults
        if isinstance(faults, FaultCollector) and faults.told:
            raise faults.told.pop()

    def raw(self, *words: Arg) -> bytes:
        """Run a command; the bytes that the client would receive."""
        self.send(*words)
        return self.session.out.take()

    def __call__(self, *words: Arg) -> Any:
        """Run a command (words, or one line with blanks); its parsed reply."""
        data = self.raw(*words)
        if not data:
            return BLOCKED if self.session.blocked is not None else None
        return parse(data)

    def read(self) -> Any:
        """The next reply or message; BLOCKED if the client still waits."""
        messages = self.messages()
        if not messages:
            return BLOCKED if self.session.blocked is not None else None
        assert len(messages) == 1, f"more than one reply: {messages!r}"
        return messages[0]

    def messages(self) -> list[Any]:
        """All messages that have arrived since."""
        return [parse(reply) for reply in split_replies(self.session.out.take())]

    def close(self) -> None:
        """Disconnect the client."""
        self.engine.close_session(self.session)

    def effects(self) -> list[list[bytes]]:
        """The commands recorded since the last look, MULTI, EXEC and SELECT among them."""
        commands = self.shared.changes()
        if commands and commands[0] == [b"SELECT", b"0"]:
            # Every client starts in database 0; only a later change is an effect.
            del commands[0]
        return commands


def to_bytes(word: Arg) -> bytes:
    """Text, number or bytes as the bytes of an argument."""
    return word if isinstance(word, bytes) else str(word).encode()
