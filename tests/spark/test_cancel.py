"""Ctrl-C ends a query and not the session."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from forebay_spark.cancel import Cancelling


class Spark:
    """A session that notes that it was told to stop."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.sparkContext = self

    def cancelAllJobs(self) -> None:
        self.stopped.set()


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_rows_end_after_ctrl_c_and_the_old_answer_is_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    spark: Any = Spark()
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(10):
            if number == 3:
                press()
            yield number

    with pytest.raises(KeyboardInterrupt), Cancelling(spark) as work:
        taken.extend(work.rows(numbers()))
    assert spark.stopped.wait(10)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_failure_after_ctrl_c_is_the_interruption_and_one_before_is_itself() -> None:
    spark: Any = Spark()
    with pytest.raises(KeyboardInterrupt), Cancelling(spark):
        press()
        raise ValueError("Spark says at length that its job was cancelled")
    with pytest.raises(ValueError, match="real"), Cancelling(spark):
        raise ValueError("real")


@pytest.mark.spark
@pytest.mark.timeout(120)
def test_a_query_that_would_take_for_ever_ends_and_the_next_one_works(spark: Any) -> None:
    endless = spark.range(10**12).selectExpr("sum(id % 7) AS n")
    pressed = threading.Timer(3.0, press)
    pressed.start()
    with pytest.raises(KeyboardInterrupt), Cancelling(spark) as work:
        list(work.rows(endless.toLocalIterator()))
    pressed.join()
    assert spark.range(3).count() == 3
