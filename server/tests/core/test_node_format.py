"""The worked example of docs/formats/node.md shows the bytes that a stream really writes."""

from __future__ import annotations

import re

from forebay.core.stream import Stream
from testkit.places import ROOT

PAGE = ROOT / "docs" / "formats" / "node.md"
BYTES = re.compile(r"(?<![0-9a-f])[0-9a-f]{2}(?![0-9a-f])")


def example() -> tuple[list[list[str]], bytes]:
    """The commands of the page's example, and the bytes it shows for them."""
    _, commands, _, dump, *_ = PAGE.read_text().split("## Example")[1].split("```")
    stored = (line[:53] for line in dump.splitlines())
    numbers = [int(pair, 16) for line in stored for pair in BYTES.findall(line)]
    return [line.split() for line in commands.split("\n") if line], bytes(numbers)


def test_the_example_of_the_format_page_is_true() -> None:
    commands, expected = example()
    stream = Stream()
    for name, _, entry_id, *fields in commands:
        ms, seq = map(int, entry_id.split("-"))
        if name == "XADD":
            stream.add(ms, seq, [field.encode() for field in fields])
        else:
            assert stream.delete(ms, seq)
    assert stream.tail is not None
    assert stream.tail.blob() == expected
