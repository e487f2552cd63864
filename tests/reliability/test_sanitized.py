"""The build with sanitizers: its flags, its place, and what counts as a report (R8)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reliability import sanitized
from testkit.places import ROOT

#: Prints the flags of setup.py without building.
FLAGS = """
import setuptools
setuptools.setup = lambda **words: print(words["ext_modules"][0].extra_compile_args)
exec(open("setup.py").read())
"""


def flags(**variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", FLAGS],
        cwd=ROOT / "server",
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_variable_turns_the_sanitizers_on_and_nothing_else_does() -> None:
    assert "-fsanitize=address,undefined" in flags(FOREBAY_SANITIZE="address,undefined")
    assert "sanitize" not in flags(FOREBAY_SANITIZE="")


def test_the_build_is_outside_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOREBAY_SANITIZED", raising=False)
    assert ROOT not in sanitized.folder_of_build().parents


def test_a_program_that_reads_beyond_its_buffer_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "beyond.c"
    source.write_text(
        "#include <stdlib.h>\nint peek(int n) { char *p = malloc(8); return p[n]; }\n"
    )
    library = tmp_path / "libbeyond.so"
    command = ["gcc", "-shared", "-fPIC", "-g", "-fsanitize=address,undefined"]
    subprocess.run([*command, "-o", str(library), str(source)], check=True)
    (tmp_path / "beyond.py").write_text(
        f"import ctypes, sys\nctypes.CDLL({str(library)!r}).peek(int(sys.argv[1]))\n"
    )
    variables = sanitized.variables(tmp_path) | {"PYTHONPATH": str(tmp_path)}
    monkeypatch.setattr(sanitized, "variables", lambda _: variables)
    assert sanitized.run(tmp_path, "beyond", "7") == ("", "")
    assert "heap-buffer-overflow" in sanitized.run(tmp_path, "beyond", "8")[1]
