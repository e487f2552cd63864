"""Ctrl-C in the shell at each moment that matters, one by one and without Spark.

The moment after Enter lasts microseconds: the line is complete, and ``input`` has not returned.
These tests hit it every time.  ``entered_then_pressed`` is a chain of functions in C, as ``input``
is, so Python cannot check for signals before the line is there.
"""

from __future__ import annotations

import ctypes
import io
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from operator import methodcaller

import pytest

from forebay_spark.query.shell import Shell
from forebay_spark.runtime.interrupts import Calls, CtrlC, noticed_ctrl_c
from spark.tests.support.terminal import CTRL_C, CTRL_D, Terminal

pytestmark = pytest.mark.timeout(300)


class Line(str):
    """A line after which Ctrl-C can be pressed."""

    press = staticmethod(ctypes.CDLL(None).kill)


def entered_then_pressed(lines: list[str], then: list[str]) -> Callable[[str], str]:
    """Like ``input``: some lines with Ctrl-C directly after Enter, then some without."""
    press = methodcaller("press", os.getpid(), signal.SIGINT)
    return partial(next, itertools.chain(itertools.filterfalse(press, map(Line, lines)), then))


@pytest.fixture
def ctrl_c() -> Iterator[CtrlC]:
    with noticed_ctrl_c() as noticed:
        yield noticed


def shell_of(
    ctrl_c: CtrlC, read: Callable[[str], str], execute: Callable[[str], None]
) -> io.StringIO:
    """Run a shell to its end; returns its output."""
    out = io.StringIO()
    Shell(execute, {}, str, ctrl_c, read, out).run()
    return out


def test_a_key_directly_after_enter_stops_the_statement(ctrl_c: CtrlC) -> None:
    ran: list[str] = []
    read = entered_then_pressed(["SELECT 1; SELECT 2; SELECT"], ["3;", ".quit"])
    assert shell_of(ctrl_c, read, ran.append).getvalue() == "\nstopped\n"
    assert ran == ["3"]


def test_a_key_directly_after_half_a_statement_leaves_it(ctrl_c: CtrlC) -> None:
    ran: list[str] = []
    read = entered_then_pressed(["SELECT 1,"], ["SELECT 2;", ".quit"])
    assert shell_of(ctrl_c, read, ran.append).getvalue() == "\n"
    assert ran == ["SELECT 2"]


def test_a_key_while_a_line_is_typed_leaves_it(ctrl_c: CtrlC) -> None:
    ran: list[str] = []
    lines = iter(["SELECT", "key", "1;", ".quit"])

    def read(_: str) -> str:
        line = next(lines)
        if line == "key":
            os.kill(os.getpid(), signal.SIGINT)
        return line

    assert shell_of(ctrl_c, read, ran.append).getvalue() == "\n"
    assert ran == ["1"]


def test_a_key_after_the_result_stops_what_comes_after_it_in_the_line(ctrl_c: CtrlC) -> None:
    ran: list[str] = []

    def execute(statement: str) -> None:
        ran.append(statement)
        os.kill(os.getpid(), signal.SIGINT)

    lines = iter(["1; 2;", "3;", ".quit"])
    assert shell_of(ctrl_c, lambda _: next(lines), execute).getvalue() == "\nstopped\n\n"
    assert ran == ["1", "3"]


class NoSpark:
    """The small part of a session that a call needs; its jobs end when they are cancelled."""

    def __init__(self) -> None:
        self.is_cancelled = threading.Event()

    @property
    def sparkContext(self) -> NoSpark:
        return self

    def setJobGroup(self, *_: str) -> None:
        return

    def cancelJobGroup(self, _: str) -> None:
        self.is_cancelled.set()


def test_a_key_that_comes_as_the_work_begins_cancels_it(ctrl_c: CtrlC) -> None:
    spark, out, ended = NoSpark(), io.StringIO(), threading.Event()

    def work(gate: io.TextIOBase) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert spark.is_cancelled.wait(60)
        try:
            gate.write("nobody wants this")
        finally:
            ended.set()

    calls = Calls(spark, ctrl_c)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        calls.run(work, out)  # type: ignore[arg-type]
    assert ended.wait(60)
    assert out.getvalue() == ""
    assert calls.run(lambda _: 3, out) == 3


SHELL = """
import signal, sys
from forebay_spark.runtime.interrupts import noticed_ctrl_c
from forebay_spark.query.shell import Shell, history
with noticed_ctrl_c() as ctrl_c, history():
    {prepare}
    Shell(lambda statement: print("ran", statement, flush=True), {{}}, str, ctrl_c).run()
"""
#: The signal goes to another thread and does not wake the main one, as if it were too early.
UNWOKEN = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])"


@pytest.mark.parametrize("prepare", ["", UNWOKEN])
def test_a_key_at_the_terminal_is_seen_without_another_key(
    prepare: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    command = [sys.executable, "-c", SHELL.format(prepare=prepare)]
    with Terminal(command, XDG_STATE_HOME=str(tmp_path_factory.mktemp("state"))) as shell:
        shell.until("sql> ")
        shell.press("SELECT 1")
        shell.until("SELECT 1")
        shell.press(CTRL_C)
        assert shell.until("sql> ").replace("^C", "") == "\nsql> "
        shell.press("SELECT 2;\n")
        assert "ran SELECT 2\nsql> " in shell.until("sql> ")
        shell.press(CTRL_D)
        assert shell.exit_code() == 0


#: Ctrl-C as a signal alone: the terminal does not drop what was typed, so the shell must.
TYPED_AHEAD = """
import os, signal, sys, time
from testkit.waiting import wait_until
from forebay_spark.runtime.interrupts import noticed_ctrl_c
from forebay_spark.query.shell import Shell, history
import fcntl, struct, termios

def waiting():
    return struct.unpack("i", fcntl.ioctl(0, termios.FIONREAD, bytes(4)))[0]

with noticed_ctrl_c() as ctrl_c, history():
    def execute(statement):
        print("ran", statement, flush=True)
        if statement == "1":
            wait_until("it is typed", waiting, 60)
            os.kill(os.getpid(), signal.SIGINT)
            ctrl_c.check()
    Shell(execute, {}, str, ctrl_c).run()
"""


def test_what_was_typed_ahead_does_not_run_after_the_key(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    command = [sys.executable, "-c", TYPED_AHEAD]
    with Terminal(command, XDG_STATE_HOME=str(tmp_path_factory.mktemp("state"))) as shell:
        shell.until("sql> ")
        shell.press("1;\n")
        shell.until("ran 1\n")
        shell.press("2;\n")
        shell.until("stopped\nsql> ")
        shell.press("3;\n")
        shown = shell.until("ran 3\nsql> ")
        assert "ran 2" not in shown
        shell.press(CTRL_D)
        assert shell.exit_code() == 0
