"""Checks that the names in heads, comments and pages exist.

Each kind of name is looked up where its thing would be defined:

    wire/request.py       a file, by the end of its path; quoted or not
    `make bench QUICK=1`  a target and a variable of the Makefile
    `mem.wrap`            a name in a module or package of ours, or a member of an object
                          that has the same name everywhere (OBJECTS)
    `--lake`              an option: a text in the code, or a parameter or field of the command line
    `appendonly yes`      a directive of the configuration
    `aof_last_error`      a word with a shape (a-b, a_b, aB, ABCD): a name or a text in the
    `XGROUP CREATE`       code, which holds commands, directives, options and fields

A text in the code is a string constant that is not a docstring and not in a test, so no head can
prove itself.  Foreign words (Redis, Spark, Python) and words of examples are listed in
foreign_mentions.py.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from forebay.commands.table import TABLE
from forebay.server.config.config import ROWS
from forebay.server.config.inert import INERT
from forebay.server.config.refused import REFUSED
from testkit.pages import blocks
from testkit.places import ROOT
from tests.support.foreign_mentions import EXAMPLE_FILES, FOREIGN, FOREIGN_OBJECTS

FOLDERS = (
    "server",
    "spark",
    "workers",
    "console",
    "testkit",
    "tests",
    "bench",
    "reliability",
    "examples",
    "tools",
    "packaging",
    "docs",
)
#: Objects that have the same name everywhere, and the class that defines their members.
OBJECTS = {"ctx": "Context", "session": "Session", "db": "Database", "client": "EngineClient"}
#: Commands and subcommands, as people write them.
COMMANDS = {
    name.decode().upper() for row in TABLE.values() for name in (row.name, *row.subcommands)
}
DIRECTIVES = {*ROWS, *(row.name for row in INERT), *REFUSED}

FILE = re.compile(
    r"(?<![\w/.*}>…-])((?:[\w.-]+/)*[\w.-]*\w\.(?:py|pxd|md|toml|yaml|sh|svg))(?![\w/*]|\.\w)"
)
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
#: A quotation, in one line or two.
QUOTED = re.compile(r"``([^`\n]+\n?[^`\n]*)``|`([^`\n]+\n?[^`\n]*)`")
SETTING = re.compile(r"([a-z][a-z-]+) (?:yes|no|always|everysec)")
DOTTED = re.compile(r"([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)+)(?:\(.*\))?")
MAKE = re.compile(r"make ((?:[\w-]+(?:=\S+)? ?)+)")
MAKE_LINE = re.compile(r"make [a-z][a-z-]*(?: [A-Z]+=\S+)*")
OPTION = re.compile(r"--[a-z][a-z0-9-]*")
#: A word that is no ordinary one: parts joined by - or _, capitals inside, or all capitals.
SHAPED = re.compile(
    r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+|[a-zA-Z][a-zA-Z0-9]*(?:_[a-zA-Z0-9]+)+"
    r"|[a-z]+(?:[A-Z][a-z0-9]*)+|[A-Z][A-Z.]{2,}[A-Z]"
)
SQL = re.compile(r"(?:… ?)?(?:SELECT|CREATE|INSERT|UPDATE|TRUNCATE|REFRESH|PARTITIONED)\b")
FILE_ENDS = re.compile(r"\.(?:sql|conf|aof|rdb|log|json|csv|parquet|avsc|dlq|manifest|txt|so|c)\b")


@dataclass
class Known:
    """The names in the code, by kind; ``parameters`` are those of the command line."""

    modules: dict[str, set[str]] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)


@cache
def files() -> frozenset[str]:
    """Every file of the repository that a name may mean."""
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    found = (path for path in (*ROOT.glob("*"), *ROOT.glob(".*"), *below) if path.is_file())
    return frozenset("/" + str(path.relative_to(ROOT)) for path in found)


@cache
def known() -> Known:
    """All names and texts of our Python."""
    found = Known(words=set(COMMANDS))
    for name in files():
        if name.endswith(".py"):
            _read_module(found, ROOT / name.lstrip("/"))
        elif name.endswith((".pxd", "/Makefile", "/pyproject.toml", "/.importlinter")):
            found.words |= words_of((ROOT / name.lstrip("/")).read_text())
    return found


def _read_module(found: Known, path: Path) -> None:
    tree = ast.parse(path.read_text())
    parts = path.relative_to(ROOT).with_suffix("").parts
    names = set(_defined(tree))
    found.words |= names | set(parts)
    if parts[-1].startswith("test_") or parts[-1] == "foreign_mentions":  # they prove nothing
        return
    for part in parts:
        found.modules.setdefault(part, set()).update(names, parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found.members.setdefault(node.name, set()).update(_defined(node))
        elif isinstance(node, ast.arg):
            found.words.add(node.arg)
            if "cli" in parts:
                found.parameters.add(node.arg)
        elif isinstance(node, ast.AnnAssign) and "cli" in parts:
            found.parameters.add(ast.unparse(node.target))
    for text in _texts(tree):
        found.words |= words_of(text)


def _defined(tree: ast.AST) -> Iterator[str]:
    """Functions, classes, attributes and names below a node, but no local variables."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (
                inner.attr
                for inner in ast.walk(node)
                if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
            )
        else:
            yield from _defined(node)


