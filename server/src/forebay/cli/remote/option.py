"""The option that names a server, for every command that talks to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token

from forebay.cli.remote.address import DEFAULT_URL, Address, parse_url

URL_VARIABLE = "FOREBAY_URL"


def address_of(_: Any, tokens: Sequence[Token]) -> Address | None:
    """The address of a server; an empty variable counts as none."""
    return parse_url(tokens[0].value) if tokens[0].value else None


def url_parameter(without: str = DEFAULT_URL) -> Parameter:
    """The option --url; the variable may hold a password, so its value is never printed.

    ``without`` says which server is used if neither is given.
    """
    return Parameter(
        metavar="URL",
        converter=address_of,
        accepts_keys=False,
        env_var=URL_VARIABLE,
        show_env_var=False,
        help=f"the server ({URL_VARIABLE}, or else {without})",
    )


Url = Annotated[Address | None, url_parameter()]
