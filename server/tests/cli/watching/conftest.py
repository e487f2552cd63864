"""The command line of the tests of streams, for this folder too."""

from __future__ import annotations

from server.tests.cli.streams.conftest import cli, server

__all__ = ["cli", "server"]
