"""Python's ``ssl``, loaded at the first use: a server without TLS starts without it.

Modules of TLS import the name from here and use it as usual.  Each attribute is kept after its
first use, so the next use is one look-up.
"""

from __future__ import annotations

from typing import Any


class LazySsl:
    """Stands for the module."""

    def __getattr__(self, name: str) -> Any:
        import ssl

        value = getattr(ssl, name)
        setattr(self, name, value)
        return value


ssl = LazySsl()
