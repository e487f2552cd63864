"""The thread that waits for the disk."""

from __future__ import annotations

import os
import threading

from forebay.errors import DiskError, ForebayError
from forebay.server.durability.syncer import Syncer
from server.tests.support.watchers import Watchers
from testkit.waiting import wait_until


def test_a_job_runs_beside_the_loop_and_its_end_comes_through_the_loop() -> None:
    watching = Watchers()
    syncer = Syncer(watching)
    threads: list[int] = []
    ends: list[ForebayError | None] = []
    syncer.start(lambda: threads.append(threading.get_ident()), ends.append)
    wait_until("the job is done", lambda: not syncer.results.empty())
    assert syncer.is_busy
    assert ends == []
    ((wake_fd, wake),) = watching.watchers.items()
    wake()
    assert ends == [None]
    assert not syncer.is_busy
    assert threads != [threading.get_ident()]
    os.close(wake_fd)


def test_what_a_job_raises_is_handed_over_and_the_next_one_runs() -> None:
    def fail() -> None:
        raise DiskError("x", "sync", "Input/output error")

    syncer = Syncer(Watchers())
    ends: list[ForebayError | None] = []
    syncer.start(fail, ends.append)
    syncer.finish()
    assert str(ends.pop()) == "cannot sync x: Input/output error"
    syncer.start(lambda: None, ends.append)
    syncer.finish()
    assert ends == [None]


def test_a_wake_up_that_comes_late_is_not_taken_for_the_next_job() -> None:
    watching = Watchers()
    syncer = Syncer(watching)
    ends: list[str] = []
    syncer.start(lambda: None, lambda _: ends.append("first"))
    syncer.finish()
    gate = threading.Event()
    syncer.start(lambda: gate.wait() and None, lambda _: ends.append("second"))
    for wake in list(watching.watchers.values()):
        wake()
    assert ends == ["first"]
    gate.set()
    syncer.finish()
    assert ends == ["first", "second"]


def test_a_result_is_found_without_the_bell() -> None:
    syncer = Syncer(Watchers())
    ends: list[ForebayError | None] = []
    syncer.start(lambda: None, ends.append)
    wait_until("the job is done", lambda: not syncer.results.empty())
    syncer.look()
    assert ends == [None]
    syncer.look()
