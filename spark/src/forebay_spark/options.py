"""Every option of the connector, in one table.

Spark passes options as text, with names in any letter case.  A row of the table
says what a name means, where it may be used and how to read its text; the
parser, the check for unknown names and the documentation use the same rows.
Names follow Spark's Kafka source, so a user who knows one can guess the other.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from forebay_spark import durations
from forebay_spark.errors import OptionError

BATCH, STREAM, WRITE = "a batch read", "a streaming read", "a write"
READS = (BATCH, STREAM)
ALL = (BATCH, STREAM, WRITE)

MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"
ISO, EPOCH_S, EPOCH_MS = "iso", "epoch_s", "epoch_ms"
AVRO, PROTOBUF, JSON = "avro", "protobuf", "json"
AUTO, COLUMNS, RANGE = "auto", "columns", "range"
TEXT, BINARY = "text", "binary"
FOREVER = "forever"
#: The server, if the user names none.
DEFAULT_URL = "redis://127.0.0.1:6379"
#: How long a streaming query waits for a server that is away, by default.
LONG_RETRY = "10 minutes"
LONG_RETRY_S = durations.read_ms(LONG_RETRY) / 1000


def _text(value: str) -> str:
    return value


def _integer(value: str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError("a whole number from 1 on")
    return number


def _boolean(value: str) -> bool:
    words = {"true": True, "false": False}
    if value.strip().lower() not in words:
        raise ValueError("true or false")
    return words[value.strip().lower()]


def _names(value: str) -> tuple[str, ...]:
    """A comma-separated list without repeats, in its own order."""
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


def _one_of(*allowed: str) -> Callable[[str], str]:
    """One of a few words, in any letter case."""

    def read(value: str) -> str:
        for word in allowed:
            if value.strip().lower() == word.lower():
                return word
        raise ValueError(" or ".join(allowed))

    return read


def _moment_ms(value: str) -> int:
    """Milliseconds since 1970, or a date and time in ISO 8601 (UTC if no zone is given)."""
    if value.strip().isdigit():
        return int(value)
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise ValueError("milliseconds since 1970 or a time like 2026-01-31T12:00:00Z") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _contents(value: str) -> bytes:
    """A file, read here because tasks run elsewhere; or JSON as it is."""
    if value.lstrip().startswith(("{", "[")):
        return value.encode()
    try:
        return Path(value).read_bytes()
    except OSError as error:
        raise ValueError(f"a file that can be read ({error.strerror})") from None


def _moments(value: str) -> dict[str, int]:
    """A JSON object from streams to moments."""
    wanted = 'JSON from streams to moments, as in {"orders": "2026-01-31T12:00:00Z"}'
    try:
        given = json.loads(value)
        return {stream: _moment_ms(str(moment)) for stream, moment in given.items()}
    except (ValueError, AttributeError):
        raise ValueError(wanted) from None


def _wait_s(value: str) -> float:
    """Seconds, from a duration or the word for no end."""
    if value.strip().lower() == FOREVER:
        return math.inf
    try:
        return durations.read_ms(value) / 1000
    except ValueError:
        raise ValueError(f"{durations.WANTED}, or {FOREVER}") from None


class Option(NamedTuple):
    """One row of the table."""

    name: str
    read: Callable[[str], Any]
    default: Any
    where: tuple[str, ...]
    summary: str


TABLE = (
    Option("url", _text, DEFAULT_URL, ALL, "server, sentinel or cluster to talk to"),
    Option("user", _text, None, ALL, "user name, if it is not in the URL"),
    Option("password", _text, None, ALL, "password, if it is not in the URL"),
    Option("timeoutSeconds", _integer, 30, ALL, "how long to wait for a connection or a reply"),
    Option("retryFor", _wait_s, None, ALL, "how long to wait for a server that is away"),
    Option("streams", _names, (), READS, "names of streams, separated by commas"),
    Option("path", _names, (), READS, "the same, as the argument of load()"),
    Option("streamsPattern", _text, None, READS, "glob of names; new streams are picked up"),
    Option("startingOffsets", _text, None, READS, "earliest, latest, or JSON: stream to first ID"),
    Option("startingTimestamp", _moment_ms, None, READS, "first moment to read"),
    Option("startingOffsetsByTimestamp", _moments, None, READS, "JSON: stream to first moment"),
    Option("endingOffsets", _text, None, (BATCH,), "latest, or JSON: stream to last ID"),
    Option("endingTimestamp", _moment_ms, None, (BATCH,), "first moment not to read"),
    Option("endingOffsetsByTimestamp", _moments, None, (BATCH,), "JSON: stream to moment of end"),
    Option("maxEntriesPerTrigger", _integer, None, (STREAM,), "most entries of one micro-batch"),
    Option("maxBytesPerTrigger", _integer, None, (STREAM,), "most bytes of one micro-batch, about"),
    Option("minEntriesPerTrigger", _integer, None, (STREAM,), "wait until this many are there"),
    Option("maxTriggerDelay", durations.read_ms, 900_000, (STREAM,), "but no longer than this"),
    Option("minPartitions", _integer, 1, READS, "split the work into at least this many tasks"),
    Option("failOnDataLoss", _boolean, True, READS, "fail when unread entries are gone"),
    Option("reportDataLoss", _boolean, True, READS, "report lost entries if that is not a failure"),
    Option("failOnDeletes", _boolean, True, READS, "count single deleted entries as data loss"),
    Option("group", _text, None, (STREAM,), "consumer group that mirrors the progress"),
    Option("mode", _one_of(*MODES), "PERMISSIVE", READS, "what to do with a malformed entry"),
    Option("timestampFormat", _one_of(ISO, EPOCH_S, EPOCH_MS), ISO, READS, "how times are written"),
    Option("fieldValues", _one_of(TEXT, BINARY), TEXT, READS, "values of fields: text or binary"),
    Option("decodeField", _names, (), READS, "fields that hold records; their columns are structs"),
    Option("decodeAs", _one_of(AVRO, PROTOBUF, JSON), JSON, READS, "the format of these records"),
    Option("decodeSchema", _contents, None, READS, "Avro schema or Protobuf descriptors: a file"),
    Option("decodeMessage", _text, None, READS, "the Protobuf message of these records"),
    Option("pushFilters", _boolean, False, (BATCH,), "let filters cut the range; see Filters"),
    Option("fetch", _one_of(AUTO, COLUMNS, RANGE), AUTO, READS, "how entries are asked for"),
    Option("pageBytes", _integer, 2 << 20, READS, "about how much a task asks for at once"),
    Option("stream", _text, None, (WRITE,), "stream to write to"),
    Option("streamColumn", _text, "stream", (WRITE,), "column with the name of the stream"),
    Option("fieldColumns", _names, (), (WRITE,), "columns that become fields; all if not given"),
    Option("idColumn", _text, None, (WRITE,), "column with the ID of the entry"),
    Option("keyColumn", _text, None, (WRITE,), "column with a key that is written only once"),
    Option("maxLen", _integer, None, (WRITE,), "trim the stream to about this many entries"),
    Option(
        "delivery",
        _one_of(EXACTLY_ONCE, AT_LEAST_ONCE),
        EXACTLY_ONCE,
        (WRITE,),
        "what a retried task may do",
    ),
    Option("writeId", _text, None, (WRITE,), "name of a batch write, to repeat it safely"),
    Option("rowsPerTransaction", _integer, 500, (WRITE,), "rows that appear all at once"),
)

#: Options that Spark adds for itself; we ignore them.
SPARKS_OWN = frozenset({"checkpointlocation", "queryname", "mergeschema"})

#: Options that exclude each other.
STARTS = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
ENDS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")

_BY_NAME = {option.name.lower(): option for option in TABLE}


class Options:
    """The options of one read or write, as attributes with the names of the table."""

    def __init__(self, where: str, values: dict[str, Any]) -> None:
        self.where = where
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def names(self) -> tuple[str, ...]:
        """The named streams, from the option or the path."""
        return tuple(dict.fromkeys((*self.streams, *self.path)))


def read_options(given: Mapping[str, str], where: str) -> Options:
    """Check and read all options of one use of the connector."""
    values = {option.name: option.default for option in TABLE if where in option.where}
    for name, text in given.items():
        if name.lower() in SPARKS_OWN:
            continue
        option = _BY_NAME.get(name.lower())
        if option is None or where not in option.where:
            raise OptionError(_unknown(name, where))
        values[option.name] = _value(option, text)
    options = Options(where, values)
    if where != WRITE:
        _check_read(options)
    return options


def _value(option: Option, text: str) -> Any:
    try:
        return option.read(text)
    except ValueError as error:
        hint = str(error)
        expected = "a whole number from 1 on" if hint.startswith("invalid literal") else hint
        raise OptionError(f"Option {option.name} cannot be {text!r}. Give it {expected}.") from None


def _unknown(name: str, where: str) -> str:
    known = [option.name for option in TABLE if where in option.where]
    row = _BY_NAME.get(name.lower())
    if row is not None:
        return f"Option {row.name} has no meaning for {where}. It is for {_either(row.where)}."
    close = difflib.get_close_matches(name.lower(), [k.lower() for k in known], 1, 0.6)
    hint = f"Did you mean {_BY_NAME[close[0]].name}?" if close else f"There are: {_list(known)}."
    return f"There is no option {name} for {where}. {hint}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names, key=str.lower))


def _either(places: tuple[str, ...]) -> str:
    return " or ".join(places)


def _check_read(options: Options) -> None:
    """Rules between options."""
    if bool(options.names) == bool(options.streamsPattern):
        raise OptionError(
            "Which streams to read is not clear. Give either streams, as in "
            "option('streams', 'orders,payments'), or streamsPattern."
        )
    _check_records(options)
    _refuse_two(options, "begin", STARTS)
    if options.where == BATCH:
        _refuse_two(options, "end", ENDS)


def _check_records(options: Options) -> None:
    """The options that a format needs."""
    needs = {AVRO: ("decodeSchema",), PROTOBUF: ("decodeSchema", "decodeMessage"), JSON: ()}
    for name in ("decodeField", *needs[options.decodeAs]) if options.decodeAs != JSON else ():
        if not getattr(options, name):
            raise OptionError(f"decodeAs {options.decodeAs} needs the option {name}. Give it too.")
    if options.decodeSchema and options.decodeAs == JSON:
        raise OptionError("decodeSchema has no meaning for JSON. Set decodeAs to avro or protobuf.")


def _refuse_two(options: Options, what: str, names: tuple[str, ...]) -> None:
    given = [name for name in names if getattr(options, name) is not None]
    if len(given) > 1:
        raise OptionError(f"{given[0]} and {given[1]} both say where to {what}. Give one of them.")
