"""What commands on Spark share: starting it, and errors as one sentence.

Spark is an extra of this package (``forebay[spark]``), so nothing of it is imported before
a command needs it, and without it the command says how to get it.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession as Session

URL = "redis://127.0.0.1:6379"
URL_VARIABLE = "FOREBAY_URL"

P = ParamSpec("P")


class SparkCommandError(Exception):
    """A command on Spark failed, and its text says why."""


def check_installed() -> None:
    """See that the extra is there."""
    for module in ("pyspark", "pyarrow", "redis", "deltalake"):
        if find_spec(module) is None:
            raise SparkCommandError(
                f"this command needs {module}; install it with: pip install 'forebay[spark]'"
            )
    from forebay_spark.versions import is_too_old, sentence

    found = version("pyspark")
    if is_too_old(found):
        raise SparkCommandError(sentence(found))


def add_subcommand(
    subs: Any,
    name: str,
    handler: Callable[[argparse.Namespace], int | None],
    help_: str,
    examples: str = "",
) -> Any:
    """A command of a command, whose help ends with examples."""
    sub = subs.add_parser(
        name,
        help=help_,
        description=f"{help_[0].upper()}{help_[1:]}.",
        epilog=examples and f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.set_defaults(handler=handler)
    return sub


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    """Where Spark runs."""
    parser.add_argument(
        "--master",
        help="where Spark runs: local[2], spark://host:7077, yarn, k8s://... (this machine)",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark, as spark.driver.memory=4g",
    )
    parser.add_argument(
        "--ui", action="store_true", help="leave Spark's web pages on, and say where they are"
    )


def pairs(argument: str, given: list[str]) -> dict[str, str]:
    """What was given as NAME=VALUE, any number of times."""
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise SparkCommandError(
                f"{argument} {text} has no value; write {argument} {name or 'NAME'}=VALUE"
            )
    return {name: value for name, _, value in (text.partition("=") for text in given)}


def add_url_argument(parser: argparse.ArgumentParser, without: str = URL) -> None:
    """Which server; the variable may hold a password, so its value is not printed.

    ``without`` says what counts if neither is given: the usual address, or none.
    """
    parser.add_argument(
        "--url",
        default=os.environ.get(URL_VARIABLE) or (URL if without == URL else None),
        help=f"the server ({URL_VARIABLE}, or else {without})",
    )


def add_retry_argument(parser: argparse.ArgumentParser) -> None:
    """How long to wait for a server, where there is no ``--option``."""
    parser.add_argument(
        "--retry-for",
        metavar="TIME",
        help="how long to wait for the server if it is away, as '2 hours', or forever (10 minutes)",
    )


def add_option_argument(parser: argparse.ArgumentParser) -> None:
    """Options of the connector that have no argument of their own."""
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the connector, as password=... or maxEntriesPerTrigger=50000",
    )


@contextmanager
def spark_of(args: argparse.Namespace, name: str) -> Iterator[Session]:
    """A session as the arguments want it, stopped at the end; or the one that is there."""
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    from forebay_spark import session

    settings = pairs("--conf", args.conf)
    # What goes wrong is told once, by us; these would print it as well, with a stack.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL)
    was_there = SparkSession.getActiveSession() is not None
    try:
        spark = session(name, args.master, settings, ui=args.ui)
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
    except ConnectorError as error:
        raise SparkCommandError(str(error)) from error
    except (PySparkException, Py4JError) as error:
        raise SparkCommandError(str(readable(error))) from error
