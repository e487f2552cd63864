"""``forebay completion``: a script with which a shell completes commands, options and values.

The script holds all names, so that TAB starts no Python.  It knows the packages that are
installed when it is written: write it again after a package was installed or removed.
"""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from cyclopts import App, Parameter

from forebay.cli.apps import root
from forebay.cli.main import commands

HELP = """\
Print a script that lets a shell complete commands, options and values of forebay.

It completes the commands of the packages that are installed now; write it again after
you install others.
"""

EPILOG = """\
examples:
  forebay completion bash > ~/.local/share/bash-completion/completions/forebay
  forebay completion zsh > ~/.zfunc/_forebay      with ~/.zfunc in fpath, before compinit
  forebay completion fish > ~/.config/fish/completions/forebay.fish
  source <(forebay completion bash)               only for this shell
"""

app = App(name="completion", help=HELP, help_epilogue=EPILOG)

Shell = Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="which shell")]

#: Where no name of ours fits, bash completes the names of files.
PLAIN, WITH_FILES = "complete -F ", "complete -o bashdefault -o default -F "


@app.default
def completion(shell: Shell, /) -> int:
    """Print the script."""
    script = root(commands()).generate_completion(shell=shell)
    sys.stdout.write(script.replace(PLAIN, WITH_FILES) if shell == "bash" else script)
    return 0
