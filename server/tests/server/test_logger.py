"""Lines of the log."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from forebay.errors import ConfigError
from forebay.server.logger import Log
from forebay.server.net.timers import Clock


def test_a_line_says_who_when_how_grave_and_what(capsys: pytest.CaptureFixture[str]) -> None:
    Log(Clock()).notice("Ready")
    line = capsys.readouterr().out
    stamp = r"\d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d\.\d{3}"
    assert re.fullmatch(rf"{os.getpid()}:M {stamp} \* Ready\n", line)


def test_each_level_has_its_mark_and_lower_ones_are_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for level, marks in [("debug", ".-*#"), ("verbose", "-*#"), ("notice", "*#"), ("warning", "#")]:
        log = Log(Clock(), level=level)
        for write in (log.debug, log.verbose, log.notice, log.warning):
            write("x")
        lines = capsys.readouterr().out.splitlines()
        assert "".join(line.split()[-2] for line in lines) == marks


def test_what_comes_from_outside_cannot_forge_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    Log(Clock()).warning("name=evil\r\n1:M forged\x1b[31m")
    assert capsys.readouterr().out.endswith("name=evil??1:M forged?[31m\n")


def test_a_log_file_may_be_moved_away_at_any_time(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = Log(Clock(), str(path))
    log.notice("one")
    path.rename(tmp_path / "log.1")
    log.notice("two")
    assert "one" in (tmp_path / "log.1").read_text()
    assert "two" in path.read_text()


def test_a_log_that_cannot_be_written_any_more_does_not_stop_the_server(tmp_path: Path) -> None:
    log = Log(Clock(), str(tmp_path / "gone" / "log"))
    log.warning("nobody hears this")


def test_a_log_that_cannot_be_written_at_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write the log file"):
        Log(Clock(), str(tmp_path / "gone" / "log")).check()
