"""Finds lines of hot functions that still make or use Python objects when compiled.

    .venv/bin/python tools/hot_lines.py            every hot function
    .venv/bin/python tools/hot_lines.py core.node  one module

An untyped local becomes a Python object without any warning.  The build leaves a page
for each module that shows the C code of each line.  This tool reads it and names the
lines of HOT functions whose C calls the interpreter for numbers, names, tuples or calls.
tests/tidy fails if there is any.  The pages describe the installed package: run
`make setup` after an edit.
"""

from __future__ import annotations

import ast
import html
import re
import sys
from pathlib import Path

#: The unpacked sdist from which tools/install.py built the package.
TREE = Path(__file__).resolve().parents[1] / "build" / "server" / "tree"
SOURCES = TREE / "src"
PAGES = TREE / "build" / "cython" / "src"

#: The functions of each module that run once per command, entry, field or argument.
HOT = {
    "core.ids": ["before", "successor", "predecessor", "parse_bound"],
    "core.listpack": ["put_int", "put_string", "is_int", "read_int", "read_string", "skip", "back"],
    "core.node": ["append", "has_fields", "finish", "set_counts", "before", "bury"],
    "core.cursor": ["open", "approach", "enter", "next", "previous", "read", "skip_values"],
    "core.stream": ["append", "is_full", "find", "last_live", "has_after"],
    "core.slab": ["add", "release", "own", "is_key_below", "place", "fence_before"],
    "core.view": ["search", "insert", "discard", "after"],
    "core.pel": ["add", "remove", "find", "count_delivery"],
    "core.group": ["deliver", "advance", "ack"],
    "wire.request": ["next", "next_bulks"],
    "wire.resp_writer": ["need", "header", "span", "put_bulk", "put_id", "integer"],
    "commands.api.context": ["use", "find_stream", "slot"],
    "commands.api.spec": ["takes", "end"],
    "commands.access.patterns": ["fits"],
    "commands.access.selector": ["allows", "has_bit", "fits"],
    "commands.streams.xadd": [
        "xadd",
        "parse_xadd",
        "reset",
        "read",
        "read_word",
        "read_id",
        "apply_xadd",
        "choose_id",
        "payload_size",
        "record_xadd",
        "record_words",
    ],
    "commands.api.effects": [
        "begin",
        "end",
        "record_call",
        "record_call_with_id",
        "copy",
        "begin_command",
    ],
    "commands.streams.entry_writer": ["put_element", "put_integer", "entry", "entries"],
    "commands.streams.xread": ["is_full", "limit"],
    "commands.streams.xreadgroup": ["deliver"],
    "commands.streams.delivery_effects": ["note", "flush", "record_position"],
    "commands.streams.xack": ["xack", "apply_xack", "record_acks"],
    "commands.streams.xdel": ["apply_xdel"],
    "cli.copying.relay": ["open_entry", "pass_words", "count_at", "put_entry", "put_line_end"],
    "commands.streams.xrange": ["parse_xrange", "apply_xrange"],
    "commands.streams.column": [
        "put",
        "put_all",
        "put_run",
        "put_texts",
        "put_wholes",
        "put_doubles",
        "double_of",
        "put_ids",
        "put_words",
        "end",
        "make_room",
        "need",
    ],
    "commands.streams.columns": ["add", "put_run", "pick", "add_keys", "is_alike", "fill"],
    "persistence.rdb.crc64": ["update"],
    "persistence.rdb.lzf": ["swap", "squeeze", "put_copy", "finish", "expand_into"],
    "persistence.rdb.reader": ["need", "byte", "le", "be64", "length", "fetch", "plain"],
    "persistence.rdb.writer": ["byte", "le64", "entry_id", "length", "span", "plain", "packed"],
    "persistence.rdb.nodes": ["element_size", "step", "number", "skip", "entries", "content"],
    "persistence.rdb.pending": ["read", "find", "own", "fill", "write_pending", "write_owned"],
    "persistence.aof.crc32": ["update"],
    "persistence.aof.seals": ["put_seal", "seal", "begins_with_select"],
    "persistence.aof.writer": ["append"],
    "persistence.aof.scanner": ["walk_command", "end_unit", "pass_seal", "seal_value"],
    "persistence.aof.rewrite_stream": ["goes_on", "add", "walk"],
    "engine.names": ["find"],
    "engine.call_counts": ["ran"],
    "engine.engine": ["call", "dispatch", "execute", "run"],
    "server.net.connection": ["run_commands", "flush"],
    "server.net.turn_end": ["before_replies", "hand_out"],
    "server.durability.aof_turn": ["read", "write"],
}

