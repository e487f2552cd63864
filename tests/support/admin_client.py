"""An engine client with the server's part of the services filled in: CONFIG and INFO work."""

from __future__ import annotations

from typing import Any

from forebay.commands.context import Context
from forebay.server.config import Config
from forebay.server.info import Info
from forebay.server.timers import Clock
from tests.support.engine_client import EngineClient


class Traffic:
    """Bytes of all connections, as a test wants them."""

    bytes_in = 100
    bytes_out = 200


class AdminClient(EngineClient):
    """Remembers what it was asked to do to the process."""

    def __init__(self, config: Config | None = None, **changed_settings: Any) -> None:
        self.config = config or Config()
        for name, value in changed_settings.items():
            setattr(self.config.settings, name, value)
        super().__init__(self.config.settings)
        self.slept_s: list[float] = []
        self.shutdowns: list[list[bytes]] = []
        services = self.engine.services
        services.config = self.config
        services.info = Info(self.config, Traffic(), Clock(), "r" * 40)
        services.memory_used = lambda: 10 << 20
        services.memory_peak = lambda: 20 << 20
        services.sleep = self.slept_s.append
        services.shutdown = self._shutdown

    def _shutdown(self, ctx: Context, words: list[bytes]) -> None:
        self.shutdowns.append(words)

    def info(self, *sections: str) -> dict[str, str]:
        """The fields of INFO."""
        text = self("INFO", *sections).decode()
        lines = [line for line in text.split("\r\n") if ":" in line]
        return dict(line.split(":", 1) for line in lines)
