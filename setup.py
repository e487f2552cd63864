"""The one list of modules that Cython compiles; everything else is in pyproject.toml.

Each is an ordinary ``.py`` file with a ``.pxd`` beside it that types it.  A
build without a C compiler fails loudly: the interpreted server is for tests.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

COMPILED = [
    "forebay.core.ids",
    "forebay.core.listpack",
    "forebay.core.rax",
    "forebay.core.node",
    "forebay.core.cursor",
    "forebay.core.stream",
    "forebay.core.pel",
    "forebay.core.group",
    "forebay.core.keyspace",
    "forebay.wire.argv",
    "forebay.wire.request",
    "forebay.wire.reply",
    "forebay.commands.context",
    "forebay.commands.effects",
    "forebay.commands.emit",
    "forebay.engine.engine",
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
    return Extension(module, [source], extra_compile_args=["-O2", "-fno-strict-aliasing"])


# During the first build-up a module may not be there yet.
present = [m for m in COMPILED if Path("src/" + m.replace(".", "/") + ".pxd").exists()]
setup(
    ext_modules=cythonize(
        [extension(m) for m in present],
        build_dir="build/cython",
        compiler_directives=DIRECTIVES,
        nthreads=int(os.environ.get("FOREBAY_BUILD_JOBS", "2")),
        show_all_warnings=False,
    )
)