#: Lines of hot functions that may use Python objects, by their first words, and why.
ALLOWED = {
    "core.slab.release": {"del self.large": "an entry that was delivered 2**32 times"},
    "commands.streams.xadd.record_xadd": {"ctx.notify": "somebody listens to keyspace events"},
    "commands.api.effects.end": {
        "self.out.insert": "a unit of several commands",
        "self.out.raw": "the same",
    },
    "engine.engine.dispatch": {
        "elif gate == ONLY_IN_MULTI": "in MULTI",
        "self.append_pushes": "messages came while the command ran",
    },
    "engine.engine.run": {
        "row.handler": "which function it is shows only now: the one call through Python",
        "out.error": "an error",
        "self.fault": "a defect",
        "self.count_error": "an error",
        "slow_calls.note": "a slow command",
    },
    "server.durability.aof_turn.read": {"self.on_refusal": "the disk refused"},
    "server.durability.aof_turn.write": {"aof.sync": "appendfsync always waits for the disk"},
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
#: Allowed lines: they leave the hot path, or make one object on purpose.
LEAVING = re.compile(r"\braise\b|\bassert\b|\bexcept\b|= [A-Z][A-Za-z]+\(")
#: Indexing a typed list names the interpreter only in the branch for a wrong type.
TYPED_INDEX = re.compile(r"__Pyx_GetItemInt_List\([^;]*;")


def annotated(module: str) -> str:
    """Cython's page about a module: every line with its C."""
    page = PAGES / "forebay" / (module.replace(".", "/") + ".html")
    if not page.exists():
        raise SystemExit(f"hot_lines: no page about {module}; run 'make clean setup'")
    return page.read_text()


def bodies(module: str) -> dict[int, str]:
    """Line number -> hot function, for every line of a hot function's body."""
    tree = ast.parse((SOURCES / "forebay" / (module.replace(".", "/") + ".py")).read_text())
    lines: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in HOT[module]:
            end = node.end_lineno or node.lineno
            lines.update(dict.fromkeys(range(node.body[0].lineno, end + 1), node.name))
    return lines


def is_allowed(function: str, text: str) -> bool:
    """Whether a line, as Cython prints it, is allowed to be slow."""
    code = text.partition(":")[2].strip()
    return any(code.startswith(words) for words in ALLOWED.get(function, ()))


def slow_lines(module: str) -> list[str]:
    """The lines that use Python objects, as text for a person."""
    hot = bodies(module)
    found = []
    for match in LINE.finditer(annotated(module)):
        text = html.unescape(re.sub(r"<.*?>", "", match[1])).rstrip()
        number = re.match(r"[+ ]*(\d+):", text)
        if number is None or int(number[1]) not in hot or LEAVING.search(text):
            continue
        code = TYPED_INDEX.sub("", html.unescape(re.sub(r"<.*?>", "", match[2] or "")))
        function = f"{module}.{hot[int(number[1])]}"
        if OBJECTS.search(code) and not is_allowed(function, text):
            found.append(f"{function} {text.lstrip('+')}")
    return found


def main() -> int:
    """Print them; 1 if there are any."""
    found = [line for module in sys.argv[1:] or HOT for line in slow_lines(module)]
    print("\n".join(found) or "no hot line touches a Python object")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
