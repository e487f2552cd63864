"""Names and defaults of a Redis that is newer than the one on this machine, as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parents[1] / "data" / "names_8.6.3.json"
NAMES: dict[str, Any] = json.loads(_DATA.read_text())


def words(lines: list[str]) -> list[str]:
    """Lines of names, as names."""
    return " ".join(lines).split()