def _texts(tree: ast.AST) -> Iterator[str]:
    """String constants that are not docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            if isinstance(node.value, bytes):
                yield node.value.decode("latin-1")
            elif isinstance(node.value, str):
                yield node.value


def words_of(text: str) -> set[str]:
    """The words of a text, in all ways in which they may be named."""
    found = set(re.findall(r"[\w.-]+", text)) | set(re.findall(r"\w+", text))
    return found | set(OPTION.findall(text))


def page_text(page: Path) -> str:
    """A page as ``missing`` reads it: commands of make in its blocks are quoted too."""
    lines = [line for block in blocks(page) for line in block.lines]
    made = [found.group() for line in lines if (found := MAKE_LINE.match(line.strip()))]
    return page.read_text() + "".join(f"\n`{command}`" for command in made)


def module_text(source: str) -> str:
    """All docstrings and comments of a module."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = (token.string for token in tokens if token.type == tokenize.COMMENT)
    return "\n\n".join([*(ast.get_docstring(node) or "" for node in nodes), *comments])


def missing(text: str) -> list[str]:
    """The names in a text that do not exist."""
    wrong = [name for name in FILE.findall(text) if not _is_file(name)]
    for double, single in QUOTED.findall(FENCED.sub("", text)):
        wrong += _missing_in(" ".join((double or single).split()))
    return wrong


def _is_file(name: str) -> bool:
    clean = "/" + re.sub(r"^(?:\.\.?/)+", "", name)
    return name in EXAMPLE_FILES or any(path.endswith(clean) for path in files())


def _missing_in(code: str) -> Iterator[str]:
    """The names in one quotation that do not exist."""
    if made := MAKE.fullmatch(code):
        yield from _missing_from_makefile(made.group(1).split())
        return
    if FILE.search(code) or "://" in code or SQL.match(code):
        return
    for option in OPTION.findall(code):
        if not _is_option(option):
            yield option
    if (dotted := DOTTED.fullmatch(code)) and not FILE_ENDS.search(code):
        if not _is_symbol(dotted.group(1), dotted.group(2).split(".")[1:]):
            yield code
        return
    if (setting := SETTING.fullmatch(code)) and setting.group(1) not in DIRECTIVES:
        yield code
    for word in re.findall(r"(?<![\w.:/$%{@#-])[\w.-]*\w(?![\w/:.-])", code):
        if SHAPED.fullmatch(word) and word not in known().words and word not in FOREIGN:
            yield word


def _missing_from_makefile(words: list[str]) -> Iterator[str]:
    makefile = (ROOT / "Makefile").read_text()
    for word in words:
        name, equals, _ = word.partition("=")
        pattern = rf"\$\({name}\)" if equals else rf"^{name}:"
        if not re.search(pattern, makefile, re.MULTILINE):
            yield f"make {word}"


def _is_option(option: str) -> bool:
    plain = option.removeprefix("--")
    ours = option in known().words or plain in DIRECTIVES
    return ours or plain.replace("-", "_") in known().parameters or option in FOREIGN


def _is_symbol(first: str, rest: list[str]) -> bool:
    """Whether a dotted name leads somewhere; True if its first part is not ours."""
    if first in OBJECTS:
        return rest[0] in known().members[OBJECTS[first]]
    if first in FOREIGN_OBJECTS or first not in known().modules | known().members:
        return True
    there = known().modules.get(first, set()) | known().members.get(first, set())
    return all(name in there for name in rest)
