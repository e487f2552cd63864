"""Requests with wrong bytes: flipped, cut, doubled, moved, with heads that announce too much.

They are made from good requests and from the corpus.  A file of the corpus has one request on
a line, with Python's escapes (``\\r\\n``), so that it can be read and reviewed; a line that
begins with ``#`` describes the requests after it.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

CORPUS = Path(__file__).with_name("corpus")
HEADS = (
    *(b"*1000000\r\n", b"*2147483647\r\n", b"*2147483648\r\n", b"*-1\r\n", b"*0\r\n", b"*1\r\n"),
    *(
        b"$536870912\r\n",
        b"$536870913\r\n",
        b"$18446744073709551615\r\n",
        b"$-1\r\n",
        b"$0\r\n\r\n",
    ),
    *(b"\r\n", b"\r", b"\n", b"\0", b'"', b"'", b"\\x", b"  "),
)


def corpus() -> list[bytes]:
    """Every request that is kept."""
    lines = [
        line for file in sorted(CORPUS.glob("*.txt")) for line in file.read_text().splitlines()
    ]
    kept = [line for line in lines if line and not line.startswith("#")]
    return [line.encode("latin-1").decode("unicode_escape").encode("latin-1") for line in kept]


def mutated(dice: Random, request: bytes, others: list[bytes]) -> bytes:
    """The request with a few mistakes; some are pieces of ``others``."""
    data = bytearray(request)
    for _ in range(dice.randint(1, 5)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << dice.randrange(8)
            case 1 if at < len(data):
                data[at] = dice.randrange(256)
            case 2:
                del data[at : at + dice.randint(1, 16)]
            case 3:
                data[at:at] = dice.randbytes(dice.randint(1, 16))
            case 4:
                data[at:at] = dice.choice(HEADS)
            case 5:
                data[at:at] = data[: dice.randint(1, 64)]
            case 6:
                piece = dice.choice(others)
                data[at:at] = piece[dice.randrange(len(piece) + 1) :]
            case _:
                data = data[at:] + data[:at]
    return bytes(data)
