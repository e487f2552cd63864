"""What this package raises on purpose; each text is one sentence that says what to do next."""

from __future__ import annotations


class WorkerError(Exception):
    """The base of all of them."""


class ConfigError(WorkerError):
    """An option, a handler or a URL that cannot work; found before anything is read."""


class ServerError(WorkerError):
    """The server cannot be used: it is not there, refuses the password, or lost the group."""


class MisfitError(WorkerError):
    """A message does not fit the type that its handler wants; it becomes a dead letter."""


class LeaseLostError(WorkerError):
    """Somebody else has it now, because this process was silent for too long."""


class BusyError(WorkerError):
    """Somebody else is doing the same just now; the message is tried again later."""
