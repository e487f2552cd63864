"""Options that several commands share, as types: cyclopts reads them from signatures.

    def status(*, url: Url = DEFAULT_URL) -> int: ...         one option
    def compact(*, spark: SparkOptions = HERE) -> int: ...    several, as a dataclass

Defaults that matter to a reader of ``--help`` are in the help text or have ``show_default``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import ArgumentCollection, Parameter

from forebay_spark.options import DEFAULT_URL

URL_VARIABLE = "FOREBAY_URL"


def url_parameter(without: str = DEFAULT_URL) -> Parameter:
    """The server; the variable may hold a password, so its value is never printed.

    ``without`` says what is used if neither is given: the usual address, or none.
    """
    told = f"the server ({URL_VARIABLE}, or else {without})"
    return Parameter(metavar="URL", env_var=URL_VARIABLE, show_env_var=False, help=told)


#: An empty variable counts as unset: use ``url or DEFAULT_URL``.
Url = Annotated[str, url_parameter()]
Json = Annotated[bool, Parameter(help="JSON, one object a line")]
Streams = Annotated[
    tuple[str, ...], Parameter(name="--stream", metavar="NAME", help="a stream; may be repeated")
]
#: Options of the connector without their own argument.
ConnectorOptions = Annotated[
    tuple[str, ...],
    Parameter(
        name="--option",
        metavar="NAME=VALUE",
        help="an option of the connector, as password=... or maxEntriesPerTrigger=50000",
    ),
]
#: How long to wait for a server, for commands without ``--option``.
RetryFor = Annotated[
    str | None,
    Parameter(
        metavar="TIME",
        help="how long to wait for the server if it is away, as '2 hours', or forever (10 minutes)",
    ),
]


def at_most_one(arguments: ArgumentCollection) -> None:
    """Refuse two options of a group whose options exclude each other."""
    given = [argument.name for argument in arguments.filter_by(value_set=True)]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} exclude each other: give one of them")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """Where Spark runs."""

    master: Annotated[
        str | None,
        Parameter(
            metavar="MASTER",
            help="where Spark runs: local[2], spark://host:7077, yarn, k8s://... (this machine)",
        ),
    ] = None
    conf: Annotated[
        tuple[str, ...],
        Parameter(metavar="KEY=VALUE", help="a setting of Spark, as spark.driver.memory=4g"),
    ] = ()
    ui: Annotated[bool, Parameter(help="keep Spark's web pages on, and print their address")] = (
        False
    )


HERE = SparkOptions()
