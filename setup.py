"""The one list of modules that Cython compiles; everything else is in pyproject.toml.

Each is an ordinary ``.py`` file with a ``.pxd`` beside it that types it.  A
build without a C compiler fails loudly: the interpreted server is for tests.
"""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

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
    "forebay.wire.reply",
    "forebay.commands.spec",
    "forebay.commands.session",
    "forebay.commands.context",
    "forebay.commands.connection",
    "forebay.commands.effects",
    "forebay.commands.emit",
    "forebay.commands.columns",
    "forebay.commands.split",
    "forebay.commands.claim_log",
    "forebay.commands.stream_args",
    "forebay.commands.ack",
    "forebay.commands.pending",
    "forebay.commands.claim",
    "forebay.commands.xinfo",
    "forebay.commands.add_options",
    "forebay.commands.streams",
    "forebay.commands.delete",
    "forebay.commands.read_options",
    "forebay.commands.reads",
    "forebay.persistence.log_writer",
    "forebay.persistence.rewrite_stream",
    "forebay.persistence.crc32",
    "forebay.persistence.records",
    "forebay.persistence.log_scan",
    "forebay.persistence.journal",
    "forebay.persistence.crc64",
    "forebay.persistence.lzf",
    "forebay.persistence.rdb_reader",
    "forebay.persistence.rdb_writer",
    "forebay.persistence.rdb_nodes",
    "forebay.persistence.rdb_pending",
    "forebay.engine.names",
    "forebay.engine.stats",
    "forebay.engine.ticker",
    "forebay.engine.blocking",
    "forebay.engine.engine",
    "forebay.engine.replay",
    "forebay.server.timers",
    "forebay.server.turn_log",
    "forebay.server.loop",
    "forebay.server.connection",
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


def extension(module: str) -> Extension:
    source = "src/" + module.replace(".", "/") + ".py"
    return Extension(module, [source], extra_compile_args=["-O2", "-g0", "-fno-strict-aliasing"])


JOBS = int(os.environ.get("FOREBAY_BUILD_JOBS", "2"))

setup(
    ext_modules=cythonize(
        [extension(module) for module in COMPILED],
        build_dir="build/cython",
        compiler_directives=DIRECTIVES,
        nthreads=JOBS,
        show_all_warnings=False,
    ),
    options={"build_ext": {"parallel": JOBS}},
)
