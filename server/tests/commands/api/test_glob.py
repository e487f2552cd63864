"""Glob patterns: against a slow and obvious model, against Redis itself, against the clock."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.commands.api.glob import Glob, matches
from testkit.servers import ServerProcess

ALPHABET = b"abcAZz-]^[\\*?\x00\x7f\x80\xff"
patterns = st.lists(st.sampled_from([bytes((b,)) for b in ALPHABET]), max_size=12).map(b"".join)
texts = st.lists(st.sampled_from([bytes((b,)) for b in ALPHABET]), max_size=10).map(b"".join)


# The model: recursion over the pattern, one byte at a time.


def lower(byte: int) -> int:
    return byte + 32 if 65 <= byte <= 90 else byte


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def model(pattern: bytes, text: bytes, nocase: bool) -> bool:
    if not pattern or not text:
        return not pattern and not text
    return model_rest(pattern, text, nocase)


def model_rest(pattern: bytes, text: bytes, nocase: bool) -> bool:
    if not pattern:
        return not text
    if pattern[:1] == b"*":
        return any(model_rest(pattern[1:], text[i:], nocase) for i in range(len(text) + 1))
    if not text:
        return False
    taken, rest = model_one(pattern, text[0], nocase)
    return taken and model_rest(rest, text[1:], nocase)


def model_one(pattern: bytes, byte: int, nocase: bool) -> tuple[bool, bytes]:
    """Whether the first element matches the byte, and the pattern after that element."""

    def same(other: int) -> bool:
        return lower(other) == lower(byte) if nocase else other == byte

    first = pattern[:1]
    if first == b"?":
        return True, pattern[1:]
    if first == b"[":
        return model_class(pattern[1:], byte, nocase)
    if first == b"\\" and len(pattern) > 1:
        pattern = pattern[1:]
    return same(pattern[0]), pattern[1:]


def model_class(pattern: bytes, byte: int, nocase: bool) -> tuple[bool, bytes]:
    inverted = pattern[:1] == b"^"
    pattern = pattern[1:] if inverted else pattern
    taken = False
    while pattern and pattern[:1] != b"]":
        if pattern[:1] == b"\\" and len(pattern) >= 2:
            taken |= pattern[1] == byte
            pattern = pattern[2:]
        elif len(pattern) >= 3 and pattern[1:2] == b"-":
            low, high = sorted((signed(pattern[0]), signed(pattern[2])))
            value = signed(byte)
            if nocase:
                low, high, value = (lower(v) if v >= 0 else v for v in (low, high, value))
            taken |= low <= value <= high
            pattern = pattern[3:]
        else:
            taken |= lower(pattern[0]) == lower(byte) if nocase else pattern[0] == byte
            pattern = pattern[1:]
    return taken != inverted, pattern[1:]


@given(patterns, texts, st.booleans())
def test_a_pattern_means_what_the_model_says(pattern: bytes, text: bytes, nocase: bool) -> None:
    assert matches(pattern, text, nocase=nocase) == model(pattern, text, nocase)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (b"h?llo", b"hello", True),
        (b"h?llo", b"hllo", False),
        (b"h*llo", b"hllo", True),
        (b"h[a-e]llo", b"hello", True),
        (b"h[e-a]llo", b"hello", True),
        (b"h[^e]llo", b"hello", False),
        (b"user:*:[0-9]?", b"user:7:x:42", True),
        (b"user:*:[0-9]?", b"user:42", False),
        (b"\\*", b"*", True),
        (b"\\*", b"x", False),
        (b"a*", b"a", True),
        (b"*a*b*c", b"aabbc", True),
        (b"*ab*ab", b"aab", False),
        (b"", b"", True),
        (b"", b"a", False),
    ],
)
def test_the_usual_patterns(pattern: bytes, text: bytes, expected: bool) -> None:
    assert matches(pattern, text) is expected


def test_only_the_empty_pattern_matches_the_empty_text() -> None:
    assert not matches(b"*", b"")
    assert not matches(b"**", b"")


def test_a_class_without_its_bracket_goes_to_the_end() -> None:
    assert matches(b"[abc", b"b")
    assert matches(b"[^", b"x")
    assert not matches(b"[", b"[")


def test_letter_case_counts_only_if_asked_for() -> None:
    assert not matches(b"STREAM-*", b"stream-node-max-bytes")
    assert matches(b"STREAM-*", b"stream-node-max-bytes", nocase=True)
    assert matches(b"[A-C]x", b"bX", nocase=True)
    assert not matches(b"[\\B]", b"b", nocase=True)


def test_a_pattern_may_be_asked_many_times() -> None:
    pattern = Glob(b"*[0-9][0-9]*")
    asked = [b"a12b", b"a1b2", b"99", b"9"]
    assert [pattern.matches(text) for text in asked * 2] == [True, False, True, False] * 2


def adversary(rng: Random) -> bytes:
    words = [b"*a", b"a*", b"*", b"?", b"[^b]", b"[a-z]", b"a", b"aaaa", b"*?", b"[a", b"*[a-z]b"]
    return b"".join(rng.choice(words) for _ in range(rng.randint(1, 60)))


def test_no_pattern_blows_up_on_a_kilobyte() -> None:
    """A backtracking matcher takes years for one of these: the test would time out."""
    rng = Random(36021)
    text = b"a" * 1023 + b"c"
    cases = [adversary(rng) + b"b" for _ in range(500)]
    cases += [b"*a" * 500 + b"b", b"*" * 1024 + b"b", b"*" + b"?" * 1022 + b"*b"]
    cases += [b"*" + b"[^b]" * 250 + b"*b", b"a*" * 500 + b"b", b"*" + b"a" * 511 + b"b*"]
    assert not any(matches(pattern, text) for pattern in cases)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (b"*a" * 1000, True),
        (b"*a" * 1000 + b"**", True),
        (b"**a" * 1000, True),
        (b"*a" * 1001, False),
        (b"*a" * 1000 + b"*?", False),
        (b"*" * 5000 + b"a", True),
    ],
)
def test_more_than_a_thousand_stars_match_nothing(pattern: bytes, expected: bool) -> None:
    assert matches(pattern, b"a" * 1005) is expected


@pytest.mark.parametrize(
    "unit", [b"*?", b"?", b"a", b"\\a", b"*a", b"[a-z]", b"*[a-z]", b"*[^b]?", b"*", b"**a"]
)
@pytest.mark.parametrize("tail", [b"", b"b"])
def test_a_long_pattern_is_read_no_further_than_a_text_can_fit(unit: bytes, tail: bytes) -> None:
    pattern = unit * 2_000_000 + tail
    texts = [b"a", b"a" * 200, b"ab" * 100, b"b"]
    asked = Glob(pattern)
    answers = [asked.matches(text) for text in texts]
    assert answers == [unit == b"*" and text.endswith(tail) for text in texts]
    # One element more than the longest text has bytes; a run of stars is one step.
    assert unit == b"*" or asked.parser.at <= len(unit) * 201


def test_a_longer_text_reads_on_in_the_pattern() -> None:
    asked = Glob(b"a?" * 3 + b"*[x-z]" * 2)
    texts = [b"a", b"aaaa", b"ababab", b"abababxz", b"abababx", b"abababqxqy"]
    assert [asked.matches(text) for text in texts] == [False, False, False, True, False, True]
    assert [asked.matches(text) for text in texts] == [False, False, False, True, False, True]


@pytest.mark.oracle
def test_redis_finds_the_same_keys(redis_server: ServerProcess, tmp_path: Path) -> None:
    rng = Random(7)
    bytes_of = [bytes((b,)) for b in ALPHABET]
    keys = {b"".join(rng.choice(bytes_of) for _ in range(rng.randint(0, 5))) for _ in range(300)}
    keys |= {bytes((b,)) for b in range(256)}
    with redis_server.client(unix=True) as redis:
        redis("FLUSHALL")
        for key in keys:
            redis("SET", key, "")
        for _ in range(1500):
            pattern = b"".join(rng.choice(bytes_of) for _ in range(rng.randint(0, 8)))
            if pattern != b"*":  # KEYS answers that one without looking at the keys
                asked = Glob(pattern)
                assert set(redis("KEYS", pattern)) == {k for k in keys if asked.matches(k)}, pattern
        redis("FLUSHALL")
