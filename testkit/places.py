"""Where the parts of the repository are.

A distribution is a top-level folder with a `pyproject.toml`, its sources in `src` and its tests
in `tests`.  The other folders serve all of them.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The folders of the distributions, in the order in which they are built.
DISTRIBUTIONS = ("server", "spark", "workers", "console")
SERVER_SRC = ROOT / "server" / "src"
SPARK_SRC = ROOT / "spark" / "src"
WORKERS_SRC = ROOT / "workers" / "src"
CONSOLE_SRC = ROOT / "console" / "src"
SOURCES = (SERVER_SRC, SPARK_SRC, WORKERS_SRC, CONSOLE_SRC)
#: Where tools/install.py builds the compiled distribution.
SERVER_BUILD = ROOT / "build" / "server"
