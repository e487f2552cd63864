"""Programs on a build with AddressSanitizer and UBSan: any access outside of a buffer is a report.

    folder = build()                               compiled modules with sanitizers, once
    run(folder, "reliability.fuzz.program", ...)   a program on them; its output, or what was found
    tracer(folder)                                 what to put before the command of a server

The build is in a folder of its own below the system's place for temporary files, or where
FOREBAY_SANITIZED says; never in the repository and never in the environment of the tests.
Python takes its memory from malloc there, so that every object has its own borders.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from testkit.places import ROOT

#: Leaks are not looked for: Python keeps what it has until it ends.  Freed memory is held back for
#: a while, to find who uses it, but not so long that memory seems to grow.
ASAN_OPTIONS = "detect_leaks=0:quarantine_size_mb=16:allocator_may_return_null=1:handle_abort=1"
UBSAN_OPTIONS = "print_stacktrace=1"
#: What a report begins with.
REPORTS = ("AddressSanitizer", "runtime error:")
SHOWN_CHARACTERS = 3000


def folder_of_build() -> Path:
    """Where the build is kept."""
    named = os.environ.get("FOREBAY_SANITIZED")
    return Path(named or Path(tempfile.gettempdir()) / f"forebay-sanitized-{os.getuid()}")


def build() -> Path:
    """The build of the present sources; modules that have not changed are not compiled again."""
    folder = folder_of_build()
    command = [sys.executable, str(ROOT / "tools" / "install.py"), "sanitized", str(folder)]
    subprocess.run(command, check=True)
    return folder


def runtime_library() -> str:
    """The sanitizer's own library; it must be loaded before Python."""
    said = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    )
    return str(Path(said.stdout.strip()).resolve())


def variables(folder: Path) -> dict[str, str]:
    """The environment in which Python finds the build, and can load it."""
    return {
        "LD_PRELOAD": runtime_library(),
        "ASAN_OPTIONS": ASAN_OPTIONS,
        "UBSAN_OPTIONS": UBSAN_OPTIONS,
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join((str(folder / "site"), str(ROOT))),
    }


def tracer(folder: Path) -> list[str]:
    """A command that runs another one on the build."""
    return ["env", *(f"{name}={value}" for name, value in variables(folder).items())]


def run(folder: Path, module: str, *words: str) -> tuple[str, str]:
    """What a program has printed, and what was wrong: empty if it ended well."""
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        env={**os.environ, **variables(folder)},
        capture_output=True,
        text=True,
        errors="replace",
    )
    is_report = any(word in done.stderr for word in REPORTS)
    if done.returncode == 0 and not is_report:
        return done.stdout, ""
    said = done.stderr[:SHOWN_CHARACTERS]
    return done.stdout, f"{module} {' '.join(words)} ended with {done.returncode}: {said}"
