"""The ACL file: users as lines, read as a whole and replaced as a whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from forebay.commands.api.settings import Settings
from forebay.errors import CommandError
from forebay.server.config.rewrite import replace_file

NOT_SAVED = (
    b"ERR There was an error trying to save the ACLs. Please check the server logs for more "
    b"information"
)


class AclFile:
    """The file that the directive ``aclfile`` names; ``warn`` writes a line to the log."""

    def __init__(self, settings: Settings, warn: Callable[[str], None]) -> None:
        self.settings = settings
        self.warn = warn

    @property
    def path(self) -> str:
        """The file as configured; empty if there is none."""
        return self.settings.aclfile

    def place(self) -> Path:
        """Where it is: a relative name is relative to the data directory."""
        return Path(self.settings.data_dir, self.settings.aclfile)

    def read(self) -> list[bytes]:
        """All lines; raises CommandError."""
        try:
            return self.place().read_bytes().split(b"\n")
        except OSError as error:
            text = f"ERR Error loading ACLs, opening file '{self.path}': {error.strerror}"
            raise CommandError(text) from None

    def write(self, lines: list[bytes]) -> None:
        """Replace the file in one step; raises CommandError."""
        try:
            replace_file(str(self.place()), b"".join(line + b"\n" for line in lines))
        except OSError as error:
            self.warn(f"ACL SAVE: cannot write {self.path}: {error.strerror}")
            raise CommandError(NOT_SAVED) from None
