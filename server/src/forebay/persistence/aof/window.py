"""An AOF file seen through a window: a scanner, and the bytes that it asks for.

The window is as large as the largest command in it and no larger: it grows when
the bytes for it are there, not because a length was announced.
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
        """Read on; False at the end of the file.  What was good to run is dropped."""
        if self.at_end():
            return False
        room = self.scanner.make_room(PIECE)
        data = self.file.read(min(room, self.file.size - self.read_to))
        self.scanner.add(data)
        # A file that is shorter than it was is read as if it ended here.
        self.read_to = self.read_to + len(data) if data else self.file.size
        return bool(data)

    def walk_to_seal(self) -> int:
        """Walk past the next seal, or to what cannot be passed; the scanner's last answer.

        MORE is the end of the file.
        """
        scanner = self.scanner
        scanner.limit = 1
        while True:
            scanner.start = scanner.good
            code = scanner.step()
            if code != MORE or not self.more():
                return code
