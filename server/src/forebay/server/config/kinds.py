"""The kinds of value a directive may have: how each is read, checked and printed.

A kind turns the words after a directive's name into a value and back into the
text that CONFIG GET answers:

    "64mb"  -- Memory -->  67108864  -- show -->  "67108864"

A wrong word raises ValueError with the sentence Redis uses, because CONFIG SET
passes it on to the client.  ``current`` is the value in force: only kinds made
of parts (output limits) look at it, to keep the parts that were not named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Generic, TypeVar

from forebay import mem
from forebay.commands.api import notify_flags
from forebay.commands.api.settings import OutputLimit

T = TypeVar("T")

LONG_MAX, INT_MAX, UINT_MAX = mem.I64_MAX, mem.I32_MAX, mem.U32_MAX
NOT_AN_INTEGER = "argument couldn't be parsed into an integer"
BAD_OUTPUT_LIMIT = "Error in hard, soft or soft_seconds setting in buffer limit configuration."

_UNITS = {
    "": 1,
    "b": 1,
    "k": 1000,
    "kb": 1 << 10,
    "m": 1000**2,
    "mb": 1 << 20,
    "g": 1000**3,
    "gb": 1 << 30,
}
_MEMORY = re.compile(r"(\d+)([a-zA-Z]*)\Z")
_INTEGER = re.compile(r"(0|-?[1-9]\d*)\Z")


def memory_bytes(word: str) -> int:
    """A size such as 512, 64mb or 1gb in bytes; -1 if it is not one."""
    found = _MEMORY.match(word)
    if found is None or found[2].lower() not in _UNITS:
        return -1
    return int(found[1]) * _UNITS[found[2].lower()]


def integer(word: str) -> int:
    """A whole number written the one canonical way."""
    if not _INTEGER.match(word):
        raise ValueError(NOT_AN_INTEGER)
    return int(word)


class Kind(Generic[T]):
    """Turns words into a value of type T and back."""

    #: Takes several words; CONFIG SET then splits its one argument at spaces.
    many = False
    #: Words of later lines of a file are added to those of earlier ones instead of replacing them.
    adds_up = False
    #: For the documentation.
    name = ""

    def parse(self, words: Sequence[str], current: T | None) -> T:
        """The value of the words; raises ValueError with a sentence for the user."""
        if len(words) != 1:
            raise ValueError("wrong number of arguments")
        return self.one(words[0])

    def one(self, word: str) -> T:
        """The value of the one word."""
        raise NotImplementedError

    def show(self, value: T) -> str:
        """The value as CONFIG GET prints it."""
        return str(value)

    def explain(self, value: T) -> str:
        """The value as the documentation prints it."""
        return self.show(value)

    def lines(self, value: T) -> list[str]:
        """The text after the name in a file, one item per line."""
        return [quoted(self.show(value))]


class Text(Kind[str]):
    """Any one word."""

    name = "text"

    def one(self, word: str) -> str:
        return word


class Secret(Kind[bytes]):
    """Text that is kept as bytes, such as a password."""

    name = "secret"

    def one(self, word: str) -> bytes:
        return word.encode("utf-8", "surrogateescape")

    def show(self, value: bytes) -> str:
        return value.decode("utf-8", "surrogateescape")


class Folder(Text):
    """A directory, shown as an absolute path."""

    name = "path"

    def show(self, value: str) -> str:
        return str(Path(value).absolute())

    def explain(self, value: str) -> str:
        return value


class FileName(Kind[str]):
    """The name of a file inside a directory that another directive names."""

    name = "file name"

    def __init__(self, what: str) -> None:
        self.what = what

    def one(self, word: str) -> str:
        if not word or "/" in word:
            raise ValueError(f"{self.what} can't be a path, just a filename")
        return word


class PreloadFile(Kind[str]):
    """A file to load at the start in place of our own: its kind and path, or nothing."""

    name = "rdb:path or aof:path"

    def one(self, word: str) -> str:
        kind, _, path = word.partition(":")
        if word and (kind not in ("rdb", "aof") or not path):
            raise ValueError("argument must be in the format rdb:<path> or aof:<manifest>")
        if word and "." not in path.rpartition("/")[2]:
            raise ValueError("preload-file must end with an extension (.rdb or .manifest)")
        return word


class Bool(Kind[bool]):
    """yes or no."""

    name = "yes | no"

    def one(self, word: str) -> bool:
        if word.lower() not in ("yes", "no"):
            raise ValueError("argument must be 'yes' or 'no'")
        return word.lower() == "yes"

    def show(self, value: bool) -> str:
        return "yes" if value else "no"


class Int(Kind[int]):
    """A whole number within bounds."""

    name = "number"

    def __init__(self, low: int = 0, high: int = INT_MAX) -> None:
        self.low = low
        self.high = high

    def one(self, word: str) -> int:
        return self.within(integer(word))

    def within(self, value: int) -> int:
        if not self.low <= value <= self.high:
            raise ValueError(f"argument must be between {self.low} and {self.high} inclusive")
        return value


class Octal(Int):
    """File permissions."""

    name = "octal"

    def one(self, word: str) -> int:
        try:
            return self.within(int(word, 8))
        except ValueError:
            raise ValueError("argument couldn't be parsed as an octal number") from None

    def show(self, value: int) -> str:
        return f"{value:o}"


class Memory(Int):
    """A size in bytes, with an optional unit; ``percent`` allows a share too (negative)."""

    name = "bytes"

    def __init__(self, low: int = 0, high: int = LONG_MAX, percent: bool = False) -> None:
        super().__init__(low, high)
        self.percent = percent

    def one(self, word: str) -> int:
        if self.percent and word.endswith("%") and word[:-1].isdigit() and int(word[:-1]) <= 100:
            return -int(word[:-1])
        value = memory_bytes(word)
        if value < 0:
            wanted = "memory or percent" if self.percent else "memory"
            raise ValueError(f"argument must be a {wanted} value")
        return self.within(value)

    def show(self, value: int) -> str:
        return f"{-value}%" if value < 0 else str(value)


class Choice(Kind[str]):
    """One of a few words."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.name = " | ".join(names)

    def one(self, word: str) -> str:
        if word.lower() not in self.names:
            listed = ", ".join(self.names)
            raise ValueError(f"argument(s) must be one of the following: {listed}")
        return word.lower()


