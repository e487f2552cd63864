"""Random commands of the generic, string, list and set families, for one connection.

Few keys and few members, so that commands affect each other; every option, and now
and then a wrong word.  All words are ASCII.

Two servers may answer some commands differently and both be right.  Such commands are
avoided, or `comparable` undoes the difference:
  * a clock: relative expiry times are set only on keys of CLOCK_KEYS, and for those keys
    only the fact that time is left is compared (`comparable` masks how much); the others
    expire at absolute times
  * an order: KEYS, SCAN, SMEMBERS, ... answer in no order, so `comparable` sorts
  * chance: there is no RANDOMKEY here
  * time: there is no command that waits (BLPOP has data, or is in a transaction)
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from testkit.resp import end_of_reply

KEYS = ("a", "b", "c", "num", "list", "set", "missing", "")
CLOCK_KEYS = ("clock1", "clock2")
VALUES = ("1", "-7", "abc", "", "10000000000", "9223372036854775807", "-9223372036854775808", "1.5")
NUMBERS = ("0", "1", "2", "-1", "-2", "100", "9223372036854775807", "-9223372036854775808")
NOT_NUMBERS = ("x", "", "1.5", "+1", "01", "-0", " 1", "9223372036854775808")
MEMBERS = ("m1", "m2", "m3", "1", "2", "")
PATTERNS = ("*", "?", "[a-c]", "[^a]", "*s*", "n?m", "l*t", "\\a", "[", "[b-", "", "**", "NUM")
FUTURE_S, PAST_S = "4102444800", "1000000000"
FUTURE_MS, PAST_MS = "4102444800123", "1000000000123"
UNORDERED = frozenset(
    ("KEYS", "SCAN", "SSCAN", "SMEMBERS", "SINTER", "SUNION", "SDIFF", "SPOP", "SRANDMEMBER")
)

Words = list[str]
Maker = Callable[[Random], Words]


def random_command(rng: Random) -> list[bytes]:
    """One command, mostly a sensible one."""
    words = rng.choice(MAKERS)(rng)
    if rng.random() < 0.04:
        words = _break(rng, words)
    if rng.random() < 0.1:
        words[0] = words[0].lower()
    return [word.encode() for word in words]


def comparable(command: list[bytes], reply: bytes) -> bytes:
    """The reply without the parts that may differ: an order, the seconds left."""
    name = command[0].decode().upper()
    if name == "TTL" and reply[:1] == b":" and not reply.startswith(b":-"):
        return b":some\r\n"
    is_unsorted = name.startswith("SORT") and b"nosort" in command
    if not (name in UNORDERED or is_unsorted) or reply[:1] not in b"*~":
        return reply
    start = reply.rindex(b"*") if name in ("SCAN", "SSCAN") else 0
    at = reply.index(b"\r\n", start) + 2
    head, members = reply[:at], []
    while at < len(reply):
        end = end_of_reply(reply, at)
        members.append(reply[at:end])
        at = end
    return head + b"".join(sorted(members))


def _break(rng: Random, words: Words) -> Words:
    """A word too many, one missing, or one that makes no sense."""
    if words[0] in ("EXPIRE", "PEXPIRE", "SETEX", "PSETEX", "BLPOP", "BRPOP"):
        return words  # the result might wait, or depend on the clock
    at = rng.randrange(1, len(words) + 1)
    match rng.randrange(3):
        case 0:
            return words[:at]
        case 1:
            return [*words[:at], rng.choice(("x", "NX", "GET", "1", "REPLACE")), *words[at:]]
    return [*words[:at], rng.choice(("FOO", "", "-1")), *words[at + 1 :]]


def _key(rng: Random) -> str:
    return rng.choice(KEYS)


def _keys(rng: Random) -> Words:
    return [_key(rng) for _ in range(rng.randint(1, 4))]


def _number(rng: Random) -> str:
    return rng.choice(NUMBERS if rng.random() < 0.9 else NOT_NUMBERS)


def _maybe(rng: Random, share: float, *words: str) -> Words:
    return list(words) if rng.random() < share else []


def _plain(name: str, *makers: Callable[[Random], str | Words]) -> Maker:
    """A command whose arguments are made one after the other."""

    def make(rng: Random) -> Words:
        words = [name]
        for maker in makers:
            made = maker(rng)
            words += [made] if isinstance(made, str) else made
        return words

    return make


def _value(rng: Random) -> str:
    return rng.choice(VALUES)


def _members(rng: Random) -> Words:
    return [rng.choice(MEMBERS) for _ in range(rng.randint(1, 4))]


def _set(rng: Random) -> Words:
    words = ["SET", _key(rng), _value(rng)]
    words += _maybe(rng, 0.2, rng.choice(("NX", "XX", "nx")))
    words += _maybe(rng, 0.2, "GET")
    words += _maybe(rng, 0.1, "KEEPTTL")
    words += _maybe(rng, 0.15, *_absolute(rng))
    words += _maybe(rng, 0.03, "XX")
    return words


def _absolute(rng: Random) -> Words:
    """An absolute expiry time that does not depend on when it is read."""
    seconds = rng.random() < 0.5
    number = rng.choice((FUTURE_S,) if seconds else (FUTURE_MS,))
    if rng.random() < 0.1:
        number = rng.choice(("0", "-1", "x", "9223372036854775807"))
    return ["EXAT" if seconds else "PXAT", number]


def _getex(rng: Random) -> Words:
    options = _absolute(rng) if rng.random() < 0.5 else ["PERSIST"]
    return ["GETEX", _key(rng), *_maybe(rng, 0.8, *options)]


def _expire_at(rng: Random) -> Words:
    name = rng.choice(("EXPIREAT", "PEXPIREAT"))
    times = (FUTURE_S, FUTURE_S, "4102444801") if name == "EXPIREAT" else (FUTURE_MS, FUTURE_MS)
    number = rng.choice(times)
    if rng.random() < 0.1:
        number = rng.choice((PAST_S, "-1", "0", "x", "9223372036854775807"))
    words = [name, _key(rng), number]
    words += _maybe(rng, 0.3, rng.choice(("NX", "XX", "GT", "LT", "gt")))
    return words + _maybe(rng, 0.1, rng.choice(("NX", "XX", "GT", "LT", "FOO")))


def _clock(rng: Random) -> Words:
    """Relative times, far enough away not to end while the script runs."""
    key = rng.choice(CLOCK_KEYS)
    return rng.choice(
        (
            ["SET", key, "1"],
            ["SET", key, "1", "EX", "1000"],
            ["SET", key, "2", "PX", "1000000", "GET"],
            ["SETEX", key, rng.choice(("1000", "1000", "0", "-1", "x")), "v"],
            ["PSETEX", key, rng.choice(("1000000", "1000000", "0", "9223372036854775807")), "v"],
            ["EXPIRE", key, rng.choice(("1000", "1000", "-1", "9223372036854775807"))],
            ["PEXPIRE", key, rng.choice(("1000000", "1000000", "0", "x"))],
            ["EXPIRE", key, "2000", rng.choice(("NX", "XX", "GT", "LT"))],
            ["GETEX", key, "EX", "1000"],
            ["TTL", key],
            ["TTL", key],
            ["PERSIST", key],
        )
    )


def _copy(rng: Random) -> Words:
    words = ["COPY", _key(rng), _key(rng), *_maybe(rng, 0.4, "REPLACE")]
    return words + _maybe(rng, 0.3, "DB", rng.choice(("0", "1", "1", "16", "x", "-1")))


def _scan(rng: Random) -> Words:
    """From the start to the end in one call, so that the cursor is 0 on both."""
    words = ["SCAN", "0", "COUNT", "1000"]
    words += _maybe(rng, 0.4, "MATCH", rng.choice(PATTERNS))
    return words + _maybe(rng, 0.4, "TYPE", rng.choice(("string", "LIST", "set", "hash", "foo")))


def _flush(rng: Random) -> Words:
    name = rng.choice(("FLUSHDB", "FLUSHDB", "FLUSHALL"))
    return [name, *_maybe(rng, 0.5, rng.choice(("SYNC", "sync")))]


def _swap(rng: Random) -> Words:
    first, second = (rng.choice(("0", "1", "1", "x", "16", "-1")) for _ in range(2))
    return ["SWAPDB", first, second]


def _pop(rng: Random) -> Words:
    count = _maybe(rng, 0.4, _number(rng))
    return [rng.choice(("LPOP", "RPOP")), rng.choice((_key(rng), "list")), *count]


def _push(rng: Random) -> Words:
    key = _key(rng) if rng.random() < 0.3 else "list"
    return [rng.choice(("LPUSH", "RPUSH")), key, *_members(rng)]


def _blocking_pop(rng: Random) -> Words:
    """A pop that does not wait: the timeout is refused, or over at once."""
    timeout = rng.choice(("0.001", "0.001", "1e-3", "x", "-1", "nan", "1_0", "0x0.01p0"))
    return [rng.choice(("BLPOP", "BRPOP")), *_keys(rng), timeout]


def _mset(rng: Random) -> Words:
    words = ["MSET"]
    for key in _keys(rng):
        words += [key, _value(rng)]
    return words


_READERS = [_plain(name, _key) for name in ("TYPE", "GET", "STRLEN", "LLEN", "SCARD", "SMEMBERS")]
_READERS += [_plain(name, _key) for name in ("TTL", "EXPIRETIME", "PEXPIRETIME")]

MAKERS: list[Maker] = [
    *_READERS,
    *(_plain(name, _key) for name in ("INCR", "DECR", "GETDEL", "PERSIST")),
    *(_plain(name, _keys) for name in ("EXISTS", "DEL", "UNLINK", "TOUCH", "MGET")),
    *(_plain(name, _key, _key) for name in ("RENAME", "RENAMENX")),
    *(_plain(name, _key, _value) for name in ("SETNX", "APPEND")),
    *(_plain(name, _key, _number) for name in ("INCRBY", "DECRBY")),
    *(_plain(name, lambda rng: "set", _members) for name in ("SADD", "SADD", "SREM")),
    *(_plain(name, _key, _members) for name in ("SADD", "SREM")),
    _plain("SISMEMBER", _key, lambda rng: rng.choice(MEMBERS)),
    _plain("LRANGE", lambda rng: rng.choice(("list", _key(rng))), _number, _number),
    _plain("MOVE", _key, lambda rng: rng.choice(("0", "1", "1", "16", "x"))),
    _plain("SELECT", lambda rng: rng.choice(("0", "0", "0", "1"))),
    _plain("KEYS", lambda rng: rng.choice(PATTERNS)),
    _plain("DBSIZE"),
    *([_set] * 6 + [_clock] * 4 + [_expire_at] * 4 + [_getex] * 2 + [_copy] * 2),
    *([_push] * 3 + [_pop] * 3 + [_blocking_pop, _mset, _scan, _swap]),
    *[lambda rng: _flush(rng) if rng.random() < 0.3 else ["FUNCTION", "FLUSH"]],
]  # fmt: skip
