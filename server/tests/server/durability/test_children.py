"""Child processes: their reports, their descriptors, their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from forebay.errors import DiskError
from forebay.server.durability.children import Child, Children, Report
from forebay.server.net.timers import Clock
from server.tests.support.watchers import Watchers
from testkit.waiting import wait_until


def run(work: Callable[[Report], None]) -> tuple[Child, str]:
    """Let a child do it; returns the child and why it failed."""
    ends: list[tuple[Child, str]] = []
    watching = Watchers()
    children = Children(watching, Clock())
    children.start("save", work, 10, lambda child, error: ends.append((child, error)))
    children.wait()
    assert children.current is None
    assert not watching.watchers
    return ends[0]


def test_a_child_sees_the_data_and_changes_only_its_own(tmp_path: Path) -> None:
    data = ["before"]

    def work(report: Report) -> None:
        data.append("in the child")
        (tmp_path / "seen").write_text(" ".join(data))

    assert run(work)[1] == ""
    assert (tmp_path / "seen").read_text() == "before in the child"
    assert data == ["before"]


def test_progress_comes_through_the_pipe() -> None:
    child, error = run(lambda report: report(7, 4096))
    assert error == ""
    assert (child.keys_done, child.keys_total, child.bytes_done) == (7, 10, 4096)


def test_what_went_wrong_comes_through_the_pipe_in_one_line() -> None:
    def fail(report: Report) -> None:
        raise DiskError("/data/x", "write", "No space\nleft")

    assert run(fail)[1] == "cannot write /data/x: No space left"


def test_a_fault_of_ours_ends_the_child_and_is_told() -> None:
    assert "by zero" in run(lambda report: report(1 // 0, 0))[1]


def test_a_child_that_is_killed_is_a_failure() -> None:
    error = run(lambda report: os.kill(os.getpid(), signal.SIGKILL))[1]
    assert error == "the child was ended by SIGKILL"


def test_a_child_that_ends_without_a_word_is_a_failure() -> None:
    assert run(lambda report: os._exit(0))[1] == "the child ended with exit code 0"


def test_a_child_keeps_no_descriptor_of_its_parent_but_the_pipe(tmp_path: Path) -> None:
    """A lock or a socket that lived on in a child would outlive its owner."""
    mine = os.open(tmp_path, os.O_RDONLY)

    def work(report: Report) -> None:
        listed = [path for path in Path("/proc/self/fd").iterdir() if int(path.name) > 2]
        # The listing itself was a descriptor, too; it is closed by now.
        names = [str(path.readlink()) for path in listed if path.exists() or path.is_symlink()]
        (tmp_path / "names").write_text("\n".join(names))

    assert run(work)[1] == ""
    os.close(mine)
    (only,) = (tmp_path / "names").read_text().splitlines()
    assert only.startswith("pipe:")


def test_a_child_is_killed_at_once_if_asked() -> None:
    children = Children(Watchers(), Clock())
    children.start("save", lambda report: signal.pause(), 0, lambda child, error: None)
    assert children.current is not None
    pid = children.current.pid
    children.kill()
    assert children.current is None
    assert not Path(f"/proc/{pid}").exists()


def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        from server.tests.support.watchers import Watchers
        from forebay.server.durability.children import Children
        from forebay.server.net.timers import Clock
        children = Children(Watchers(), Clock())
        children.start("save", lambda report: signal.pause(), 0, lambda child, error: None)
        print(children.current.pid, flush=True)
        signal.pause()
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert is_alive(pid)
    parent.kill()
    parent.wait()
    wait_until("the child has ended", lambda: not is_alive(pid))
    parent.stdout.close()


def is_alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")
