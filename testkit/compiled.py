"""The list of compiled modules, as server/setup.py has it."""

from __future__ import annotations

import ast

from testkit.places import ROOT


def compiled_list() -> list[str]:
    """Names of the modules, read without running the file."""
    tree = ast.parse((ROOT / "server" / "setup.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "COMPILED":
            names: list[str] = ast.literal_eval(node.value)
            return names
    raise AssertionError("setup.py has no COMPILED list")
