"""What can go wrong, split by who can repair it.

    ConnectorError
      +- OptionError      an option is unknown, missing or cannot be read
      +- ServerError      unreachable, wrong password, not a stream, too old
      +- DataLossError    entries that were not read yet are gone
      +- MalformedError   an entry does not fit the schema, and mode is FAILFAST
      +- SinkError        a row cannot be written, or not exactly once
      +- JavaError        Spark needs Java and there is none
      +- OldSparkError    this Spark lacks what the connector needs

Every text is one sentence about the fault and one about what to do.  Spark wraps
what its Python workers raise into exceptions of the JVM with pages of stack;
``explain`` finds our text again in whatever arrived, for a person to read.
"""

from __future__ import annotations

import re


class ConnectorError(Exception):
    """A fault that the person who runs the query can repair."""


class OptionError(ConnectorError):
    """An option is unknown, missing or cannot be read."""


class ServerError(ConnectorError):
    """The server cannot be reached, refuses us, or holds something else under the name."""


class DataLossError(ConnectorError):
    """Entries that were not read yet are gone."""


class MalformedError(ConnectorError):
    """An entry does not fit the schema."""


class SinkError(ConnectorError):
    """A row cannot be written, or not exactly once."""


class JavaError(ConnectorError):
    """Spark needs Java and there is none that it can use."""


class OldSparkError(ConnectorError):
    """This Spark lacks what the connector needs."""


#: ``forebay_spark.errors.OptionError: text`` up to the end of the line or Spark's own trailer.
_OURS = re.compile(
    r"forebay_spark\.(?:\w+\.)?errors\.\w+: (?P<text>.*?)\s*(?:SQLSTATE: \w+)?\s*(?:\n|$)"
)


def explain(error: BaseException) -> str | None:
    """Our sentence inside an error that came through Spark, or None if it is not ours."""
    if isinstance(error, ConnectorError):
        return str(error)
    found = _OURS.search(str(error))
    return found["text"] if found else None


#: py4j says only that a call failed; what Java says stands in the next line, after its class.
_CALL = "An error occurred while calling"
_JAVA_CLASS = re.compile(r"^:?\s*(?:[a-z]\w*\.)+(?P<name>[\w$]+)(?::\s*|$)")


def first_sentence(error: BaseException) -> str:
    """What Spark or Java says, without the stack below it."""
    told = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(told) > 1 and told[0].startswith(_CALL):
        told = told[1:]
    if not told:
        return type(error).__name__
    if len(told) > 1 and told[0].endswith(":"):
        told[0] = " ".join(told[:2])
    plain = _JAVA_CLASS.sub("", told[0]) or told[0].lstrip(": ")
    return re.sub(r"\s*SQLSTATE: \w+", "", plain).rstrip(";")
