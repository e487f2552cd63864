"""Random commands on strings: whole ones, parts, bits, fields, numbers, common subsequences.

Few keys, so that commands affect each other; every option; now and then a wrong word.
All words are ASCII, and no command depends on the clock.  The encoding of a string is asked
for except where INCRBYFLOAT writes (docs/compatibility.md).

``newer`` adds commands that Redis 7.0 does not have: conditions on the value, DELEX, DIGEST,
MSETEX and the operations of BITOP since 8.2.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

KEYS = ("a", "b", "c", "num", "bits", "list", "missing")
FLOAT_KEYS = ("f", "g")
TEXTS = ("", "abc", "ohmytext", "mynewtext", "10", "-7", "0", "x" * 30, "y" * 60, "\x7f\x01 \x10")
WHOLE = ("0", "1", "-1", "2", "3", "7", "8", "9", "15", "16", "31", "40", "100", "-2", "-8", "-40")
HUGE = ("9223372036854775807", "-9223372036854775808", "4294967296", "4294967295")
NOT_WHOLE = ("x", "", "1.5", "+1", "01", "-0", " 1", "9223372036854775808", "#1")
FLOATS = (
    *("0", "1", "1.5", "-1.5", "0.1", "0.2", "3.0e3", "-3e-3", "1e-17", "1.23456789012345678"),
    *("10", "-10.5", "5.0e-18", "1e20", "123456789012345678901234567890", "99999999999999999.5"),
)
ODD_FLOATS = (
    *("inf", "-Infinity", "nan", "1e4932", "1e4933", "1e-4940", "1e-5000", "0x1.8p1", "0x", "0xp1"),
    *(".5", "5.", ".", "", " 1", "1 ", "1e", "e1", "+1", "--1", "1_0", "0x.8", "1e400", "-1e4932"),
    *("0e99999999999999999999", "1e00000000000000000005", "1" * 300, "0." + "3" * 40, "-0.0"),
)
FIELD_TYPES = ("u1", "u4", "u8", "u16", "u63", "i1", "i5", "i8", "i33", "i64")
BAD_FIELD_TYPES = ("u64", "i65", "u0", "8", "x8", "i", "U8", "u08")
MATCHES = ("IFEQ", "IFNE", "IFDEQ", "IFDNE", "ifeq")
#: Digests of "abc" and ""; zeros; one that is too short; one that is not hexadecimal.
DIGESTS = ("78af5f94892f3950", "2D06800538D394C2", "0" * 16, "78af", "g" * 16)
FUTURE_S, FUTURE_MS = "4102444800", "4102444800123"

Words = list[str]
Maker = Callable[[Random], Words]


def random_command(rng: Random, *, newer: bool = False) -> Words:
    """One command, mostly a sensible one."""
    words = rng.choice(NEWER if newer and rng.random() < 0.3 else MAKERS)(rng)
    if rng.random() < 0.03:
        at = rng.randrange(1, len(words) + 1)
        words = rng.choice((words[:at], [*words[:at], rng.choice(("x", "1")), *words[at:]]))
    if rng.random() < 0.1:
        words[0] = words[0].lower()
    return words


def _key(rng: Random) -> str:
    return rng.choice(KEYS)


def _keys(rng: Random, most: int = 3) -> Words:
    return [_key(rng) for _ in range(rng.randint(1, most))]


def _text(rng: Random) -> str:
    return rng.choice(TEXTS)


def _whole(rng: Random) -> str:
    chance = rng.random()
    return rng.choice(WHOLE if chance < 0.9 else HUGE if chance < 0.95 else NOT_WHOLE)


def _offset(rng: Random) -> str:
    """A place in a string that does not make it large."""
    return rng.choice(WHOLE[:13]) if rng.random() < 0.95 else rng.choice((*NOT_WHOLE, *HUGE[:2]))


def _float(rng: Random) -> str:
    return rng.choice(FLOATS if rng.random() < 0.8 else ODD_FLOATS)


def _float_key(rng: Random) -> str:
    return rng.choice(FLOAT_KEYS)


def _maybe(rng: Random, share: float, *words: str) -> Words:
    return list(words) if rng.random() < share else []


def _plain(name: str, *makers: Callable[[Random], str]) -> Maker:
    return lambda rng: [name, *(maker(rng) for maker in makers)]


def _pairs(rng: Random) -> Words:
    return [word for key in _keys(rng) for word in (key, _text(rng))]


def _time(rng: Random) -> Words:
    number = rng.choice((FUTURE_S, FUTURE_S, "0", "-1", "x", HUGE[0]))
    return rng.choice((["EXAT", number], ["PXAT", FUTURE_MS], ["KEEPTTL"]))


def _set(rng: Random) -> Words:
    words = ["SET", _key(rng), _text(rng), *_maybe(rng, 0.2, rng.choice(("NX", "XX")))]
    return [*words, *_maybe(rng, 0.2, "GET"), *_maybe(rng, 0.2, *_time(rng))]


def _bitcount(rng: Random) -> Words:
    words = ["BITCOUNT", _key(rng), *_maybe(rng, 0.8, _whole(rng), _whole(rng))]
    return words + _maybe(rng, 0.4, rng.choice(("BIT", "BYTE", "bit", "FOO")))


def _bitpos(rng: Random) -> Words:
    words = ["BITPOS", _key(rng), rng.choice(("0", "1", "1", "0", "2", "x"))]
    words += [_whole(rng) for _ in range(rng.randint(0, 2))]
    return words + (_maybe(rng, 0.5, rng.choice(("BIT", "BYTE", "bit"))) if len(words) == 5 else [])


def _bitop(rng: Random) -> Words:
    operation = rng.choice(("AND", "OR", "XOR", "NOT", "or", "FOO"))
    sources = [_key(rng)] if operation == "NOT" and rng.random() < 0.8 else _keys(rng)
    return ["BITOP", operation, _key(rng), *sources]


def _newer_bitop(rng: Random) -> Words:
    return ["BITOP", rng.choice(("DIFF", "DIFF1", "ANDOR", "ONE")), _key(rng), *_keys(rng, 4)]


def _field(rng: Random) -> Words:
    """A type and an offset; large fields stay near the start."""
    kind = rng.choice(FIELD_TYPES if rng.random() < 0.97 else BAD_FIELD_TYPES)
    # "#" multiplies: a huge one would overflow, which Redis does not check.
    offset = "#" + rng.choice(WHOLE) if rng.random() < 0.3 else _offset(rng)
    return [kind, offset]


def _bitfield(rng: Random) -> Words:
    words = ["BITFIELD", _key(rng)]
    for _ in range(rng.randint(0, 4)):
        words += _maybe(rng, 0.4, "OVERFLOW", rng.choice(("WRAP", "SAT", "FAIL", "fail", "FOO")))
        name = rng.choice(("GET", "SET", "INCRBY", "incrby"))
        words += [name, *_field(rng), *([] if name == "GET" else [_whole(rng)])]
    return words


def _bitfield_ro(rng: Random) -> Words:
    words = ["BITFIELD_RO", _key(rng)]
    for _ in range(rng.randint(0, 3)):
        words += ["GET", *_field(rng)]
    return words + _maybe(rng, 0.05, "SET", "u8", "0", "1")


def _lcs(rng: Random) -> Words:
    words = ["LCS", _key(rng), _key(rng), *_maybe(rng, 0.2, "LEN"), *_maybe(rng, 0.5, "IDX")]
    words += _maybe(rng, 0.3, "MINMATCHLEN", _whole(rng))
    return words + _maybe(rng, 0.3, "WITHMATCHLEN")


def _match(rng: Random) -> Words:
    match = rng.choice(MATCHES)
    return [match, rng.choice(DIGESTS) if "D" in match else _text(rng)]


def _matching_set(rng: Random) -> Words:
    words = ["SET", _key(rng), _text(rng), *_match(rng)]
    words += _maybe(rng, 0.1, rng.choice(("NX", "XX", "IFEQ")))
    # An invalid digest makes Redis answer twice if it has answered GET already.
    words += _maybe(rng, 0.2, "GET") if words[3].upper() in ("IFEQ", "IFNE") else []
    return words + _maybe(rng, 0.2, *_time(rng))


def _delex(rng: Random) -> Words:
    match = ["IFFY", "x"] if rng.random() < 0.05 else _match(rng)
    return ["DELEX", _key(rng), *_maybe(rng, 0.8, *match)]


def _msetex(rng: Random) -> Words:
    pairs = _pairs(rng)
    count = str(len(pairs) // 2) if rng.random() < 0.9 else rng.choice(("0", "-1", "x", "9"))
    condition = _maybe(rng, 0.3, rng.choice(("NX", "XX")))
    return ["MSETEX", count, *pairs, *condition, *_maybe(rng, 0.4, *_time(rng))]


MAKERS: list[Maker] = [
    *(_plain(name, _key) for name in ("GET", "STRLEN", "TYPE", "PEXPIRETIME", "INCR", "GETDEL")),
    *(_plain(name, _key, _text) for name in ("APPEND", "GETSET", "SETNX", "SET", "SET", "SET")),
    *(_plain(name, _key, _whole, _whole) for name in ("GETRANGE", "GETRANGE", "SUBSTR")),
    *([_plain("SETRANGE", _key, _offset, _text)] * 2),
    *([_plain("SETBIT", _key, _offset, lambda rng: rng.choice("1101012"))] * 3),
    *([_plain("GETBIT", _key, _offset)] * 2),
    *([_plain("INCRBYFLOAT", _float_key, _float)] * 6),
    _plain("INCRBYFLOAT", lambda rng: "float-list", _float),
    _plain("SET", _float_key, _float),
    _plain("GET", _float_key),
    *([_plain("OBJECT", lambda rng: "ENCODING", _key)] * 4),
    _plain("DEL", _key),
    _plain("RPUSH", lambda rng: rng.choice(("list", "float-list")), _text),
    lambda rng: [rng.choice(("MSET", "MSETNX")), *_pairs(rng)],
    lambda rng: ["MGET", *_keys(rng)],
    *[_set, _bitcount, _bitcount, _bitpos, _bitpos, _bitop, _bitop, _lcs, _lcs],
    *[_bitfield, _bitfield, _bitfield, _bitfield_ro],
]  # fmt: skip

NEWER: list[Maker] = [
    *([_matching_set] * 3),
    *([_delex] * 2),
    _msetex,
    _newer_bitop,
    _plain("DIGEST", _key),
]  # fmt: skip
