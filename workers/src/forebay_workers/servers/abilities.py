"""What a server can do beyond Redis 6.2, asked once, in one round trip.

    XREADGROUP ... CLAIM     Redis 8.4      else XPENDING and XCLAIM, every third of a lease
    XNACK                    Redis 8.8      else XCLAIM to a consumer that does not exist
    XADD ... IDMP            Redis 8.6      else WATCH, and a key that expires
    XREADGROUP ... MAXSIZE   Redis 8.10     else a COUNT by the mean size of the last messages

Each question is a real call on a missing key, and changes nothing.  If the user may not call a
command, the worker uses the equivalent, as for a server that does not know it.
"""

from __future__ import annotations

from dataclasses import dataclass

from redis.exceptions import ResponseError

from forebay_workers.servers.connect import Asks
from forebay_workers.servers.link import Command

_NOWHERE = "forebay:nowhere"
_READ: Command = ("XREADGROUP", "GROUP", "g", "c", "COUNT", 1)
#: A short command first: a server takes nothing longer from a client without its password.
_GREETING: Command = ("PING",)
_QUESTIONS: list[Command] = [
    (*_READ, "CLAIM", 1000, "STREAMS", _NOWHERE, ">"),
    (*_READ, "MAXSIZE", 1000, "STREAMS", _NOWHERE, ">"),
    ("XNACK", _NOWHERE, "g", "SILENT", "IDS", 1, "1-0"),
    ("XADD", _NOWHERE, "NOMKSTREAM", "IDMP", "p", "i", "*", "f", "v"),
]


@dataclass(frozen=True)
class Abilities:
    """What the server can do."""

    claim: bool = False
    maxsize: bool = False
    xnack: bool = False
    idmp: bool = False


def _is_yes(reply: object) -> bool:
    """Whether the server knows the command: then it finds no stream or no group."""
    return not isinstance(reply, ResponseError) or str(reply).startswith("NOGROUP")


async def ask_abilities(link: Asks) -> Abilities:
    """Ask; a passing error is raised."""
    _, *replies = await link.ask_all([_GREETING, *_QUESTIONS])
    return Abilities(*map(_is_yes, replies))
