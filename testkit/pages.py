"""Pages of documentation as a test reads them: their blocks of code, and `inline` code.

```sh            a block that a reader may copy: it must work
```python        the same, as a program
```              shown only: answers, pictures
    four blanks  either
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = "```"
#: The ends of a command in a line of the shell.
SHELL_ENDS = {"&", "|", ">", ">>", "<", "&&", ";"}


@dataclass
class Block:
    """A block of code, and the heading above it."""

    heading: str
    language: str
    lines: list[str]

    @property
    def text(self) -> str:
        """The lines as on the page."""
        return "\n".join(self.lines) + "\n"


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in their order; the language of an indented one is empty."""
    found: list[Block] = []
    heading = ""
    is_open, was_indented = False, False
    for line in page.read_text().splitlines():
        is_indented = not is_open and line.startswith("    ")
        if line.lstrip().startswith(FENCE):
            is_open = not is_open
            if is_open:
                found.append(Block(heading, line.strip().removeprefix(FENCE), []))
        elif is_open:
            found[-1].lines.append(line)
        elif is_indented:
            if not was_indented:
                found.append(Block(heading, "", []))
            found[-1].lines.append(line.strip())
        elif line.startswith("#"):
            heading = line.lstrip("# ")
        was_indented = is_indented
    return found


def shell_commands(page: Path, program: str) -> list[list[str]]:
    """The words of each line of code that starts the program, without pipes and comments."""
    return [words for block in blocks(page) for words in commands(block, program)]


def commands(block: Block, *programs: str) -> Iterator[list[str]]:
    """The same for one block and some programs, in their order."""
    lines = iter(block.lines)
    for line in lines:
        command = re.sub(r"^(\$ )?(\.venv/bin/)?", "", line.strip())
        if command.partition(" ")[0] not in programs or " " not in command:
            continue
        while (words := _split(command)) is None:
            command = command.removesuffix("\\") + "\n" + next(lines)
        yield words


def _split(command: str) -> list[str] | None:
    """The words of one command; None if it continues on the next line."""
    if command.endswith("\\"):
        return None
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        return None
    ends = [at for at, word in enumerate(words) if word in SHELL_ENDS]
    return words[: ends[0]] if ends else words


def inline_commands(page: Path, program: str) -> list[list[str]]:
    """The words of each `program ...` inside a sentence."""
    text = " ".join(page.read_text().split())
    return [span.split() for span in re.findall(rf"`({program} [^`]+)`", text)]