class Words(Kind[tuple[str, ...]]):
    """Several words, at most ``limit``; one empty word means none."""

    many = True
    name = "words"

    def __init__(self, limit: int = 16) -> None:
        self.limit = limit

    def parse(self, words: Sequence[str], current: tuple[str, ...] | None) -> tuple[str, ...]:
        if len(words) > self.limit:
            raise ValueError("wrong number of arguments")
        return tuple(word for word in words if word)

    def show(self, value: Sequence[str]) -> str:
        return " ".join(value)

    def lines(self, value: Sequence[str]) -> list[str]:
        return [" ".join(quoted(word) for word in value) or '""']


class Percentiles(Kind[tuple[float, ...]]):
    """Numbers from 0 to 100."""

    many = True
    name = "numbers"

    def parse(self, words: Sequence[str], current: tuple[float, ...] | None) -> tuple[float, ...]:
        try:
            values = tuple(float(word) for word in words if word)
        except ValueError:
            raise ValueError("Invalid latency-tracking-info-percentiles parameters") from None
        if not all(0.0 <= value <= 100.0 for value in values):
            text = "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
            raise ValueError(text)
        return values

    def show(self, value: Sequence[float]) -> str:
        return " ".join(f"{number:g}" for number in value)

    def lines(self, value: Sequence[float]) -> list[str]:
        return [self.show(value) or '""']


class Primary(Words):
    """The host and port of a primary; ``no one`` is none."""

    name = "host port"

    def __init__(self) -> None:
        super().__init__(2)

    def parse(self, words: Sequence[str], current: tuple[str, ...] | None) -> tuple[str, ...]:
        if [word.lower() for word in words] in (["no", "one"], [""]):
            return ()
        if len(words) != 2 or not words[1].isdigit() or not 0 < int(words[1]) < 1 << 16:
            raise ValueError("wants the host and the port of a primary, or 'no one'")
        return tuple(words)

    def lines(self, value: Sequence[str]) -> list[str]:
        return [" ".join(quoted(word) for word in value)] if value else []


