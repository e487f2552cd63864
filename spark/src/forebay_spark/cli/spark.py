"""The common part of commands on Spark: starting it, and errors as one sentence.

Spark is an extra of this package (``forebay[spark]``), so it is imported only when a command needs
it.  Without it the command says how to install it.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

from forebay_spark.cli.options import SparkOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession as Session

P = ParamSpec("P")


class SparkCommandError(Exception):
    """A command on Spark failed, and its text says why."""


def check_installed() -> None:
    """Check that the extra is installed."""
    for module in ("pyspark", "pyarrow", "redis", "deltalake"):
        if find_spec(module) is None:
            raise SparkCommandError(
                f"this command needs {module}; install it with: pip install 'forebay[spark]'"
            )
    from forebay_spark.runtime.versions import is_too_old, sentence

    found = version("pyspark")
    if is_too_old(found):
        raise SparkCommandError(sentence(found))


def pairs(argument: str, given: Iterable[str]) -> dict[str, str]:
    """Arguments of the form NAME=VALUE, any number of them."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise SparkCommandError(
                f"{argument} {text} has no value; write {argument} {name or 'NAME'}=VALUE"
            )
        found[name] = value
    return found


@contextmanager
def spark_of(options: SparkOptions, name: str) -> Iterator[Session]:
    """A session with these options, stopped at the end; or the existing one."""
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    from forebay_spark import session

    settings = pairs("--conf", options.conf)
    # We report errors once; this logger would print them again, with a stack.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL)
    was_there = SparkSession.getActiveSession() is not None
    others = children()
    try:
        spark = session(name, options.master, settings, ui=options.ui)
    except KeyboardInterrupt:
        end(children() - others)
        raise
    except PySparkException as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise SparkCommandError(
            "Spark did not start, for the reason above; correct --master or --conf"
        ) from error
    try:
        yield spark
    finally:
        if not was_there:
            spark.stop()


def children() -> set[int]:
    """The running child processes of this process."""
    found: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread that has just ended
            found.update(map(int, task.read_text().split()))
    return found


def end(processes: Iterable[int]) -> None:
    """End a Java that is just starting: only a Java that is up ends with its parent; this one would
    never end."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)


def told(work: Callable[P, int | None]) -> Callable[P, int]:
    """A command whose errors are one sentence each, on standard error, and exit code 1."""

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            with sentences():
                return work(*args, **kwargs) or 0
        except SparkCommandError as error:
            sys.stderr.write(f"forebay: {error}\n")
            return 1

    return run


@contextmanager
def sentences() -> Iterator[None]:
    """Errors of the connector and of Spark become one sentence each."""
    check_installed()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from forebay_spark import ConnectorError
    from forebay_spark.pipeline.flow import readable

    try:
        yield
    except KeyboardInterrupt:
        raise SparkCommandError(
            "stopped by Ctrl-C; a restarted job continues where it stopped"
        ) from None
    except ConnectorError as error:
        raise SparkCommandError(str(error)) from error
    except (PySparkException, Py4JError) as error:
        raise SparkCommandError(str(readable(error))) from error
