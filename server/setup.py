"""The one list of modules that Cython compiles; everything else is in pyproject.toml.

Each is an ordinary ``.py`` file with a ``.pxd`` beside it that types it.  A
build without a C compiler fails loudly: the interpreted server is for tests.
So does one that lacks a ``.pxd``: Cython would compile the module without types,
many times slower, and nobody would notice.

``FOREBAY_SANITIZE=address,undefined`` compiles every module with these sanitizers of gcc, for the
attacks of reliability/: a read or write outside of its buffer ends the process with a report.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

COMPILED = [
    "forebay.core.ids",
    "forebay.core.listpack",
    "forebay.core.rax",
    "forebay.core.node",
    "forebay.core.cursor",
    "forebay.core.stream",
    "forebay.core.finder",
    "forebay.core.slab",
    "forebay.core.view",
    "forebay.core.pel",
    "forebay.core.group",
    "forebay.core.trim",
    "forebay.core.keyspace",
    "forebay.wire.argv",
    "forebay.wire.inline",
    "forebay.wire.request",
    "forebay.wire.resp_writer",
    "forebay.commands.api.spec",
    "forebay.commands.api.session",
    "forebay.commands.api.waits",
    "forebay.commands.api.context",
    "forebay.commands.clients.connection",
    "forebay.commands.api.effects",
    "forebay.commands.streams.entry_writer",
    "forebay.commands.streams.block",
    "forebay.commands.streams.column",
    "forebay.commands.streams.columns",
    "forebay.commands.streams.split",
    "forebay.commands.streams.delivery_effects",
    "forebay.commands.streams.parsing",
    "forebay.commands.streams.xack",
    "forebay.commands.streams.xpending",
    "forebay.commands.streams.xclaim",
    "forebay.commands.streams.xinfo",
    "forebay.commands.streams.xadd",
    "forebay.commands.streams.xrange",
    "forebay.commands.streams.xsetid",
    "forebay.commands.streams.xdel",
    "forebay.commands.strings.string_ops",
    "forebay.commands.strings.get_set",
    "forebay.commands.strings.counters",
    "forebay.commands.streams.xread_options",
    "forebay.commands.streams.xread",
    "forebay.commands.streams.xreadgroup",
    "forebay.persistence.aof.base_writer",
    "forebay.persistence.aof.rewrite_stream",
    "forebay.persistence.aof.crc32",
    "forebay.persistence.aof.seals",
    "forebay.persistence.aof.scanner",
    "forebay.persistence.aof.writer",
    "forebay.persistence.rdb.crc64",
    "forebay.persistence.rdb.lzf",
    "forebay.persistence.rdb.reader",
    "forebay.persistence.rdb.writer",
    "forebay.persistence.rdb.nodes",
    "forebay.persistence.rdb.pending",
    "forebay.commands.access.patterns",
    "forebay.commands.access.selector",
    "forebay.commands.access.user",
    "forebay.engine.names",
    "forebay.engine.call_counts",
    "forebay.engine.stats",
    "forebay.engine.ticker",
    "forebay.engine.deadlines",
    "forebay.engine.sessions",
    "forebay.engine.blocking",
    "forebay.engine.engine",
    "forebay.engine.replay",
    "forebay.engine.apply",
    "forebay.server.net.timers",
    "forebay.server.net.lookout",
    "forebay.server.net.turn_end",
    "forebay.server.durability.aof_turn",
    "forebay.server.net.loop",
    "forebay.server.net.connection",
    "forebay.server.net.tls_channel",
    "forebay.replication.backlog",
    "forebay.replication.peers",
    "forebay.server.replication.outgoing",
    "forebay.server.replication.primary",
    "forebay.server.replication.feed",
    "forebay.server.replication.primary_link",
    "forebay.server.replication.replica",
    "forebay.server.replication.replication",
    "forebay.commands.replication.links",
    "forebay.commands.replication.waiting",
    "forebay.engine.admission",
    "forebay.cli.copying.relay",
]

DIRECTIVES = {
    "language_level": "3",
    "annotation_typing": False,
    "boundscheck": True,
    "nonecheck": True,
    "wraparound": False,
    "cdivision": True,
    "embedsignature": True,
}


JOBS = int(os.environ.get("FOREBAY_BUILD_JOBS", "2"))
SANITIZE = os.environ.get("FOREBAY_SANITIZE", "")


def flags() -> dict[str, list[str]]:
    """How gcc compiles and links; a sanitizer that finds something ends the process."""
    always = ["-fno-strict-aliasing"]
    if not SANITIZE:
        return {"extra_compile_args": ["-O2", "-g0", *always]}
    found = [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all"]
    compiling = ["-O1", "-g1", "-fno-omit-frame-pointer", *always, *found]
    return {"extra_compile_args": compiling, "extra_link_args": found}


def extension(module: str) -> Extension:
    source = "src/" + module.replace(".", "/") + ".py"
    return Extension(module, [source], **flags())


def check_types(extensions: list[Extension]) -> None:
    """Refuse to compile a module whose types are not there."""
    types = [Path(ext.sources[0]).with_suffix(".pxd") for ext in extensions]
    if missing := [str(path) for path in types if not path.exists()]:
        raise SystemExit(
            f"setup.py: no types for {len(missing)} compiled modules, so they would be slow: "
            f"{', '.join(missing)}.  Build from a whole source tree or from an sdist of one."
        )


class TypedBuild(build_ext):
    """Python to C when extensions are built, and not when somebody only asks for an sdist."""

    def run(self):
        check_types(self.extensions)
        made = cythonize(
            [extension(ext.name) for ext in self.extensions],
            build_dir="build/cython",
            compiler_directives=DIRECTIVES,
            nthreads=JOBS,
            show_all_warnings=False,
            annotate=True,  # pages that tools/hot_lines.py reads
        )
        sources = {ext.name: ext.sources for ext in made}
        for ext in self.extensions:
            ext.sources = sources[ext.name]
        super().run()


setup(
    ext_modules=[extension(module) for module in COMPILED],
    cmdclass={"build_ext": TypedBuild},
    options={"build_ext": {"parallel": JOBS}},
)