class Flags(Words):
    """Any of a few words; ``none`` is none of them."""

    def __init__(self, *names: str, none: str = "default") -> None:
        super().__init__(len(names))
        self.names = names
        self.none = none
        self.name = " ".join((f"{none} |", *names))

    def parse(self, words: Sequence[str], current: tuple[str, ...] | None) -> tuple[str, ...]:
        chosen = [word.lower() for word in words if word]
        if chosen == [self.none]:
            return ()
        if not chosen or any(word not in self.names for word in chosen):
            listed = ", ".join((self.none, *self.names))
            raise ValueError(f"argument(s) must be one of the following: {listed}")
        if "save" in chosen and "nosave" in chosen:
            raise ValueError("SAVE and NOSAVE can't be used together")
        return tuple(chosen)

    def show(self, value: Sequence[str]) -> str:
        return " ".join(value) or self.none

    def lines(self, value: Sequence[str]) -> list[str]:
        return [self.show(value)]


class SavePoints(Kind[tuple[tuple[int, int], ...]]):
    """Pairs of seconds and changes; ``save ""`` means never."""

    many = True
    adds_up = True
    name = "seconds changes ..."

    def parse(
        self, words: Sequence[str], current: tuple[tuple[int, int], ...] | None
    ) -> tuple[tuple[int, int], ...]:
        words = [word for word in words if word]
        good = len(words) % 2 == 0 and all(_INTEGER.match(w) and int(w) >= 0 for w in words)
        if not good or any(int(seconds) < 1 for seconds in words[::2]):
            raise ValueError("Invalid save parameters")
        numbers = [int(word) for word in words]
        return tuple(zip(numbers[::2], numbers[1::2], strict=True))

    def show(self, value: Sequence[tuple[int, int]]) -> str:
        return " ".join(f"{seconds} {changes}" for seconds, changes in value)

    def lines(self, value: Sequence[tuple[int, int]]) -> list[str]:
        return [f"{seconds} {changes}" for seconds, changes in value] or ['""']


class Events(Kind[int]):
    """Classes of keyspace events, one letter each."""

    name = "letters"

    def one(self, word: str) -> int:
        flags = notify_flags.parse(word)
        if flags is None:
            raise ValueError("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
        return flags

    def show(self, value: int) -> str:
        return notify_flags.text(value)


class OutputLimits(Kind[dict[str, OutputLimit]]):
    """class hard soft seconds, for one or more of the classes normal, replica, pubsub."""

    many = True
    name = "class hard soft seconds ..."

    #: CONFIG GET prints the old name of the class, because exporters look for it.
    SHOWN = (("normal", "normal"), ("replica", "slave"), ("pubsub", "pubsub"))

    def parse(
        self, words: Sequence[str], current: dict[str, OutputLimit] | None
    ) -> dict[str, OutputLimit]:
        if not words or len(words) % 4:
            raise ValueError("Wrong number of arguments in buffer limit configuration.")
        assert current is not None, "limits that are not named stay as they are"
        limits = dict(current)
        for at in range(0, len(words), 4):
            name = {"slave": "replica"}.get(words[at].lower(), words[at].lower())
            if name not in limits:
                raise ValueError("Invalid client class specified in buffer limit configuration.")
            hard, soft = memory_bytes(words[at + 1]), memory_bytes(words[at + 2])
            if hard < 0 or soft < 0 or not words[at + 3].isdigit():
                raise ValueError(BAD_OUTPUT_LIMIT)
            limits[name] = OutputLimit(hard, soft, int(words[at + 3]))
        return limits

    def show(self, value: dict[str, OutputLimit]) -> str:
        return " ".join(self._line(shown, value[name]) for name, shown in self.SHOWN)

    def lines(self, value: dict[str, OutputLimit]) -> list[str]:
        return [self._line(name, limit) for name, limit in value.items()]

    @staticmethod
    def _line(name: str, limit: OutputLimit) -> str:
        return f"{name} {limit.hard_bytes} {limit.soft_bytes} {limit.soft_seconds}"


def quoted(word: str) -> str:
    """The word as a file needs it: quoted if it is empty or holds anything but plain text."""
    if word and re.fullmatch(r"[!$-&(-~]+", word) and not word.startswith("#"):
        return word
    out = []
    for byte in word.encode("utf-8", "surrogateescape"):
        char = chr(byte)
        if char in '\\"':
            out.append("\\" + char)
        elif 32 <= byte < 127:
            out.append(char)
        else:
            out.append(f"\\x{byte:02x}")
    return '"' + "".join(out) + '"'
