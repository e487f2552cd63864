"""docs/workers-reference.md: the public names of forebay_workers, from signatures and docstrings.

    def on(self, stream: str, *, start: str = "beginning") -> ...:
        \"\"\"Let a function handle the messages of a stream.

        ``start``: where a new group begins.
        \"\"\"

becomes a heading, the line of a call, the sentence, and a row of a table: name, type, default,
meaning.  A required parameter may be without a row.  A docstring that describes one option must
describe all.  Commands and their options are documented in the same way.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import cyclopts

import forebay_workers
from forebay_workers.cli import COMMANDS
from forebay_workers.settle.letters import Letter
from forebay_workers.settle.once import Once
from forebay_workers.settle.redrive import DeadLetters

HEAD = """\
# Reference of the workers

Every public name of `forebay_workers`, and the commands that it adds to `forebay`.
[The guide](workers.md) says how they work together.
"""

#: Names that a user gets from an App and does not import.
GIVEN = (Once, DeadLetters, Letter)
#: Classes that a user makes; the others are made for the user.
MADE = ("App", "Retry", "Patience", "Failed", "TestApp", "Partitioned")
#: The name of an object of a class in a call, if not its class in lower case.
CALLED = {"DeadLetters": "dead_letters", "TestApp": "t"}
#: Names that cyclopts makes and users do not write.
UNSAID = ("--no-", "--empty-")
NAMED = re.compile(r"^``(\w+)``: (.*)$")

Rows = dict[str, str]


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    public = [getattr(forebay_workers, name) for name in forebay_workers.__all__]
    classes = [kind for kind in public if not issubclass(kind, BaseException)]
    for kind in (*classes, *GIVEN):
        parts += class_section(kind)
    parts += ["## Errors\n", "| name | |", "| --- | --- |"]
    for kind in public:
        if issubclass(kind, BaseException):
            parts.append(f"| `{kind.__name__}` | {cell(told(kind)[0])} |")
    parts.append("")
    for name, (place, summary) in COMMANDS.items():
        module, _, variable = place.partition(":")
        parts += command_section(name, summary, getattr(import_module(module), variable))
    return "\n".join(parts)


def told(documented: Any) -> tuple[str, Rows]:
    """The prose of a docstring, and its text about each name."""
    prose: list[str] = []
    rows: Rows = {}
    last = ""
    for line in (inspect.getdoc(documented) or "").splitlines():
        if found := NAMED.match(line):
            last = found[1]
            rows[last] = found[2]
        elif last and line:
            rows[last] += f" {line}"
        else:
            last = ""
            prose.append(line)
    return plain("\n".join(prose)).strip(), {name: plain(text) for name, text in rows.items()}


def plain(text: str) -> str:
    """Convert the markup of docstrings to that of a page."""
    return text.replace("``", "`")


def cell(text: str) -> str:
    """Text inside a table, where a bar would end the cell and a line the row."""
    return " ".join(text.replace("|", "\\|").split())


# Classes


def class_section(kind: type) -> Iterator[str]:
    """A class and its public members."""
    prose, rows = told(kind)
    yield f"## {kind.__name__}\n"
    yield f"{prose}\n"
    if kind.__name__ in MADE:
        rows |= told(vars(kind)["__init__"])[1]
        yield from call_section(f"{kind.__name__}", kind, rows)
    elif rows:
        yield "| attribute | |\n| --- | --- |"
        yield from (f"| `{name}` | {cell(text)} |" for name, text in rows.items())
        yield ""
    for name, member in vars(kind).items():
        if not name.startswith("_") and name not in rows and is_documented(member):
            yield from member_section(kind.__name__, name, member)


def is_documented(member: Any) -> bool:
    """Whether a member of a class is a method or a property."""
    return isinstance(member, property) or inspect.isfunction(member)


def member_section(owner: str, name: str, member: Any) -> Iterator[str]:
    """A method or a property."""
    yield f"### {owner}.{name}\n"
    prose, rows = told(member)
    if isinstance(member, property):
        yield f"{prose}\n"
        return
    yield f"{prose}\n"
    yield from call_section(f"{CALLED.get(owner, owner.lower())}.{name}", member, rows)


def call_section(called: str, function: Callable[..., Any], rows: Rows) -> Iterator[str]:
    """The call, and the meaning of each parameter."""
    signature = inspect.signature(function)
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    waits = "await " if inspect.iscoroutinefunction(function) else ""
    gives = (
        ""
        if signature.return_annotation in ("None", inspect.Signature.empty, None)
        else (f" gives `{signature.return_annotation}`")
    )
    yield f"`{waits}{called}({', '.join(shown(parameters))})`{gives}\n"
    if rows:
        yield "| parameter | type | default | |\n| --- | --- | --- | --- |"
        for one in parameters:
            if one.name not in rows:
                continue
            default = "" if one.default is one.empty else f"`{default_of(one)}`"
            kind = "" if one.annotation is one.empty else f"`{cell(str(one.annotation))}`"
            yield f"| `{one.name}` | {kind} | {default} | {cell(rows[one.name])} |"
        yield ""
    options = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    silent = [name for name in options if name not in rows]
    if rows and silent:
        raise LookupError(f"the docstring of {called} says nothing of {', '.join(silent)}")


def shown(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """The parameters of a call: the required ones, and the names of the others."""
    has_star = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not has_star:
            has_star = True
            yield "*"
        stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
        star = stars.get(one.kind.name, "")
        yield f"{star}{one.name}" + ("" if one.default is one.empty else f"={default_of(one)}")


def default_of(parameter: inspect.Parameter) -> str:
    """A default as it is written."""
    if callable(parameter.default) or "factory" in repr(parameter.default):
        return "..."
    return repr(parameter.default).removeprefix("datetime.")


# Commands


def command_section(name: str, summary: str, app: cyclopts.App) -> Iterator[str]:
    """One command, or each of its words."""
    yield f"## forebay {name}\n"
    yield f"{summary[0].upper()}{summary[1:]}.\n"
    words = [word for word in app if not word.startswith("-")]
    if not words:
        yield from option_rows(app)
    for word in words:
        yield f"### forebay {name} {word}\n"
        yield f"{app[word].help.strip()}\n"
        yield from option_rows(app[word])


def option_rows(app: cyclopts.App) -> Iterator[str]:
    """The arguments and options of a command."""
    yield "| | default | |\n| --- | --- | --- |"
    for one in app.assemble_argument_collection():
        names = [name for name in one.names if not name.startswith(UNSAID)]
        metavar = f" {one.parameter.metavar}" if one.parameter.metavar else ""
        default = one.field_info.default
        quiet = default in (None, False, (), inspect.Parameter.empty)
        value = "" if quiet else f"`{default}`"
        shown_names = ", ".join(f"`{name}{metavar}`" for name in names)
        yield f"| {shown_names} | {value} | {cell(str(one.parameter.help or ''))} |"
    yield ""
