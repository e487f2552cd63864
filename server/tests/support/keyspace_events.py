"""Keyspace events as a test sees them: (database, event, key) in order of arrival."""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api import notify_flags
from testkit.engine_client import EngineClient

Event = tuple[int, str, str]


def listen(client: EngineClient, classes: str = "EA") -> Callable[[], list[Event]]:
    """Switch events on; the returned function gives the events since its last call."""
    flags = notify_flags.parse(classes)
    assert flags is not None
    client.configure(notify_flags=flags)
    listener = client.new()
    listener("PSUBSCRIBE", "__keyevent@*__:*")
    listener.messages()

    def events() -> list[Event]:
        found = []
        for _, _, channel, key in listener.messages():
            database, _, event = channel.decode().removeprefix("__keyevent@").partition("__:")
            found.append((int(database), event, key.decode()))
        return found

    return events
