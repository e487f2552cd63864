"""The command table against its tests and its pages: nothing undocumented, nothing untested."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache

import pytest

import forebay
from forebay.commands.table import TABLE
from testkit.places import DISTRIBUTIONS, ROOT

NAMES = sorted(name.decode() for name in TABLE)


def texts(node: ast.AST) -> Iterator[str]:
    """The strings below a node, in their order; of an f-string the part before the first brace."""
    if isinstance(node, ast.JoinedStr):
        yield from texts(node.values[0])
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from texts(child)


def sent(call: ast.Call) -> str:
    """The first words of a call: client("XGROUP", "CREATE", key) and client("XGROUP CREATE s")."""
    words = [" ".join(texts(arg)) for arg in call.args[:2] if not isinstance(arg, ast.Call)]
    return " ".join(" ".join(words).split()[:2])


def commands_tried(source: str) -> set[str]:
    """The commands and pairs (XGROUP CREATE) that the tests of a file send and judge.

    A test judges if it asserts something.  It sends a command at the beginning of a call, or
    among the values of its parametrize.
    """
    module = ast.parse(source)
    constants = {
        target.id: list(texts(node.value))
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    tried: set[str] = set()
    for test in ast.walk(module):
        if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test_"):
            continue
        if not any(isinstance(node, ast.Assert) for node in ast.walk(test)):
            continue
        calls = {sent(n) for line in test.body for n in ast.walk(line) if isinstance(n, ast.Call)}
        values = {
            word
            for mark in test.decorator_list
            for node in ast.walk(mark)
            for text in (constants.get(node.id, []) if isinstance(node, ast.Name) else texts(node))
            for word in (" ".join(text.split()[:1]), " ".join(text.split()[:2]))
        }
        tried |= calls | {call.partition(" ")[0] for call in calls} | values
        tried |= {f"{call} {value}" for call in calls if " " not in call for value in values}
    return tried


@cache
def all_tried() -> set[str]:
    files = [*(ROOT / "server/tests").rglob("test_*.py")]
    return set().union(*(commands_tried(path.read_text()) for path in files))


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_sent_by_a_test_that_judges_it(name: str) -> None:
    row = TABLE[name.encode()]
    assert name.upper() in all_tried(), f"no test sends {name.upper()} and asserts something"
    # Subcommands with one handler (all of CLUSTER) are one piece of code: one test is enough.
    by_handler: dict[object, list[str]] = {}
    for sub in row.subcommands.values():
        full_name = sub.full_name.decode().replace("|", " ").upper()
        by_handler.setdefault(sub.handler, []).append(full_name)
    untried = [names for names in by_handler.values() if not all_tried().intersection(names)]
    assert untried == [], "no test sends these and asserts something"


@pytest.mark.parametrize(
    ("test", "tried"),
    [
        ('    assert client("GET", "XLEN") == 1', {"GET"}),
        ('    assert client("get", "a") == 1', set()),
        ('    client("GET", "a")', set()),
        ('    """GET"""\n    assert True  # SET', set()),
        (
            '    other.send(encode("XGROUP CREATE s g $"))\n    assert 1',
            {"XGROUP", "XGROUP CREATE"},
        ),
        ('    assert [client(f"GET {key}") for key in "ab"] == [1, 2]', {"GET"}),
    ],
)
def test_a_command_is_tried_by_a_call_of_a_test_that_asserts(test: str, tried: set[str]) -> None:
    names = {"GET", "SET", "XLEN", "XGROUP", "XGROUP CREATE"}
    assert commands_tried(f"def test_it():\n{test}\n") & names == tried
    assert commands_tried(f"def helper():\n{test}\n") == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_command_says_what_it_does_and_since_when(name: str) -> None:
    row = TABLE[name.encode()]
    assert row.summary, "no summary"
    assert re.fullmatch(r"\d+\.\d+\.\d+", row.since)


def test_the_version_is_the_same_everywhere() -> None:
    projects = [
        tomllib.loads((ROOT / name / "pyproject.toml").read_text())["project"]
        for name in DISTRIBUTIONS
    ]
    extras = projects[0]["optional-dependencies"]
    top = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert top is not None
    version = top.group(1)
    assert forebay.__version__ == version
    assert [project["version"] for project in projects] == [version] * len(projects)
    for name in DISTRIBUTIONS[1:]:
        (extra,) = extras[name]
        assert extra.endswith(f"=={version}"), "an extra installs two distributions of one version"


def test_the_generated_pages_are_current() -> None:
    generator = ROOT / "tools" / "generate_docs.py"
    subprocess.run([sys.executable, str(generator), "--check"], cwd=ROOT, check=True)


def test_importing_the_package_loads_nothing_of_the_server() -> None:
    code = "import forebay, sys; sys.exit(any(m.startswith('forebay.') for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)
