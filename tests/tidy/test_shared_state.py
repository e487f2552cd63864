"""State belongs to an engine: a module's object that changes is listed in ARCHITECTURE.md.

The test does not run the code.  An object at the top of a module (or a class) is state if

    it is made to be filled       [] {} set() bytearray(8) array("Q") count() deque()
    a method can change it        Scratch(), where a method of Scratch stores into self
    a function changes it         NAME[i] = x   NAME.x = y   NAME.append(x)   global NAME
    a function remembers          @cache, @lru_cache

Everything else is a constant: a table that is filled where it is defined.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.places import ROOT

SOURCES = ROOT / "server" / "src" / "forebay"
PAGE = ROOT / "ARCHITECTURE.md"
#: Calls whose result is meant to be changed.
MAKERS = {"bytearray", "array", "count", "deque", "defaultdict", "Counter", "list", "dict", "set"}
#: Methods that change a list, dict, set, array or deque.
CHANGERS = {
    *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "appendleft"),
    *("popleft", "add", "discard", "update", "setdefault", "popitem", "frombytes", "fromlist"),
}
CACHES = {"cache", "lru_cache", "cached_property"}
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def last_name(node: ast.expr) -> str:
    """``cache`` of ``functools.cache`` and of ``cache(...)``."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def stored(node: ast.AST) -> Iterator[ast.expr]:
    """The targets of a statement: assignments, and objects of changing methods."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from target.elts if isinstance(target, ast.Tuple) else [target]
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        yield node.target
    elif isinstance(node, ast.Delete):
        yield from node.targets
    elif isinstance(node, ast.Call) and last_name(node) in CHANGERS:
        yield node.func


def owner(target: ast.expr) -> str:
    """The name whose object is changed: X of X[i], X.y, X[i].y; nothing for X itself."""
    if not isinstance(target, (ast.Attribute, ast.Subscript)):
        return ""
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def changed_names(tree: ast.Module) -> set[str]:
    """Names of a module whose objects its functions change."""
    found: set[str] = set()
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        nodes = list(ast.walk(function))
        arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
        targets = [target for node in nodes for target in stored(node)]
        own = arguments | {target.id for target in targets if isinstance(target, ast.Name)}
        found |= {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        found |= {owner(target) for target in targets} - own
    return found


def changing_classes(trees: dict[str, ast.Module]) -> set[str]:
    """Classes with a method, other than __init__, that stores into self."""
    found = set()
    for tree in trees.values():
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                    inside = ast.walk(method)
                    if "self" in {owner(target) for part in inside for target in stored(part)}:
                        found.add(node.name)
    return found


def assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Names and values of the assignments at the top of a module or class."""
    for node in body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        elif isinstance(node, ast.ClassDef):
            yield from assigned(node.body)


def is_state(value: ast.expr, classes: set[str]) -> bool:
    """Whether a value is made to be changed."""
    if isinstance(value, (ast.List, ast.Set)):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.Call):
        return last_name(value) in MAKERS | classes
    return False


def shared_state(sources: dict[str, str]) -> set[tuple[str, str]]:
    """(file, name) of every object that changes and belongs to a module."""
    trees = {path: ast.parse(text) for path, text in sources.items()}
    classes = changing_classes(trees)
    found = set()
    for path, tree in trees.items():
        changed = changed_names(tree)
        for name, value in assigned(tree.body):
            if is_state(value, classes) or name in changed:
                found.add((path, name))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for function in functions:
            if CACHES & {last_name(decorator) for decorator in function.decorator_list}:
                found.add((path, function.name))
    return found


def listed() -> set[tuple[str, str]]:
    """(file, name) of the rows of the page that are about the server."""
    _, _, section = PAGE.read_text().partition("## State that is shared")
    section, _, _ = section.partition("\n## ")
    found = set()
    for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
        names, _, path = row.rpartition(" in ")
        found |= {(path.strip("`"), name) for name in re.findall(r"`(\w+)`", names)}
    return {(path, name) for path, name in found if (SOURCES / path).exists()}


def read(root: Path) -> dict[str, str]:
    """All sources below a folder, by their path in it."""
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*.py"))}


def test_state_that_is_shared_stands_on_the_page_and_nothing_else_does() -> None:
    assert shared_state(read(SOURCES)) == listed()


@pytest.mark.parametrize(
    "line",
    [
        "SPARE: list[bytes] = []",
        "LATEST = {}",
        "buffer = bytearray(16)",
        "NUMBERS = itertools.count()",
        "SCRATCH = Scratch()",
        "class Row:\n    seen = []",
        "TABLE = {1: 2}\ndef f():\n    TABLE[3] = 4",
        "TABLE = [1]\ndef f():\n    TABLE.append(2)",
        "TABLE = make()\nclass A:\n    def f(self):\n        TABLE.size = 2",
        "calls = 0\ndef f():\n    global calls\n    calls += 1",
        "@functools.lru_cache(maxsize=8)\ndef f(x):\n    return x",
    ],
)
def test_state_that_somebody_adds_is_found(line: str) -> None:
    scratch = "class Scratch:\n    def reset(self):\n        self.size = 0\n"
    found = shared_state({"core/new.py": line, "core/scratch.py": scratch})
    assert [path for path, _ in found] == ["core/new.py"]


@pytest.mark.parametrize(
    "line",
    [
        "TABLE = {1: 2}\ndef f():\n    return TABLE[1]",
        "NAMES = ['a']\ndef f(NAMES):\n    NAMES.append(1)",
        "ROW = Row('a')",
        "LIMIT = 7",
    ],
)
def test_a_constant_is_left_alone(line: str) -> None:
    row = "class Row:\n    def __init__(self, name):\n        self.name = name\n"
    assert shared_state({"core/new.py": line, "core/row.py": row}) == set()
