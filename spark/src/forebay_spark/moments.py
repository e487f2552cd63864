"""A time as a person writes it, read in the same way as the connector's options."""

from __future__ import annotations

from forebay_spark.errors import OptionError
from forebay_spark.options import BATCH, read_options


def moment_ms(text: str, name: str) -> int:
    """Milliseconds since 1970; OptionError says what ``name`` may be."""
    try:
        read = read_options({"streams": "any", "startingTimestamp": text}, BATCH)
    except OptionError as error:
        raise OptionError(str(error).replace("Option startingTimestamp", name)) from None
    return int(read.startingTimestamp)
