"""A console for tests: see testkit/consoles.py, which measurements use as well."""

from __future__ import annotations

from testkit.consoles import Answer, Asker, console, key

__all__ = ["Answer", "Asker", "console", "key"]
