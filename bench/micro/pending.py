"""The cost of a pending entry: time of every operation, and memory.

    python bench/micro/pending.py [entries]

prints one line per measurement: CPU time per entry, best of five.  Needs the compiled package and
Cython; the loops are built in a directory that is removed again.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from forebay.core import pel
from forebay.core.group import Consumer, Group
from forebay.core.stream import Stream
from testkit.places import SERVER_SRC

HERE = Path(__file__).resolve().parent
SOURCES = SERVER_SRC
ROUNDS = 5
#: Steps through n entries that visit each once, for any n without these factors.
IN_ORDER, SCATTERED = 1, 7919


def build_loops(directory: Path) -> ModuleType:
    """Compile pending_loops.py against the .pxd files of the package."""
    for name in ("pending_loops.py", "pending_loops.pxd"):
        (directory / name).write_bytes((HERE / name).read_bytes())
    (directory / "setup.py").write_text(
        "from setuptools import Extension, setup\n"
        "from Cython.Build import cythonize\n"
        "ext = Extension('pending_loops', ['pending_loops.py'], extra_compile_args=['-O2'])\n"
        "rules = {'language_level': '3', 'annotation_typing': False, 'cdivision': True}\n"
        f"include = [{str(SOURCES)!r}]\n"
        "built = cythonize([ext], include_path=include, quiet=True, compiler_directives=rules)\n"
        "setup(ext_modules=built)\n"
    )
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=directory, check=True)
    built = next(directory.glob("pending_loops*.so"))
    spec = importlib.util.spec_from_file_location("pending_loops", built)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def new_group(n: int, loops: ModuleType) -> tuple[Stream, Group, Consumer]:
    """A group in which one consumer has n entries pending."""
    stream, group = Stream(), Group(b"g", 0, 0, 0)
    stream.entries_added = stream.length = n
    stream.first_ms = 1000
    stream.last_ms = 1000 + n
    consumer = group.create_consumer(b"c", 0)
    loops.deliver(group, stream, consumer, n)
    return stream, group, consumer


def best_ns(n: int, prepare: Callable[[], object], action: Callable[..., object]) -> float:
    """Nanoseconds per entry, best of ROUNDS."""
    times = []
    for _ in range(ROUNDS):
        state = prepare()
        start = time.process_time_ns()
        action(state)
        times.append(time.process_time_ns() - start)
    return min(times) / n


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def show(what: str, value: float, unit: str = "ns") -> None:
    print(f"{what:52} {value:8.1f} {unit}")


def new_pending() -> tuple[pel.Pending, int]:
    pending = pel.Pending()
    return pending, pending.open_owner()


def measure_memory(n: int, loops: ModuleType) -> None:
    before = resident_bytes()
    pending, owner_no = new_pending()
    loops.add_in_order(pending, owner_no, n)
    show("memory of an entry, resident", (resident_bytes() - before) / n, "bytes")
    show("memory of an entry, as counted", pending.used_bytes() / n, "bytes")


def measure_group(n: int, loops: ModuleType) -> None:
    def filled() -> tuple[Stream, Group, Consumer]:
        return new_group(n, loops)

    def empty() -> tuple[Stream, Group, Consumer]:
        return new_group(0, loops)

    def deliver(state: tuple[Stream, Group, Consumer]) -> None:
        stream, group, consumer = state
        stream.entries_added = stream.length = n
        loops.deliver(group, stream, consumer, n)

    show("deliver a new entry", best_ns(n, empty, deliver))
    show("walk by ID", best_ns(n, filled, lambda s: loops.walk(s[1].pending)))
    for order, step in (("in order", IN_ORDER), ("scattered", SCATTERED)):
        acked = best_ns(n, filled, lambda s, step=step: loops.ack(s[1], n, step))
        show(f"acknowledge, {order}", acked)
    for order, step in (("in order", IN_ORDER), ("scattered", SCATTERED)):
        claimed = best_ns(
            n,
            filled,
            lambda s, step=step: loops.claim(s[1], s[1].create_consumer(b"d", 0), n, step),
        )
        show(f"claim by another consumer, {order}", claimed)


def measure_references(n: int, loops: ModuleType) -> None:
    """The cost of having no index from entries to groups, in the order of a trim."""
    for groups in (1, 3, 10):
        stream, first, _ = new_group(n // 10, loops)
        stream.groups.insert(b"0", first)
        for number in range(1, groups):
            stream.groups.insert(b"%d" % number, new_group(n // 10, loops)[1])
        asked = best_ns(n // 10, lambda: None, lambda _, s=stream: loops.ask(s, n // 10, IN_ORDER))
        show(f"ask whether it is referenced, groups: {groups}", asked)


def main() -> None:
    if not pel.__file__.endswith(".so"):
        raise SystemExit("this measures the compiled package; found " + pel.__file__)
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{n} pending entries, CPU time per entry, best of {ROUNDS}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        loops = build_loops(Path(directory))
        measure_memory(n, loops)
        add = best_ns(n, new_pending, lambda s: loops.add_in_order(s[0], s[1], n))
        show("add in order, three views", add)
        measure_group(n, loops)
        measure_references(n, loops)


if __name__ == "__main__":
    main()
