"""A whole server in this process, with files; the test runs its clock and its loop.

    with DurableServer(tmp_path, appendfsync="always") as server:
        client = server.client()
        client("XADD", "s", "*", "f", "v")        one turn of the loop; the parsed reply
        server.pass_s(1)                          a second passes: beats, syncs
        server.disk.write_fault = "Input/output error"       from now on the disk refuses
    DurableServer(tmp_path)                       starts again from the files

Leaving the block is like kill -9: nothing is written or synced any more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from forebay.errors import DiskError
from forebay.persistence.files import Data, Disk, WriteFile
from forebay.server.config.config import Config
from forebay.server.logger import Log
from forebay.server.machine import Machine
from forebay.server.startup import assemble
from testkit.hand_server import Client, HandClock
from testkit.resp import encode, parse

#: The client's side was closed by the server.
CLOSED = object()


class FaultyFile(WriteFile):
    """A real file; it writes and syncs only while its disk allows it."""

    def __init__(self, path: str, flags: int, disk: FaultyDisk) -> None:
        super().__init__(path, flags)
        self.disk = disk

    def write(self, data: Data) -> None:
        if self.disk.write_fault:
            raise DiskError(self.path, "write", self.disk.write_fault)
        super().write(data)

    def sync(self) -> None:
        if self.disk.sync_fault:
            raise DiskError(self.path, "sync", self.disk.sync_fault)
        super().sync()
        self.disk.syncs += 1

    def fileno(self) -> int:
        return -1  # so that all output goes through write()


class FaultyDisk(Disk):
    """The real disk with a switch for faults."""

    def __init__(self) -> None:
        super().__init__()
        self.write_fault = ""
        self.sync_fault = ""
        self.syncs = 0

    def create(self, path: str) -> WriteFile:
        return FaultyFile(path, 512, self)  # O_TRUNC

    def open_append(self, path: str) -> WriteFile:
        return FaultyFile(path, 0, self)


class TalkingClient(Client):
    """Sends commands and parses the answers."""

    def __call__(self, *words: str | bytes | int) -> Any:
        data = self.ask(encode(*words))
        if data == b"(nothing)":
            return None
        return CLOSED if data == b"" else parse(data)

    def read(self) -> Any:
        """The reply that has arrived since; None if there is none."""
        data = self.answer()
        return None if data == b"(nothing)" else parse(data)


class DurableServer:
    """One life of a server; its files stay."""

    def __init__(
        self, folder: Path, *, ready: bool = True, disk: Any = None, **settings: Any
    ) -> None:
        self.folder = folder
        self.clock = HandClock()
        self.config = Config()
        self.settings = self.config.settings
        self.settings.data_dir = str(folder)
        for name, value in settings.items():
            setattr(self.settings, name, value)
        self.disk = FaultyDisk() if disk is None else disk
        self.log_path = folder / "log.txt"
        log = Log(self.clock, str(self.log_path), "debug")
        self.server, self.durability = assemble(self.config, log, self.clock, Machine(self.disk))
        self.is_ready = False
        self.clients: list[TalkingClient] = []
        try:
            self.durability.prepare()
            self.durability.start(self._on_ready)
            while ready and not self.is_ready:
                self.turn()
        except BaseException:
            self.kill()
            raise

    def _on_ready(self) -> None:
        self.is_ready = True

    def __enter__(self) -> DurableServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """End the process."""
        self.durability.children.kill()
        self.durability.syncer.finish()
        self.durability.release_folder()
        if self.durability.live.aof is not None:
            self.durability.live.aof.close()
        for client in self.clients:
            client.close()
        for conn in self.server.loop.connections():
            self.server.loop.close(conn)
        self.server.loop.epoll.close()

    def client(self) -> TalkingClient:
        """A new connection."""
        client = TalkingClient(self.server)
        self.clients.append(client)
        return client

    def turn(self) -> None:
        """One turn of the loop, with a beat."""
        self.server.loop.next_beat_ms = 0
        self.server.loop.turn()

    def pass_s(self, seconds: float) -> None:
        """Let time pass, with ten beats a second; a sync under way can finish."""
        for _ in range(round(seconds * 10)):
            self.clock.pass_ms(100)
            self.turn()
            self.durability.syncer.finish()

    def finish_child(self) -> None:
        """Wait until the requested child has ended and its result is taken."""
        for _ in range(50):
            self.turn()
            self.durability.syncer.finish()
            self.durability.children.wait()
            schedule, rewrite = self.durability.schedule, self.durability.rewrite_job
            if not schedule.job and not schedule.scheduled and rewrite.has_history is None:
                self.durability.syncer.finish()
                return
        raise AssertionError(f"still at work: {self.durability.job}")

    def pass_until(self, done: Callable[[], bool]) -> None:
        """Let time pass, and children end, until it is true."""
        for _ in range(100):
            if done():
                return
            self.pass_s(1)
            self.finish_child()
        raise AssertionError("it never came")

    def info(self) -> dict[str, str]:
        """The fields of INFO persistence."""
        text = self.durability_client()("INFO", "persistence").decode()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)

    def durability_client(self) -> TalkingClient:
        """A client for questions."""
        return self.clients[-1] if self.clients else self.client()

    def log(self) -> str:
        """What the server wrote into its log."""
        with contextlib.suppress(FileNotFoundError):
            return self.log_path.read_text()
        return ""
