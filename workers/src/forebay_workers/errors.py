"""The errors of this package; each text is one sentence that says what to do next."""

from __future__ import annotations


class WorkerError(Exception):
    """The base of all errors of this package."""


class ConfigError(WorkerError):
    """An option, a handler or a URL that cannot work; found before anything is read."""


class ServerError(WorkerError):
    """The server cannot be used: no answer, a refused password, or a lost group."""


class MisfitError(WorkerError):
    """A message does not match the type that its handler wants; it becomes a dead letter."""


class LeaseLostError(WorkerError):
    """Another worker owns it now, because this process was silent for too long."""


class BusyError(WorkerError):
    """Another worker is doing the same work now; the message is tried again later."""
