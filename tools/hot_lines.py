"""Which lines of the hot functions still make or touch Python objects when compiled.

    .venv/bin/python tools/hot_lines.py            every hot function
    .venv/bin/python tools/hot_lines.py core.node  one module

An untyped local is a Python object without a word of warning.  Cython can show
the C behind each line; this reads it and names the lines of HOT functions whose
C calls into the interpreter for numbers, names, tuples or calls.  tests/tidy
fails if there is any.
"""

from __future__ import annotations

import ast
import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"

#: Per module the functions that run once per command, entry, field or argument.
HOT = {
    "core.ids": ["before", "successor", "predecessor", "parse_bound"],
    "core.listpack": ["put_int", "put_string", "is_int", "read_int", "read_string", "skip", "back"],
    "core.node": ["append", "has_fields", "finish", "set_counts", "before", "bury"],
    "core.cursor": ["open", "enter", "next", "previous", "read", "skip_values"],
    "core.stream": ["append", "is_full", "find", "last_live", "has_after"],
    "core.view": ["search", "insert", "discard", "after"],
    "core.pel": ["add", "remove", "find", "count_delivery"],
    "core.group": ["deliver", "advance", "ack"],
    "wire.request": ["next", "next_bulks"],
    "wire.reply": ["need", "header", "span", "put_bulk", "put_id", "integer"],
    "commands.context": ["stream_at", "slot"],
    "commands.emit": ["put_element", "put_integer", "entry", "entries"],
    "commands.reads": ["deliver", "is_full", "limit"],
    "commands.ack": ["xack"],
    "commands.columns": [
        "put",
        "put_id",
        "need",
        "end",
        "add",
        "pick",
        "take",
        "add_keys",
        "is_alike",
        "fill",
    ],
    "persistence.crc64": ["update"],
    "persistence.lzf": ["swap", "squeeze", "put_copy", "finish", "expand_into"],
    "persistence.rdb_reader": ["need", "byte", "le", "be64", "length", "fetch"],
    "persistence.rdb_writer": ["byte", "le64", "entry_id", "length", "span", "packed"],
    "persistence.rdb_nodes": ["element_size", "step", "number", "skip", "entries", "content"],
    "persistence.rdb_pending": ["read", "find", "own", "fill", "write_pending", "write_owned"],
    "persistence.crc32": ["update"],
    "persistence.records": ["put_seal", "seal"],
    "persistence.log_scan": ["walk_command", "end_unit", "pass_seal", "seal_value"],
    "persistence.rewrite_stream": ["goes_on", "add", "walk"],
    "engine.names": ["find"],
    "server.connection": ["run_commands", "flush"],
}

#: Calls into the interpreter that a hot line must not make.
OBJECTS = re.compile(
    r"PyLong_From|PyFloat_From|PyNumber_|RichCompare|GetModuleGlobalName|PyTuple_(New|Pack)"
    r"|PyObject_(Call|GetItem|SetItem|GetAttr)|GetAttrStr|FastCall|PyInt_(?!As)|PyBool_From"
)
LINE = re.compile(
    r'<pre class="cython line score-\d+"[^>]*>(.*?)</pre>'
    r"(?:\s*<pre class=.cython code[^>]*>(.*?)</pre>)?",
    re.DOTALL,
)
#: Lines that are let through: they leave the hot way, or make one object on purpose.
LEAVING = re.compile(r"\braise\b|\bassert\b|\bexcept\b|= [A-Z][A-Za-z]+\(")
#: Indexing a typed list names the interpreter only in the branch for a wrong type.
TYPED_INDEX = re.compile(r"__Pyx_GetItemInt_List\([^;]*;")
DIRECTIVES = ("annotation_typing=False", "boundscheck=True", "nonecheck=True", "wraparound=False")


def annotated(module: str) -> str:
    """Cython's page about a module: every line with its C."""
    source = Path("forebay") / (module.replace(".", "/") + ".py")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.c"
        options = [part for directive in DIRECTIVES for part in ("-X", directive)]
        command = [sys.executable, "-m", "cython", "-3", "-a", *options]
        subprocess.run(
            [*command, str(source), "-o", str(target)], cwd=SOURCES, check=True, capture_output=True
        )
        return target.with_suffix(".html").read_text()


def bodies(module: str) -> dict[int, str]:
    """Line number -> hot function, for every line of a hot function's body."""
    tree = ast.parse((SOURCES / "forebay" / (module.replace(".", "/") + ".py")).read_text())
    lines: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in HOT[module]:
            end = node.end_lineno or node.lineno
            lines.update(dict.fromkeys(range(node.body[0].lineno, end + 1), node.name))
    return lines


def slow_lines(module: str) -> list[str]:
    """The lines that touch Python objects, as text for a person."""
    hot = bodies(module)
    found = []
    for match in LINE.finditer(annotated(module)):
        text = html.unescape(re.sub(r"<.*?>", "", match[1])).rstrip()
        number = re.match(r"[+ ]*(\d+):", text)
        if number is None or int(number[1]) not in hot or LEAVING.search(text):
            continue
        code = TYPED_INDEX.sub("", html.unescape(re.sub(r"<.*?>", "", match[2] or "")))
        if OBJECTS.search(code):
            found.append(f"{module}.{hot[int(number[1])]} {text.lstrip('+')}")
    return found


def main() -> int:
    """Print them; 1 if there are any."""
    found = [line for module in sys.argv[1:] or HOT for line in slow_lines(module)]
    print("\n".join(found) or "no hot line touches a Python object")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
