"""Random commands on lists and sets, and SORT, for one connection.

Few keys and few members, so that commands affect each other: list commands on sets, set
commands on lists, both on strings and streams; every option, and now and then a wrong
word.

Two servers may answer some commands differently and both be right.  Such commands are
avoided, or `generic_commands.comparable` sorts the replies:
  * chance: SPOP takes all or nothing, SRANDMEMBER shows all
  * an order: replies of sets are sorted; SORT without sorting returns the whole value
  * time: a command that may wait does so for a millisecond
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

LISTS = ("l1", "l2", "l3")
SETS = ("s1", "s2", "s3")
OTHERS = ("text", "stream", "missing", "")
ELEMENTS = ("a", "b", "c", "1", "2", "10", "-3", "")
WORDS = (*ELEMENTS, "x" * 70, "12345678901234567890", "1.5", "9223372036854775807")
INDEXES = ("0", "1", "2", "-1", "-2", "5", "-9", "9223372036854775807", "-9223372036854775808")
#: Small ones: the newest Redis uses 32 bits of a larger number, 7.0 all 64.
NEAR = INDEXES[:7]
NOT_NUMBERS = ("x", "", "1.5", "+1", "01", "9223372036854775808")
TIMEOUTS = ("0.001", "0.001", "0.001", "1e-3", "x", "-1", "nan")
ENDS = ("LEFT", "RIGHT", "left", "right")
PATTERNS = ("w*", "w*", "w_*", "*", "nosuch*", "w*->f", "#", "w*->", "plain", "l*", "**")

Words = list[str]
Maker = Callable[[Random], Words]


def random_script(seed: int, length: int) -> list[Words]:
    """Some data to begin with, then random commands; every other script in RESP3."""
    rng = Random(seed)
    start = [["HELLO", "3"]] if seed % 2 else []
    start += [["SET", "text", "1"], ["XADD", "stream", "1-1", "f", "v"]]
    start += [["SET", f"w{name}", rng.choice(WORDS)] for name in rng.sample(ELEMENTS, 4)]
    start += [["RPUSH", rng.choice(LISTS), *_elements(rng)] for _ in range(3)]
    start += [["SADD", rng.choice(SETS), *_elements(rng)] for _ in range(3)]
    return start + [random_command(rng) for _ in range(length)]


def random_command(rng: Random) -> Words:
    """One command, mostly a sensible one."""
    words = rng.choice(MAKERS)(rng)
    if rng.random() < 0.03:
        words = _break(rng, words)
    if rng.random() < 0.1:
        words[0] = words[0].lower()
    return words


def _break(rng: Random, words: Words) -> Words:
    """A word too many, one missing, or one that makes no sense."""
    if words[0].startswith("B") or words[0] in ("SPOP", "SRANDMEMBER", "SSCAN", "SORT"):
        return words  # the result might wait, or be random
    at = rng.randrange(1, len(words) + 1)
    match rng.randrange(3):
        case 0:
            return words[:at]
        case 1:
            return [*words[:at], rng.choice(("x", "COUNT", "1", "LEFT")), *words[at:]]
    return [*words[:at], rng.choice(("FOO", "", "-1")), *words[at + 1 :]]


def _key(rng: Random, mostly: tuple[str, ...]) -> str:
    return rng.choice(mostly if rng.random() < 0.92 else (*LISTS, *SETS, *OTHERS))


def _list(rng: Random) -> str:
    return _key(rng, LISTS)


def _set(rng: Random) -> str:
    return _key(rng, SETS)


def _lists(rng: Random) -> Words:
    return [_list(rng) for _ in range(rng.randint(1, 3))]


def _sets(rng: Random) -> Words:
    return [_set(rng) for _ in range(rng.randint(1, 3))]


def _element(rng: Random) -> str:
    return rng.choice(ELEMENTS if rng.random() < 0.8 else WORDS)


def _elements(rng: Random) -> Words:
    return [_element(rng) for _ in range(rng.randint(1, 5))]


def _number(rng: Random) -> str:
    return rng.choice(INDEXES if rng.random() < 0.93 else NOT_NUMBERS)


def _near(rng: Random) -> str:
    return rng.choice(NEAR if rng.random() < 0.93 else NOT_NUMBERS)


def _timeout(rng: Random) -> str:
    return rng.choice(TIMEOUTS)


def _end(rng: Random) -> str:
    return rng.choice(ENDS if rng.random() < 0.97 else ("UP", ""))


def _count(rng: Random) -> Words:
    return ["COUNT", rng.choice(("1", "2", "10", "0", "-1", "x"))] if rng.random() < 0.5 else []


def _numbered(rng: Random, keys: Words) -> Words:
    number = len(keys) if rng.random() < 0.9 else rng.choice((0, -1, 1, 5, "x"))
    return [str(number), *keys]


def _plain(*makers: str | Callable[[Random], str | Words]) -> Maker:
    """A command whose arguments are made one after the other."""

    def make(rng: Random) -> Words:
        words: Words = []
        for maker in makers:
            made = maker if isinstance(maker, str) else maker(rng)
            words += [made] if isinstance(made, str) else made
        return words

    return make


def _either(*names: str) -> Callable[[Random], str]:
    return lambda rng: rng.choice(names)


def _lpos(rng: Random) -> Words:
    words = ["LPOS", _list(rng), _element(rng)]
    for option in ("RANK", "COUNT", "MAXLEN"):
        if rng.random() < 0.4:
            words += [option, _near(rng)]
    return words


def _mpop(rng: Random) -> Words:
    wait = ["BLMPOP", _timeout(rng)] if rng.random() < 0.4 else ["LMPOP"]
    return [*wait, *_numbered(rng, _lists(rng)), _end(rng), *_count(rng)]


def _sintercard(rng: Random) -> Words:
    limit = ["LIMIT", rng.choice(("0", "1", "2", "-1", "x"))] if rng.random() < 0.5 else []
    return ["SINTERCARD", *_numbered(rng, _sets(rng)), *limit]


def _sscan(rng: Random) -> Words:
    """From the start to the end in one call, so that the cursor is 0 on both."""
    words = ["SSCAN", _set(rng), rng.choice(("0", "0", "0", "x")), "COUNT", "1000"]
    return words + rng.choice(([], [], ["MATCH", "?"], ["MATCH", "[a-b]"], ["TYPE", "set"]))


def _by_chance(rng: Random) -> Words:
    name = rng.choice(("SPOP", "SRANDMEMBER"))
    count = rng.choice(("1000", "0", "x", "", "-9223372036854775808"))
    return [name, _set(rng), count if rng.random() < 0.5 else "1000"]


def _sort(rng: Random) -> Words:
    words = [rng.choice(("SORT", "SORT", "SORT_RO")), _key(rng, (*LISTS, *SETS))]
    unsorted = rng.random() < 0.15
    if unsorted:
        words += ["BY", "nosort"]
    elif rng.random() < 0.4:
        words += ["BY", rng.choice(PATTERNS[:6])]
    if rng.random() < 0.5 and "BY" not in words:
        words += ["LIMIT", _number(rng), _number(rng)]
    for pattern in rng.sample(PATTERNS, rng.choice((0, 0, 1, 2))):
        words += ["GET", pattern]
    words += rng.choice(([], [], ["ASC"], ["DESC"]))
    # Equal weights are in no order, unless the elements decide.
    words += ["ALPHA"] if rng.random() < 0.6 and "BY" not in words else []
    return words + (["STORE", _key(rng, LISTS)] if rng.random() < 0.4 else [])


def _other(rng: Random) -> Words:
    key, other = rng.choice((*LISTS, *SETS)), rng.choice((*LISTS, *SETS))
    return rng.choice(
        (
            ["DEL", key],
            ["SET", "w" + _element(rng), _element(rng)],
            ["RENAME", key, other],
            ["COPY", key, other, "REPLACE"],
            ["EXPIREAT", key, "4102444800"],
            ["EXPIRETIME", key],
            ["OBJECT", "ENCODING", key],
            ["OBJECT", "ENCODING", other],
            ["TYPE", key],
            ["EXISTS", key],
        )
    )


_PUSHES = _either("LPUSH", "RPUSH", "LPUSHX", "RPUSHX")
_ALGEBRA = _either("SINTER", "SUNION", "SDIFF")
_STORES = _either("SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE")

MAKERS: list[Maker] = [
    *[_plain(_PUSHES, _list, _elements)] * 6,
    *[_plain("LRANGE", _list, _number, _number)] * 3,
    *[_plain("SADD", _set, _elements)] * 5,
    *[_plain("SMEMBERS", _set)] * 2,
    _plain(_either("LPOP", "RPOP"), _list),
    _plain(_either("LPOP", "RPOP"), _list, _number),
    _plain(_either("BLPOP", "BRPOP"), _lists, _timeout),
    _plain("LLEN", _list),
    _plain("LINDEX", _list, _number),
    _plain("LSET", _list, _near, _element),
    _plain("LINSERT", _list, _either("BEFORE", "AFTER", "after", "x"), _element, _element),
    _plain("LREM", _list, _near, _element),
    _plain("LREM", _list, _either("0", "1", "-1", "-2"), _element),
    _plain("LTRIM", _list, _number, _number),
    *[_lpos] * 2,
    *[_plain("LMOVE", _list, _list, _end, _end)] * 2,
    _plain("RPOPLPUSH", _list, _list),
    _plain("BLMOVE", _list, _list, _end, _end, _timeout),
    _plain("BRPOPLPUSH", _list, _list, _timeout),
    *[_mpop] * 2,
    _plain("SREM", _set, _elements),
    _plain("SMOVE", _set, _set, _element),
    _plain("SMOVE", _set, _set, _element),
    _plain("SISMEMBER", _set, _element),
    _plain("SMISMEMBER", _set, _elements),
    _plain("SCARD", _set),
    *[_plain(_ALGEBRA, _sets)] * 2,
    *[_plain(_STORES, _set, _sets)] * 2,
    *[_sintercard, _sscan, _by_chance],
    *[_sort] * 5,
    *[_other] * 5,
]
