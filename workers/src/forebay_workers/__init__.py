"""Workers on streams of Forebay, Redis and Valkey.

    from forebay_workers import App

    app = App("redis://127.0.0.1:6379", group="billing")

    @app.on("orders")
    async def bill(order: Order) -> None: ...

The folders, in the order in which a message passes them:

    codecs/    objects to fields and back
    servers/   how to reach a server, what it can do, what to do while it is away
    shares/    which process owns which partition
    publish/   messages to streams
    fetch/     groups, new entries, claims from dead workers
    lanes/     messages of this process: the order in which they run, and their leases
    handle/    which function gets a message, and how it is called
    settle/    acknowledged, tried again, buried, handed back
    worker/    the loop that joins them
    observe/   hooks, metrics, health probes, traces
    testing/   TestApp: the same without a server, in virtual time
    cli/       the commands that it adds to `forebay`: work, dead
    app.py     the user's interface               (partitioned.py, message.py, options.py, ...)

Nothing here imports the server: workers also run where only Redis is installed.  Only ``TestApp``
needs the engine of the server, in tests.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forebay_workers.app import App
    from forebay_workers.errors import (
        BusyError,
        ConfigError,
        LeaseLostError,
        MisfitError,
        ServerError,
        WorkerError,
    )
    from forebay_workers.handle.failed import Failed
    from forebay_workers.message import Message
    from forebay_workers.observe.hooks import Hooks
    from forebay_workers.options import Patience, Retry
    from forebay_workers.partitioned import Partitioned
    from forebay_workers.testing.app_under_test import TestApp

__all__ = [
    "App",
    "Partitioned",
    "TestApp",
    "Message",
    "Failed",
    "Retry",
    "Patience",
    "Hooks",
    "WorkerError",
    "ConfigError",
    "MisfitError",
    "ServerError",
    "BusyError",
    "LeaseLostError",
]

#: The module of each name.  It is imported on first use: ``forebay --help`` reads the table of
#: commands of this package, and must not load redis-py for that.
PLACES = {
    "App": "app",
    "Partitioned": "partitioned",
    "TestApp": "testing.app_under_test",
    "Message": "message",
    "Failed": "handle.failed",
    "Retry": "options",
    "Patience": "options",
    "Hooks": "observe.hooks",
}


def __getattr__(name: str) -> Any:
    """Import a name of ``__all__``; the default place is the errors module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{PLACES.get(name, 'errors')}"), name)
