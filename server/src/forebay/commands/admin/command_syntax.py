"""From a line of syntax to the tree of arguments that COMMAND DOCS answers.

A row of the table says what follows its name, in the notation of manuals:

    key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]]
        <* | id> field value [field value ...]

    [a]          may be left out           <a | b>      one of them
    WORD         is typed literally        WORD a       a word and its value
    a [a ...]    once or more              [a [a ...]]  none or more
    WORD a [a ...]         the word once   WORD a [WORD a ...]    with each

Clients such as redis-cli want a tree with a type, a token and flags for every
part.  To avoid writing both by hand, the tree is made from the line; ``render``
turns a tree back into the line, which proves that the tree is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

_PIECE = re.compile(r"\[|\]|<|>|\||[^\s\[\]<>|]+")
_TOKEN = re.compile(r"[A-Z][A-Z0-9_.-]*\Z|[*$=~+>-]\Z")
DOTS = "..."

_INTEGERS = frozenset(
    "bit bytes client-id cluster-bus-port config-epoch count cursor db decrement destination-db end"
    " end-slot entries-added entries-read frequency increment index index1 index2 len limit max-age"
    " maxage maxcount maxlen milliseconds min-idle-time min-match-len ms num-matches numids numkeys"
    " numlocal numreplicas offset port protover rank seconds slot start start-slot stop threshold"
    " timeout ttl version".split()
)
#: Where a range is one of stream IDs, and where a timeout has fractions.
_OF_GROUP = {
    "stream": {"start": "string", "end": "string", "threshold": "string"},
    "list": {"timeout": "double"},
}
_SYMBOLS = {"=": "equal", "~": "approximately", "*": "auto-id", "$": "new-id"}


@dataclass(slots=True)
class Argument:
    """One part of a command, possibly made of others."""

    name: str
    type: str
    token: str = ""
    optional: bool = False
    multiple: bool = False
    #: The token is repeated with the value.
    multiple_token: bool = False
    parts: list[Argument] = field(default_factory=list)

    def flags(self) -> list[str]:
        """As COMMAND DOCS prints them."""
        named = (
            (self.optional, "optional"),
            (self.multiple, "multiple"),
            (self.multiple_token, "multiple_token"),
        )
        return [name for on, name in named if on]

    def each(self) -> Iterator[Argument]:
        """This argument and all of its parts."""
        yield self
        for part in self.parts:
            yield from part.each()


@dataclass(slots=True)
class _Group:
    """The content of a pair of brackets: alternatives, each a sequence of words and groups."""

    optional: bool
    choices: list[list[_Item]]


_Item = str | _Group


@cache
def arguments_of(syntax: str, group: str = "") -> list[Argument]:
    """The arguments of a line without the command's own name; do not change the list."""
    arguments = _as_arguments(_read(_PIECE.findall(syntax), ""))
    for argument in arguments:
        for part in argument.each():
            part.type = _OF_GROUP.get(group, {}).get(part.name, part.type)
    return arguments


def _read(pieces: list[str], closing: str) -> list[list[_Item]]:
    """Take pieces up to the closing bracket: the alternatives between the bars."""
    choices: list[list[_Item]] = [[]]
    while pieces:
        piece = pieces.pop(0)
        if piece == closing:
            break
        if piece == "|":
            choices.append([])
        elif piece in "[<":
            inner = _read(pieces, "]" if piece == "[" else ">")
            choices[-1].append(_Group(piece == "[", inner))
        else:
            choices[-1].append(piece)
    return choices


def _as_arguments(choices: list[list[_Item]]) -> list[Argument]:
    if len(choices) == 1:
        return _sequence(choices[0])
    parts = [_one(_sequence(choice)) for choice in choices]
    return [Argument(parts[0].name, "oneof", parts=parts)]


def _one(parts: list[Argument]) -> Argument:
    """Several arguments as one."""
    if len(parts) == 1:
        return parts[0]
    return Argument(parts[0].name if parts else "", "block", parts=parts)


def _sequence(items: list[_Item]) -> list[Argument]:
    found: list[Argument] = []
    at = 0
    while at < len(items):
        item = items[at]
        at += 1
        if isinstance(item, _Group):
            _add_group(found, item)
        elif not _TOKEN.match(item):
            found.append(Argument(item, _type_of(item)))
        else:
            end = at
            while end < len(items) and _is_operand(items[end]):
                end += 1
            found.append(_with_token(item, _sequence(items[at:end])))
            at = end
    return found


def _is_operand(item: _Item) -> bool:
    """Whether an item may be the value of the word in front of it."""
    if isinstance(item, _Group):
        first = item.choices[0][0]
        return not item.optional or (_repeats(item) and _is_operand(first))
    return not _TOKEN.match(item)


def _repeats(group: _Group) -> bool:
    return len(group.choices) == 1 and group.choices[0][-1:] == [DOTS]


def _with_token(token: str, values: list[Argument]) -> Argument:
    if not values:
        return Argument(_SYMBOLS.get(token, token.lower()), "pure-token", token)
    if len(values) == 1 and not values[0].token and not values[0].optional:
        values[0].token = token
        return values[0]
    return Argument(token.lower(), "block", token, parts=values)


def _add_group(found: list[Argument], group: _Group) -> None:
    if not _repeats(group):
        inner = _one(_as_arguments(group.choices))
        inner.optional = group.optional
        found.append(inner)
        return
    repeated = _sequence(group.choices[0][:-1])
    n = len(repeated)
    if found[-n:] != repeated:
        inner = _one(repeated)
        inner.optional = inner.multiple = True
        found.append(inner)
        return
    whole = _one(found[-n:])
    whole.multiple = True
    whole.multiple_token = bool(whole.token)
    found[-n:] = [whole]


def _type_of(name: str) -> str:
    if name.rstrip("12").endswith("key") or name in ("source", "destination"):
        return "key"
    if name == "pattern":
        return "pattern"
    if name.startswith("unix-time"):
        return "unix-time"
    return "integer" if name in _INTEGERS else "string"


def render(arguments: list[Argument]) -> str:
    """The line of syntax of a tree of arguments."""
    return " ".join(map(_render, arguments))


def _render(argument: Argument) -> str:
    if argument.type == "oneof":
        text = " | ".join(map(_render, argument.parts))
        if argument.token or not argument.optional:
            text = f"<{text}>"
    elif argument.type == "pure-token":
        text = argument.token
    else:
        text = render(argument.parts) if argument.parts else argument.name
    if argument.multiple and not argument.multiple_token:
        text = f"{text} [{text} {DOTS}]"
    if argument.token and argument.type != "pure-token":
        text = f"{argument.token} {text}"
    if argument.multiple_token:
        text = f"{text} [{text} {DOTS}]"
    return f"[{text}]" if argument.optional else text
