"""A browser for tests: see testkit/browser.py, which tests of the documentation use as well."""

from __future__ import annotations

from testkit.browser import Browser, browser

__all__ = ["Browser", "browser"]
