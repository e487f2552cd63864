"""From the bytes of a field to a flat typed column, one page at a time.

Arrow's own casts read numbers, booleans, dates and times at C speed, but they stop at
the first value that does not fit.  Patterns then sort the column:

    all values --cast--> done                        a clean page: one cast
         |
    hopeless? (it cannot fit)  -> null, and its row is reported
         |
    the rest  --cast--> done                         a page with bad values: a second one
         |
    doubtful? (perhaps 1e99)   -> halved until the bad ones are found

Patterns only save work.  The cast judges what they let through, and the tests check that
nothing is called hopeless that the cast would take.

    int, float, decimal   12  -3  0.5  1e3       nothing around them
    boolean               true false 1 0         any letter case
    timestamp             ISO 8601; UTC where no zone is written; or epoch numbers by option
    date                  2026-01-31
    string, binary        as it is; a string must be UTF-8

Structs, arrays and maps are in nested.py, which judges their leaves with this file.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from forebay_spark.options import EPOCH_MS, EPOCH_S, ISO
from forebay_spark.values.pairs import decoded

FITS_NOT = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError)

_ZONED = r"\d:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)$"
_BEYOND_MICROSECONDS = r"(\.\d{6})\d+"
_WHOLE = r"^-?([0-9]+|0[xX][0-9a-fA-F]+)$"
_MOST_DIGITS = 38
_PER_SECOND_US = 1_000_000
_PER_MS_US = 1_000

_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)"
_LEAP_YEAR = r"([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_DAY = (
    r"([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    rf"|02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_HOUR, _SIXTY = r"([01][0-9]|2[0-3])", r"[0-5][0-9]"
_ZONE = rf"(Z|[+-]{_HOUR}(:?{_SIXTY})?)?"

Column = tuple[pa.Array, list[int]]


class Patterns(NamedTuple):
    """Texts that surely fit a type, and texts that may fit it; regular expressions of RE2.

    Without patterns nothing is sure, and every text may fit.
    """

    safe: str = r"[^\s\S]"
    possible: str | None = None


class Flat:
    """A column of numbers, times, texts or bytes."""

    def __init__(self, kind: pa.DataType, timestamp_format: str = ISO) -> None:
        self._cast = _cast(kind, timestamp_format)
        self._suspicious = False
        self._patterns = _patterns(kind, timestamp_format)

    def tolerant(self, values: pa.Array) -> Column:
        """One cast; patterns go before it if something did not fit the last time."""
        if not self._suspicious:
            try:
                return self._cast(values), []
            except FITS_NOT:
                self._suspicious = True
        array, bad = self._sorted(values)
        self._suspicious = bool(bad)
        return array, bad

    def _sorted(self, values: pa.Array) -> Column:
        bad = pc.invert(self._possible(values))
        try:
            array = self._cast(_without(values, bad))
        except FITS_NOT:
            bad = self._judged(values, bad)
            array = self._cast(_without(values, bad))
        return array, _rows(bad)

    def _possible(self, values: pa.Array) -> pa.Array:
        """Whether values may fit."""
        if self._patterns.possible is None:
            texts = [value is None or is_text(value) for value in values.to_pylist()]
            return pa.array(texts, pa.bool_())
        return _matches(values, self._patterns.possible)

    def _judged(self, values: pa.Array, hopeless: pa.Array) -> pa.Array:
        """The mask of all values that do not fit."""
        safe = _matches(values, self._patterns.safe)
        doubtful = _rows(pc.invert(pc.or_(safe, hopeless)))
        bad = set(self._halved(values.take(pa.array(doubtful, pa.int64())), doubtful))
        bad.update(_rows(hopeless))
        return pa.array([row in bad for row in range(len(values))], pa.bool_())

    def _halved(self, values: pa.Array, rows: list[int]) -> list[int]:
        """The rows whose values the cast refuses."""
        try:
            self._cast(values)
        except FITS_NOT:
            if len(rows) == 1:
                return rows
            middle = len(rows) // 2
            left = self._halved(values[:middle], rows[:middle])
            return left + self._halved(values[middle:], rows[middle:])
        return []


def _matches(values: pa.Array, pattern: str) -> pa.Array:
    """Whether values match; null counts as a match."""
    return pc.fill_null(pc.match_substring_regex(values, pattern), True)


def _without(values: pa.Array, bad: pa.Array) -> pa.Array:
    return pc.if_else(bad, pa.scalar(None, values.type), values)


def _rows(mask: pa.Array) -> list[int]:
    rows: list[int] = pc.indices_nonzero(mask).to_pylist()
    return rows


def is_text(value: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _patterns(kind: pa.DataType, timestamp_format: str) -> Patterns:
    if pa.types.is_integer(kind):
        return _integers(kind.bit_width)
    if pa.types.is_boolean(kind):
        words = r"(?i)^(true|false|0|1)$"
        return Patterns(words, words)
    if pa.types.is_decimal(kind):
        return _decimals(kind)
    if pa.types.is_date(kind):
        return Patterns(f"^{_DAY}$", f"^{_DAY}$")
    if pa.types.is_timestamp(kind) and timestamp_format == ISO:
        return Patterns(
            rf"^{_DAY}[T ]{_HOUR}:{_SIXTY}:{_SIXTY}(\.[0-9]{{1,6}})?{_ZONE}$",
            rf"^{_DAY}([T ]{_HOUR}(:{_SIXTY}(:{_SIXTY}(\.[0-9]*)?)?)?{_ZONE})?$",
        )
    if pa.types.is_floating(kind) or pa.types.is_timestamp(kind):
        safe = r"^-?[0-9]{1,12}(\.[0-9]{1,12})?$"
        return Patterns(
            safe, rf"^{_NUMBER}([eE][+-]?[0-9]+)?$|{_WHOLE}|(?i)^[+-]?(nan|inf|infinity)$"
        )
    return Patterns()


def _integers(bits: int) -> Patterns:
    largest = 2 ** (bits - 1)
    safe = f"^(0*{_up_to(largest - 1)}|-0*{_up_to(largest)})$"
    return Patterns(safe, rf"{safe}|^-?0[xX][0-9a-fA-F]+$")


def _up_to(largest: int) -> str:
    """A pattern for the whole numbers from 0 to this one."""
    digits = str(largest)
    ways = [f"[0-9]{{1,{len(digits) - 1}}}", digits]
    for at, digit in enumerate(digits):
        if digit != "0":
            ways.append(f"{digits[:at]}[0-{int(digit) - 1}][0-9]{{{len(digits) - at - 1}}}")
    return f"({'|'.join(ways)})"


def _decimals(kind: pa.Decimal128Type) -> Patterns:
    """The right number of digits before and after the point; with an exponent the cast decides."""
    before, after = kind.precision - kind.scale, kind.scale
    whole = rf"0*[0-9]{{1,{before}}}" if before else "0+"
    broken = rf"[0-9]{{1,{after}}}0*" if after else "0+"
    possible = rf"^[+-]?({whole}(\.({broken})?)?|\.{broken})$|^{_NUMBER}[eE][+-]?[0-9]+$"
    if not (before and after):
        return Patterns(possible=possible)
    return Patterns(rf"^-?[0-9]{{1,{before}}}(\.[0-9]{{1,{after}}})?$", possible)


def _cast(kind: pa.DataType, timestamp_format: str) -> Callable[[pa.Array], pa.Array]:
    """The final check of a type: a binary column becomes a typed one, or an error of FITS_NOT."""
    if pa.types.is_binary(kind):
        return lambda raw: raw
    if pa.types.is_string(kind):
        return decoded
    if pa.types.is_timestamp(kind):
        return {
            ISO: lambda raw: iso_times(decoded(raw), kind),
            EPOCH_S: lambda raw: _epoch_times(raw.view(pa.string()), kind, _PER_SECOND_US),
            EPOCH_MS: lambda raw: _epoch_times(raw.view(pa.string()), kind, _PER_MS_US),
        }[timestamp_format]
    if pa.types.is_decimal(kind):
        return lambda raw: _decimal_column(raw, kind)
    # Bytes that are not UTF-8 are not numbers either: the cast finds them without an extra check.
    return lambda raw: raw.view(pa.string()).cast(kind)


def _decimal_column(raw: pa.Array, kind: pa.Decimal128Type) -> pa.Array:
    """The cast, and a second check if it may have silently exceeded 128 bits."""
    array = raw.view(pa.string()).cast(kind)
    whole = kind.precision - kind.scale
    longest = pc.max(pc.binary_length(raw)).as_py() or 0
    data = raw.buffers()[2]
    letters = data is not None and b"e" in data.to_pybytes().lower()
    if letters or longest > _MOST_DIGITS - kind.scale:
        for text in raw.drop_null().to_pylist():
            number = Decimal(text.decode())
            if number and number.adjusted() >= whole:
                raise ValueError(f"{number} does not fit {kind}")
    return array


def iso_times(text: pa.Array, kind: pa.TimestampType) -> pa.Array:
    """Times with and without a zone in one column; without means UTC."""
    exact = pc.replace_substring_regex(text, _BEYOND_MICROSECONDS, r"\1")
    zoned = pc.match_substring_regex(exact, _ZONED)
    nothing = pa.scalar(None, pa.string())
    aware = pc.if_else(zoned, exact, nothing).cast(pa.timestamp("us", "UTC"))
    naive = pc.if_else(zoned, nothing, exact).cast(pa.timestamp("us"))
    return pc.coalesce(aware.cast(pa.int64()), naive.cast(pa.int64())).cast(kind)


def _epoch_times(text: pa.Array, kind: pa.TimestampType, unit_us: int) -> pa.Array:
    """Whole or fractional numbers of seconds or milliseconds since 1970."""
    try:
        return pc.multiply_checked(text.cast(pa.int64()), unit_us).cast(kind)
    except pa.ArrowInvalid:
        pass
    # A whole number stays one next to fractions: a value never depends on its neighbours.
    whole, nothing = pc.match_substring_regex(text, _WHOLE), pa.scalar(None, pa.string())
    exact = pc.multiply_checked(pc.if_else(whole, text, nothing).cast(pa.int64()), unit_us)
    broken = pc.multiply(pc.if_else(whole, nothing, text).cast(pa.float64()), unit_us)
    return pc.coalesce(exact, pc.round(broken).cast(pa.int64())).cast(kind)
