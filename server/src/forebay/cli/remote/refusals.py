"""A refusal of a server, as one sentence that says what to do next.

A refusal has a code and the server's own words.  For codes that a user can act on we write our own
sentence, with names that the server knows: the nearest stream, the existing groups.  The queries
for these names run only here, after an error.  RefusedError keeps the code: programs such as the
console must not guess it from the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forebay.cli.output import text_of
from forebay.cli.remote.link import Link, Refusal, Word
from forebay.cli.remote.names import scanned
from forebay.errors import ForebayError
from forebay.server.config.nearest import did_you_mean, nearest

CONTAINERS = ("XGROUP", "XINFO")
NO_SUCH_KEY = ("ERR no such key", "ERR The XGROUP subcommand requires the key to exist")
MOST_NAMED = 20
#: A code of ours: Redis says only ERR if a stream does not exist.
NO_STREAM = "NOSTREAM"


class RefusedError(ForebayError):
    """A server refused a command; the text says why, and what to do; ``code`` is for programs."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


def refused(link: Link, words: Sequence[Word], refusal: Refusal, more: str = "") -> RefusedError:
    """The error for a refused command; ``more`` is added to its sentence."""
    code = NO_STREAM if refusal.startswith(NO_SUCH_KEY) else refusal.code
    return RefusedError(sentence(link, words, refusal) + more, code)


def sentence(link: Link, words: Sequence[Word], refusal: Refusal) -> str:
    """The whole sentence about a refused command."""
    if refusal.code in BY_CODE:
        return BY_CODE[refusal.code](link, words, refusal)
    if refusal.startswith(NO_SUCH_KEY):
        is_making = tuple(words[:2]) == ("XGROUP", "CREATE")
        more = "; --make-stream makes it, empty" if is_making else ""
        return no_stream(link, key_of(words)) + more
    if refusal.startswith("ERR unknown command"):
        return (
            f"{link.address} does not know {words[0]!s}; this needs a Forebay, or a Redis or "
            "Valkey from 6.2"
        )
    return f"{link.address} refuses {words[0]!s}: {refusal}"


def word_at(words: Sequence[Word], at: int) -> bytes:
    """A word of a command; empty if the command is shorter."""
    word = words[at] if len(words) > at else b""
    return word if isinstance(word, bytes) else str(word).encode()


def key_of(words: Sequence[Word]) -> bytes:
    """The stream that a command is about."""
    return word_at(words, 2 if words[0] in CONTAINERS else 1)


def group_of(words: Sequence[Word]) -> bytes:
    """The group that a command is about."""
    return word_at(words, 3 if words[0] in CONTAINERS else 2)


def no_stream(link: Link, key: bytes) -> str:
    """The stream does not exist; perhaps the user means another one."""
    found = scanned(link)
    names = [] if isinstance(found, Refusal) else [n.decode("utf-8", "replace") for n in found]
    told = f"there is no stream {text_of(key)} at {link.address}"
    near = nearest(key.decode("utf-8", "replace"), names)
    if near and may_see(link, near):
        return told + did_you_mean(near)
    if not names:
        return f"{told}, nor any other; make it with: forebay add {text_of(key)} NAME=VALUE"
    return f"{told}; list its streams with: forebay info '*'"


def may_see(link: Link, name: str) -> bool:
    """Whether this user may read a stream; SCAN also names others."""
    reply = link.ask("XLEN", name)
    return not (isinstance(reply, Refusal) and reply.code == "NOPERM")


def no_group(link: Link, key: bytes, group: bytes) -> str:
    """The group does not exist; name those that do."""
    reply = link.ask("XINFO", "GROUPS", key)
    if isinstance(reply, Refusal):
        return no_stream(link, key)
    names = [text_of(each[1]) for each in reply]
    told = f"{text_of(key)} has no group {text_of(group)}"
    if not names:
        return f"{told}, nor any other; make it with: forebay groups create {text_of(key)} " + (
            text_of(group)
        )
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    listed = f"; its groups are: {', '.join(names[:MOST_NAMED])}{more}"
    return told + listed + did_you_mean(nearest(text_of(group), names))


def _no_group(link: Link, words: Sequence[Word], _: Refusal) -> str:
    return no_group(link, key_of(words), group_of(words))


def _wrong_type(link: Link, words: Sequence[Word], _: Refusal) -> str:
    key = key_of(words)
    kind = link.ask("TYPE", key).decode()
    return f"{text_of(key)} is a {kind} and no stream; list streams with: forebay info '*'"


def _no_password(link: Link, _: Sequence[Word], __: Refusal) -> str:
    return (
        f"{link.address} wants a password; give it in FOREBAY_URL or --url, as "
        "redis://:PASSWORD@HOST:PORT"
    )


def _not_permitted(link: Link, words: Sequence[Word], refusal: Refusal) -> str:
    return (
        f"{link.address} does not permit {words[0]!s} ({refusal}); use another user, as "
        "redis://USER:PASSWORD@HOST:PORT"
    )


def _denied(link: Link, _: Sequence[Word], __: Refusal) -> str:
    return (
        f"{link.address} is in protected mode and serves only its own machine; run this there, "
        "or set a password (requirepass)"
    )


def _replica(link: Link, _: Sequence[Word], __: Refusal) -> str:
    role = link.ask("ROLE")
    where = f"redis://{role[1].decode()}:{role[2]}" if isinstance(role, list) else "its primary"
    return f"{link.address} is a replica and takes no changes; name its primary: --url {where}"


def _busy_group(_: Link, words: Sequence[Word], __: Refusal) -> str:
    key, group = text_of(key_of(words)), text_of(group_of(words))
    return (
        f"{key} has a group {group} already; move it with: forebay groups reset {key} {group} "
        "--to-id ID"
    )


def _out_of_memory(link: Link, _: Sequence[Word], __: Refusal) -> str:
    return (
        f"{link.address} has used up its maxmemory; trim a stream with: forebay trim STREAM "
        "--maxlen N, or raise maxmemory"
    )


def _loading(link: Link, _: Sequence[Word], __: Refusal) -> str:
    return f"{link.address} is still loading its data; try again in a moment"


BY_CODE: dict[str, Callable[[Link, Sequence[Word], Refusal], str]] = {
    "NOGROUP": _no_group,
    "WRONGTYPE": _wrong_type,
    "NOAUTH": _no_password,
    "NOPERM": _not_permitted,
    "DENIED": _denied,
    "READONLY": _replica,
    "BUSYGROUP": _busy_group,
    "OOM": _out_of_memory,
    "LOADING": _loading,
}
