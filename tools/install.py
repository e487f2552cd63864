"""Put the tools or the compiled package into the environment that runs this file.

    install.py tools      what the extras `dev` and `spark` of pyproject.toml name
    install.py package    the package itself, compiled, not editable

The package is built without isolation, so that Cython need not be fetched for
each build, and in ``build/``, so that only changed modules are compiled again.
What an older build left there in plain Python is removed first: a module that
was deleted in ``src/`` must not live on in the wheel.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def pip(*arguments: str) -> None:
    """Run pip of this interpreter; its failure is ours."""
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-q"]
    subprocess.run([*command, *arguments], cwd=ROOT, check=True)


def install_tools() -> None:
    """The dependencies of the package and of its extras, without the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pip(*project["dependencies"], *extras["dev"], *extras["spark"])


def forget_old_copies() -> None:
    """Drop plain files of earlier builds, and extensions whose source is gone."""
    for lib in (ROOT / "build").glob("lib*"):
        for path in lib.rglob("*"):
            source = ROOT / "src" / path.relative_to(lib).parent / (path.name.split(".")[0] + ".py")
            if path.is_file() and (path.suffix != ".so" or not source.exists()):
                path.unlink()


def install_package() -> None:
    """Build the wheel with compiled modules and install it in place of the last one."""
    forget_old_copies()
    pip("--no-build-isolation", "--no-deps", "--force-reinstall", ".")


if __name__ == "__main__":
    {"tools": install_tools, "package": install_package}[sys.argv[1]]()
