"""Replies of XRANGE in, commands XADD out: entries go from server to server as bytes.

    *2                       the reply: an array of entries
      *2 $3 1-0 *4 $4 item $3 tea ...        an entry: its ID, and an array of words
         |           |
         v           v
    *7 $4 XADD $6 orders $3 1-0 $4 item $3 tea ...       the command

The ID and the words are the same bytes in both, with their lengths in front.  So nothing is
parsed: we find the end of an entry by hopping from length to length, and copy three pieces.

Usage: ``room`` gives free bytes to receive into, ``came`` says how many arrived, and complete
entries become commands at once.  When the page ``is_whole``, its ``commands`` can be sent, and
``begin`` starts the next page.

    buf   [ done | an incomplete entry ...            | free ]
                at                    reached        end

Rules
  1. How the bytes are cut into pieces never changes what comes out.
  2. No byte is hopped over twice: ``reached`` and ``words_left`` say where an entry continues.
  3. Bytes that are no page raise ProtocolError; an error reply is kept as ``refusal``.
"""

from __future__ import annotations

from forebay import mem
from forebay.errors import ProtocolError

STAR, DOLLAR, DASH, CR = b"*$-\r"
FIRST_ROOM = 1 << 20
#: The count before the first line of a page or of an entry was read.
UNKNOWN = -1
#: The longest line that announces a number, and the most that one line adds to a command.
LONGEST_LINE = 32


class Relay:
    """Turns pages of one stream into commands for another."""

    def __init__(self, stream: bytes) -> None:
        self.head = b"$4\r\nXADD\r\n$%d\r\n%b\r\n" % (len(stream), stream)
        self.buf = bytearray(FIRST_ROOM)
        self.p: mem.Pointer = self.buf
        self.at = 0
        self.reached = 0
        self.end = 0
        self.out = bytearray(FIRST_ROOM)
        self.o: mem.Pointer = self.out
        self.size = 0
        self.entries = 0
        self.page_bytes = 0
        self.left = UNKNOWN
        self.words_left = UNKNOWN
        self.words = 0
        self.id_at = 0
        self.id_end = 0
        self.last_id = b""
        self.refusal = b""

    def begin(self) -> None:
        """Start the next page; its commands replace those of the last one."""
        self.left = UNKNOWN
        self.size = 0
        self.entries = 0
        self.page_bytes = 0

    def is_whole(self) -> bool:
        """Whether the whole page has arrived."""
        return self.left == 0

    def commands(self) -> memoryview:
        """The entries of the page as commands; valid until the next page begins."""
        return memoryview(self.out)[: self.size]

    def room(self, least: int) -> memoryview:
        """Free bytes to receive into, ``least`` or more."""
        if len(self.buf) - self.end < least:
            start = self.at if self.words_left == UNKNOWN else self.id_at
            held = self.end - start
            self.buf = mem.widened(self.p, start, held, max(FIRST_ROOM, 2 * (held + least)))
            self.p = self.buf
            self.id_at -= start
            self.id_end -= start
            self.reached -= start
            self.at -= start
            self.end = held
        return memoryview(self.buf)[self.end :]

    def came(self, count: int) -> None:
        """``count`` bytes were received: make commands of the complete entries."""
        if count < 0 or self.end + count > len(self.buf):
            raise ValueError("more than there was room for")
        self.end += count
        self.page_bytes += count
        if self.left == UNKNOWN and not self.open_page():
            return
        while self.left > 0:
            if self.words_left == UNKNOWN and not self.open_entry():
                return
            if not self.pass_words():
                return
            self.put_entry()
        self.close_page()

    def close_page(self) -> None:
        """The page is complete: keep the last ID, and start again at the front of the buffer."""
        if self.entries:
            self.last_id = mem.to_bytes(self.p, self.id_at, self.id_end - self.id_at)
        if self.at == self.end:
            self.at = 0
            self.reached = 0
            self.end = 0

    def open_page(self) -> bool:
        """Read how many entries there are; False if that line is incomplete."""
        if self.at == self.end:
            return False
        if self.p[self.at] == DASH:
            stop = mem.find(self.p, self.at, self.end, CR)
            if stop < 0:
                return False
            self.refusal = mem.to_bytes(self.p, self.at + 1, stop - self.at - 1)
            self.left = 0
            return True
        count = self.count_at(self.at, STAR)
        if count < 0:
            return False
        self.left = count
        self.at = self.reached
        return True

    def open_entry(self) -> bool:
        """Read up to the words of an entry; False if that part is incomplete."""
        if self.count_at(self.at, STAR) < 0:
            return False
        size = self.count_at(self.reached, DOLLAR)
        if size < 0 or self.end - self.reached < size + 2:
            return False
        self.id_at = self.reached
        self.id_end = self.reached + size
        count = self.count_at(self.id_end + 2, STAR)
        if count < 0:
            return False
        self.words = count
        self.words_left = count
        # From here on ``at`` is where the words begin: everything before it is read.
        self.at = self.reached
        return True

    def pass_words(self) -> bool:
        """Hop over the words of an entry; False if they are incomplete."""
        p = self.p
        at = self.reached
        while self.words_left > 0:
            size = mem.short_line(p, at + 1, self.end)
            if size >= 0 and p[at] == DOLLAR:
                after = at + (4 if size < 10 else 5)
            else:
                size = self.count_at(at, DOLLAR)
                if size < 0:
                    self.reached = at
                    return False
                after = self.reached
            if self.end - after < size + 2:
                self.reached = at
                return False
            at = after + size + 2
            self.words_left -= 1
        self.reached = at
        return True

    def count_at(self, at: int, kind: int) -> int:
        """The number in a line of this kind; ``reached`` moves after it; -1 if incomplete."""
        stop = mem.find(self.p, at, min(self.end, at + LONGEST_LINE), CR)
        if stop < 0 and self.end - at >= LONGEST_LINE:
            raise ProtocolError("a line that is too long")
        if stop < 0 or stop + 2 > self.end:
            return -1
        good, count = mem.parse_int(self.p, at + 1, stop - at - 1)
        if self.p[at] != kind or not good or count < 0:
            raise ProtocolError("no entries of a stream")
        self.reached = stop + 2
        return count

    def put_entry(self) -> None:
        """Add the command for the complete entry."""
        id_size = self.id_end - self.id_at
        words_size = self.reached - self.at
        head_size = len(self.head)
        self.need(head_size + id_size + words_size + 2 * LONGEST_LINE)
        head: mem.Source = self.head
        o = self.size
        self.o[o] = STAR
        o = mem.put_uint(self.o, o + 1, self.words + 3)
        o = self.put_line_end(o)
        mem.copy(self.o, o, head, 0, head_size)
        o += head_size
        self.o[o] = DOLLAR
        o = mem.put_uint(self.o, o + 1, id_size)
        o = self.put_line_end(o)
        mem.copy(self.o, o, self.p, self.id_at, id_size)
        o = self.put_line_end(o + id_size)
        mem.copy(self.o, o, self.p, self.at, words_size)
        self.size = o + words_size
        self.entries += 1
        self.left -= 1
        self.words_left = UNKNOWN
        self.at = self.reached

    def put_line_end(self, o: int) -> int:
        """CR and LF."""
        self.o[o] = 13
        self.o[o + 1] = 10
        return o + 2

    def need(self, room: int) -> None:
        """Make sure that ``room`` more bytes of commands fit."""
        if len(self.out) - self.size < room:
            self.out = mem.widened(self.o, 0, self.size, 2 * (self.size + room))
            self.o = self.out
