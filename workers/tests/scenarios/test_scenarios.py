"""Every scenario has the same result in virtual time and on real servers, so TestApp cannot lie.

And a TestApp that lies is found: each lie below changes the result of a scenario.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from forebay_workers import TestApp
from forebay_workers.testing.process import Process
from forebay_workers.testing.server import Double, Pipe
from testkit.servers import ServerProcess
from workers.tests.support.stage import real_stage, virtual_stage

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("test_"))
LIKES = ["forebay", "redis 6.2", "redis 8.6"]
SERVERS = ["redis_server", "forebay_server"]


def scenario(name: str) -> ModuleType:
    return import_module(f"workers.tests.scenarios.{name}")


@pytest.mark.parametrize("like", LIKES)
@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_in_virtual_time(name: str, like: str) -> None:
    module = scenario(name)
    with virtual_stage(module, like) as stage:
        assert module.play(stage) == module.SEEN


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_on_a_server(name: str, server: str, request: pytest.FixtureRequest) -> None:
    module = scenario(name)
    running: ServerProcess = request.getfixturevalue(server)
    with real_stage(module, running) as stage:
        assert module.play(stage) == module.SEEN


# Lies

Patch = Callable[[pytest.MonkeyPatch], None]


def in_the_place_of(command: bytes, other: bytes) -> Patch:
    """Let the server run another command instead; both names have the same length."""
    write = Pipe.write

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            Pipe, "write", lambda self, data: write(self, bytes(data).replace(command, other))
        )

    return patch


def instead(owner: type, name: str, function: Callable[..., Any]) -> Patch:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(owner, name, function)

    return patch


def nothing(_: object) -> None:
    """Does nothing."""


def ten_times(self: Double, now_s: float) -> int:
    """A clock that runs ten times too fast."""
    return self.start_ms + round(now_s * 10_000_000) // 1000


LIES: dict[str, tuple[str, Patch]] = {
    "nothing is acknowledged": ("handled", in_the_place_of(b"XACK", b"XLEN")),
    "transactions do nothing": ("buried", in_the_place_of(b"EXEC", b"PING")),
    "claims do nothing": ("long_handler", in_the_place_of(b"XCLAIM", b"XNOONE")),
    "the clock of the server runs fast": ("later", instead(Double, "ms_at", ten_times)),
    "the server is never away": ("server_away", instead(TestApp, "take_server_away", nothing)),
    "a killed worker hands back": ("killed", instead(Process, "kill", Process.stop)),
    "a frozen worker goes on": ("frozen", instead(Process, "freeze", nothing)),
    "a stopped worker is killed": ("handed_back", instead(Process, "stop", Process.kill)),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, patch = LIES[lie]
    patch(monkeypatch)
    assert played(scenario(name), monkeypatch) != scenario(name).SEEN


def played(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The result of a scenario; None if it did not reach its end."""
    try:
        with virtual_stage(module, "forebay") as stage:
            try:
                return module.play(stage)
            finally:
                monkeypatch.undo()
    except Exception:  # noqa: BLE001 - a lie may show as anything
        return None
