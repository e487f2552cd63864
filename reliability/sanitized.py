"""Programs on a build with AddressSanitizer and UBSan: any access outside a buffer is reported.

    folder = build()                               compiled modules with sanitizers, once
    run(folder, "reliability.fuzz.program", ...)   a program on them; its output, or the reports
    tracer(folder)                                 the words before the command of a server

The build is in its own folder below the system's temporary folder, or in FOREBAY_SANITIZED;
never in the repository and never in the environment of the tests.
Python uses malloc there, so that every object has its own borders.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from testkit.places import ROOT

#: Leaks are not searched: Python keeps its memory until it ends.  Freed memory is held back for
#: a while, to find uses of it, but not so long that memory seems to grow.
ASAN_OPTIONS = "detect_leaks=0:quarantine_size_mb=16:allocator_may_return_null=1:handle_abort=1"
UBSAN_OPTIONS = "print_stacktrace=1"
#: The beginning of a report.
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
    """The output of a program, and what was wrong: empty if it ended well."""
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
