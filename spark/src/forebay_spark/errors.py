"""Errors, grouped by what the user can do about them.

    ConnectorError
      +- OptionError      an option is unknown, missing or cannot be read
      +- ServerError      unreachable, wrong password, not a stream, too old
      +- DataLossError    entries that were not read yet are gone
      +- MalformedError   an entry does not fit the schema, and mode is FAILFAST
      +- SinkError        a row cannot be written, or not exactly once
      +- JavaError        Spark needs Java and there is none
      +- OldSparkError    this Spark lacks what the connector needs

Every text is one sentence about the error and one about what to do.  Spark wraps
errors of its Python workers into exceptions of the JVM with pages of stack;
``explain`` finds our text in them again.
"""

from __future__ import annotations

import re


class ConnectorError(Exception):
    """An error that the user who runs the query can fix."""


class OptionError(ConnectorError):
    """An option is unknown, missing or cannot be read."""


class ServerError(ConnectorError):
    """The server cannot be reached, refuses us, or has another type under the name."""


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


#: py4j says only that a call failed; Java's own text is in the next line, after the class.
_CALL = "An error occurred while calling"
_JAVA_CLASS = re.compile(r"^:?\s*(?:[a-z]\w*\.)+(?P<name>[\w$]+)(?::\s*|$)")


def first_sentence(error: BaseException) -> str:
    """The text of Spark or Java, without the stack below it."""
    told = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(told) > 1 and told[0].startswith(_CALL):
        told = told[1:]
    if not told:
        return type(error).__name__
    if len(told) > 1 and told[0].endswith(":"):
        told[0] = " ".join(told[:2])
    plain = _JAVA_CLASS.sub("", told[0]) or told[0].lstrip(": ")
    return re.sub(r"\s*SQLSTATE: \w+", "", plain).rstrip(";")
