"""Sums of decimal numbers as Redis makes them: in 80-bit floating point, to the last digit.

INCRBYFLOAT adds in the ``long double`` of x86-64 and prints 17 digits after the point.
Python has no such type, so the numbers here are exact fractions, rounded where that
type would round:

    text --read--> exact --rounded--> 64 bits and an exponent --+
                                                                +--> sum --rounded--> text
    text --read--> exact --rounded--> 64 bits and an exponent --+

    rounded   to 64 significant bits, ties to even; fewer below 2^-16382
    text      17 digits after the point, ties to even; zeros at the end are dropped

So ``0.1 + 0.2`` is ``0.3`` here as in Redis, and 3 plus a million steps of 0.1 drifts by
exactly as much.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

#: Redis does not accept longer texts as numbers.
LONGEST_TEXT = 5 * 1024 - 1
SIGNIFICANT_BITS = 64
#: The weight of the last bit of the smallest numbers, and the overflow limit, as powers of two.
LEAST_BIT = -16445
TOO_LARGE = 16384
#: Powers of ten and of two beyond which a number is certainly 0, or certainly too large.
DECIMAL_REACH = 5100
BINARY_REACH = 17000
#: An exponent with more digits is cut: it is out of range anyway.
EXPONENT_DIGITS = 9
DIGITS = 17
ZERO = Fraction(0)

_DECIMAL = re.compile(rb"([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?)0*(\d+))?\Z")
_BINARY = re.compile(rb"([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)(?:[pP]([+-]?)0*(\d+))?\Z")
_INFINITE = re.compile(rb"[+-]?inf(inity)?\Z", re.IGNORECASE)


class OutOfRangeError(ArithmeticError):
    """A number that is infinite."""


def parse(text: bytes) -> Fraction:
    """The number in a text; ValueError if it is none, OutOfRangeError if it is infinite."""
    if not 0 < len(text) <= LONGEST_TEXT:
        raise ValueError("no number")
    if _INFINITE.match(text):
        raise OutOfRangeError
    if found := _BINARY.match(text):
        return _value(found, 16, 2)
    if found := _DECIMAL.match(text):
        return _value(found, 10, 10)
    raise ValueError("no number")


def _value(found: re.Match[bytes], base: int, power: int) -> Fraction:
    """The number of a match; too large or too small ones are refused."""
    sign, whole, fraction, exponent_sign, exponent_digits = found.groups(b"")
    if not whole + fraction:
        raise ValueError("no digits")
    digits = (whole + fraction).decode()
    # Decimal, because int() refuses very long decimal texts.
    mantissa = int(digits, 16) if base == 16 else int(Decimal(digits))
    if mantissa == 0:
        return ZERO
    exponent = int(exponent_sign + exponent_digits[:EXPONENT_DIGITS] if exponent_digits else b"0")
    exponent -= len(fraction) * (4 if base == 16 else 1)
    size = mantissa.bit_length() if base == 16 else len(digits.lstrip("0"))
    if abs(size + exponent) > (BINARY_REACH if base == 16 else DECIMAL_REACH):
        raise ValueError("out of range")
    exact = Fraction(mantissa) * Fraction(power) ** exponent
    try:
        value = rounded(-exact if sign == b"-" else exact)
    except OutOfRangeError:
        raise ValueError("too large") from None
    if value == 0:
        raise ValueError("too small")
    return value


def rounded(exact: Fraction) -> Fraction:
    """The nearest number of the type; OutOfRangeError if it is infinite."""
    if exact == 0:
        return exact
    size = abs(exact)
    # Then 2^top <= size < 2^(top+1).
    top = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** top:
        top -= 1
    last_bit = Fraction(2) ** max(top + 1 - SIGNIFICANT_BITS, LEAST_BIT)
    value = round(exact / last_bit) * last_bit
    if abs(value) >= Fraction(2) ** TOO_LARGE:
        raise OutOfRangeError
    return value


def text_of(value: Fraction) -> bytes:
    """As Redis prints it: no exponent, no zeros at the end, no minus before zero."""
    scaled: int = round(value * 10**DIGITS)
    # Decimal, because str() refuses very long integers.
    digits = str(Decimal(abs(scaled))).rjust(DIGITS + 1, "0")
    text = f"{digits[:-DIGITS]}.{digits[-DIGITS:]}".rstrip("0").rstrip(".")
    return b"-" * (scaled < 0) + text.encode()
