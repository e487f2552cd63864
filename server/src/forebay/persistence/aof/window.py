"""A window on an AOF file: a scanner, and the bytes that it needs.

The window is only as large as the largest command in it: it grows when the
bytes are read, not when a length is announced.
"""

from __future__ import annotations

from forebay.persistence.aof.scanner import MORE, AofScanner
from forebay.persistence.files import PIECE, ReadFile


class AofWindow:
    """One walk through a file, from ``offset`` on."""

    def __init__(self, file: ReadFile, offset: int = 0, crc: int = 0) -> None:
        self.file = file
        self.file.seek(offset)
        self.scanner = AofScanner(file.size, offset, crc)
        self.read_to = offset

    def at_end(self) -> bool:
        """Whether all of the file has been read."""
        return self.read_to >= self.file.size

    def more(self) -> bool:
        """Read more; False at the end of the file.  Bytes that were good to run are dropped."""
        if self.at_end():
            return False
        room = self.scanner.make_room(PIECE)
        data = self.file.read(min(room, self.file.size - self.read_to))
        self.scanner.add(data)
        # A file that became shorter is read as if it ended here.
        self.read_to = self.read_to + len(data) if data else self.file.size
        return bool(data)

    def walk_to_seal(self) -> int:
        """Walk past the next seal, or until the scanner stops; its last answer.

        MORE is the end of the file.
        """
        scanner = self.scanner
        scanner.limit = 1
        while True:
            scanner.start = scanner.good
            code = scanner.step()
            if code != MORE or not self.more():
                return code
