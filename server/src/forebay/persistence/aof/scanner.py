"""Walks through an AOF: where commands, units and seals end, and whether the seals are valid.

The scanner works on a window of the file, which its caller fills.  It packs the
bytes that it has walked at the front, without the '#' lines, ready to run:

    buf   [ run | good to run | walked, not sealed yet | free | not walked yet | free ]
          0   start         good                      out   pos              end   len

Rules
  1. Bytes become good when their seal is valid, never before; or, in a stretch
     without seals (a Redis wrote it), when ``trust`` says how far.
  2. ``step`` stops before anything that it cannot pass and then changes
     nothing: it may be called again, with or without more bytes in the window.
  3. A command that announces more bytes than the file has is SHORT at once.
     Nothing is allocated here; ``want`` says how many bytes a command needs.
  4. As strict as redis-check-aof: every line ends with CR LF, every length is
     plain decimal, at the top there are only commands and '#' lines.
  5. ``offset_of`` finds the file offset of any byte that is good to run.
"""

from __future__ import annotations

from array import array

from forebay import mem
from forebay.persistence.aof import crc32
from forebay.persistence.aof.seals import SEAL_HEAD, SEAL_SIZE, TURN_HEAD
from forebay.wire.chars import CR, DOLLAR, HASH, LF, STAR

# The answers of step().
MORE = 0  # the window ends inside a command or a line
FULL = 1  # enough is good to run
BAD = 2  # the bytes at pos are not an AOF; reason says why
SHORT = 3  # the command at pos does not fit in the rest of the file
UNFIT = 4  # the seal at pos does not match the bytes before it
PASSED = 5  # internal: the piece was fine

# Negative answers of the internal functions.
MORE_PLEASE = -1
REFUSED = -2
TOO_LONG = -3

# Redis reads lines into 128 bytes.
LONGEST_LINE = 127
LONGEST_HEADER = 24
# "$0", CR LF, CR LF
SHORTEST_WORD = 6
SYNC_HEAD = b"#SYNC:"
REPL_HEAD = b"#REPL:"
#: SELECT and a command are one unit of ours, and look like two.
COMMANDS_OF_ONE_UNIT = 2
MULTI_WORD = b"MULTI"
EXEC_WORD = b"EXEC"


class AofScanner:
    """The walk through one file."""

    def __init__(self, file_size: int, offset: int = 0, crc: int = 0) -> None:
        self.file_size = file_size
        self.buf = bytearray()
        self.p: mem.Pointer = self.buf
        self.start = 0
        self.good = 0
        self.out = 0
        self.pos = 0
        self.end = 0
        #: The file offset of a byte not walked yet is its index plus this.
        self.shift = offset
        self.limit = 1 << 18
        self.want = 0
        self.reason = ""
        #: The checksum of all walked bytes, and its value after the last unit and the last seal.
        self.crc = crc
        self.unit_crc = crc
        self.seal_crc = crc
        self.in_multi = False
        #: Ends in the packed bytes and in the file.
        self.unit_end = 0
        self.unit_at = offset
        self.seal_at = offset
        self.good_at = offset
        self.trusted = -1
        #: The furthest mark in sealed bytes, and one that waits for its seal.
        self.synced = 0
        self.next_synced = 0
        #: The offset in a primary's stream that sealed bytes lead to: None if the file names none,
        #: empty if units follow the last one named.  And the same, waiting for its seal.
        self.position: bytes | None = None
        self.next_position: bytes | None = None
        self.commands = 0
        self.units = 0
        self.seals = 0
        self.units_since_seal = 0
        #: How many units the next seal covers, according to the line before them.
        self.joined = 1
        self.turns: array[int] = array("Q", (0, offset))
        self.n_turns = 1

    def step(self) -> int:
        """Walk until something needs an action of the caller."""
        while self.pos < self.end:
            if self.good - self.start >= self.limit:
                return FULL
            kind = self.p[self.pos]
            if kind == STAR:
                code = self.pass_command()
            elif kind == HASH:
                code = self.pass_line()
            else:
                self.reason = "a byte that begins neither a command nor a comment"
                code = BAD
            if code != PASSED:
                return code
        self.want = self.end + 1
        return MORE

    # Commands

    def pass_command(self) -> int:
        """Take the command at pos."""
        at = self.pos
        end = self.walk_command()
        if end < 0:
            return self.stopped(end)
        if self.is_word(at, MULTI_WORD, 5):
            if self.in_multi:
                self.reason = "MULTI inside of MULTI"
                return BAD
            self.in_multi = True
        elif self.in_multi and self.is_word(at, EXEC_WORD, 4):
            self.in_multi = False
        self.crc = crc32.update(self.crc, self.p, at, end)
        if self.out != at:
            mem.move(self.p, self.out, at, end - at)
        self.out += end - at
        self.pos = end
        self.commands += 1
        if not self.in_multi:
            self.end_unit()
        return PASSED

    def stopped(self, end: int) -> int:
        """The answer of step() for the answer of an internal function."""
        if end == MORE_PLEASE:
            return MORE
        return SHORT if end == TOO_LONG else BAD

    def end_unit(self) -> None:
        """A whole unit has been read."""
        self.units += 1
        self.units_since_seal += 1
        self.next_position = b""
        self.unit_end = self.out
        self.unit_at = self.pos + self.shift
        self.unit_crc = self.crc
        if self.unit_at <= self.trusted:
            self.good = self.out
            self.good_at = self.unit_at

    def walk_command(self) -> int:
        """The index after the command at pos, or a negative answer."""
        p = self.p
        end = self.end
        at = self.pos
        left = mem.short_line(p, at + 1, end)
        if left > 0 and p[at + 3 + (left > 9)] == LF:
            at += 4 + (left > 9)
        else:
            left, at = self.count_words()
            if at < 0:
                return at
        while left > 0:
            # Nearly all words are shorter than a hundred bytes.
            n = mem.short_line(p, at + 1, end)
            if n >= 0 and p[at] == DOLLAR:
                at += 4 if n < 10 else 5
                if p[at - 1] != LF:
                    self.reason = "a length whose line does not end with CR LF"
                    return REFUSED
            else:
                n, at = self.word_size(at)
                if at < 0:
                    return at
            if end - at - 2 < n:
                return self.missing(at, n)
            at += n + 2
            if p[at - 2] != CR or p[at - 1] != LF:
                self.reason = "a word without CR LF after it"
                return REFUSED
            left -= 1
        return at

    def count_words(self) -> tuple[int, int]:
        """How many words the command at pos has, and the index after that line."""
        left, at = self.number(self.pos)
        if at < 0:
            return 0, at
        if left < 1:
            self.reason = "a command without words"
            return 0, REFUSED
        if left > (self.file_size - at - self.shift) // SHORTEST_WORD:
            self.reason = "a command that goes on past the end of the file"
            return 0, TOO_LONG
        return left, at

    def word_size(self, at: int) -> tuple[int, int]:
        """The length at ``at`` and the index after it, or a negative answer there."""
        if at >= self.end:
            return 0, self.at_end()
        if self.p[at] != DOLLAR:
            self.reason = "a word that does not begin with its length"
            return 0, REFUSED
        return self.number(at)

    def number(self, at: int) -> tuple[int, int]:
        """The number in the line at ``at`` after its first byte, and the index after the line."""
        stop = min(self.end, at + LONGEST_HEADER)
        lf = mem.find(self.p, at, stop, LF)
        if lf < 0:
            if stop == self.end:
                return 0, self.at_end()
            self.reason = "a length that does not end"
            return 0, REFUSED
        ok, n = mem.parse_int(self.p, at + 1, max(lf - at - 2, 0))
        if not ok or n < 0 or self.p[lf - 1] != CR:
            self.reason = "a length that is no number"
            return 0, REFUSED
        return n, lf + 1

    def missing(self, at: int, n: int) -> int:
        """A word of n bytes at ``at`` ends beyond the window: is there more in the file?"""
        if n > self.file_size - 2 - at - self.shift:
            self.reason = "a command that goes on past the end of the file"
            return TOO_LONG
        self.want = at + n + 2
        return MORE_PLEASE

    def at_end(self) -> int:
        """The window ends where more bytes are needed."""
        self.want = self.end + 1
        return MORE_PLEASE

    def is_word(self, at: int, word: bytes, n: int) -> bool:
        """Whether the whole command at ``at`` is this one word, in any letter case."""
        p = self.p
        return (
            p[at + 1] == 49
            and p[at + 2] == CR
            and p[at + 5] == 48 + n
            and p[at + 6] == CR
            and mem.same_word(p, at + 8, n, word, n)
        )

    # Lines

    def pass_line(self) -> int:
        """Take the '#' line at pos."""
        at = self.pos
        stop = min(self.end, at + LONGEST_LINE)
        lf = mem.find(self.p, at, stop, LF)
        if lf < 0:
            if stop == self.end:
                self.want = self.end + 1
                return MORE
            self.reason = "a comment that does not end"
            return BAD
        if lf - at > 4 and mem.equal(self.p, at, SEAL_HEAD, 0, 5):
            if not self.pass_seal(lf + 1):
                return self.refuse_seal(lf + 1)
        else:
            self.crc = crc32.update(self.crc, self.p, at, lf + 1)
            if lf - at > 7 and mem.equal(self.p, at, SYNC_HEAD, 0, 6):
                self.pass_mark(lf)
            elif lf - at > 7 and mem.equal(self.p, at, REPL_HEAD, 0, 6):
                self.next_position = mem.to_bytes(self.p, at + 6, lf - at - 6)
            elif lf - at > 7 and mem.equal(self.p, at, TURN_HEAD, 0, 6):
                self.pass_join(lf)
        self.pos = lf + 1
        self.turn()
        return PASSED

    def pass_seal(self, end: int) -> bool:
        """Whether the seal at pos is valid; then all bytes before it are good to run."""
        if self.seal_value(end) != self.crc or self.in_multi:
            return False
        self.seals += 1
        self.good = self.out
        self.unit_end = self.out
        self.unit_at = end + self.shift
        self.seal_at = self.unit_at
        self.good_at = self.unit_at
        self.unit_crc = self.crc
        self.seal_crc = self.crc
        self.units_since_seal = 0
        self.joined = 1
        self.synced = max(self.synced, self.next_synced)
        self.position = self.next_position
        return True

    def refuse_seal(self, end: int) -> int:
        """Record the fault of the seal at pos."""
        if self.seal_value(end) < 0:
            self.reason = "a checksum line that is none"
            return BAD
        if self.in_multi:
            self.reason = "a checksum inside of MULTI"
            return BAD
        self.reason = "a record that does not fit its checksum"
        return UNFIT

    def seal_value(self, end: int) -> int:
        """The number in the seal from pos to ``end``, -1 if it is not a seal."""
        p = self.p
        at = self.pos
        value = 0
        if end - at != SEAL_SIZE or p[end - 2] != CR:
            return -1
        for i in range(at + 5, at + 13):
            digit = p[i]
            if 48 <= digit <= 57:
                digit = digit - 48
            elif 97 <= digit <= 102:
                digit = digit - 87
            else:
                return -1
            value = value * 16 + digit
        return value

    def pass_mark(self, lf: int) -> None:
        """Read how far the file was synced; a mark beyond its own place is ignored."""
        at = self.pos + 6
        ok, offset = mem.parse_int(self.p, at, lf - 1 - at)
        if ok and 0 <= offset <= self.pos + self.shift:
            self.next_synced = max(self.next_synced, offset)

    def pass_join(self, lf: int) -> None:
        """Read how many units share their seal."""
        ok, count = mem.parse_int(self.p, self.pos + 6, lf - 7 - self.pos)
        if ok and count > 0:
            self.joined = count

    def lacks_seals(self) -> bool:
        """Whether more units wait for a seal than one of our seals covers."""
        return self.units_since_seal > COMMANDS_OF_ONE_UNIT * self.joined

    # The window

    def trust(self, offset: int) -> None:
        """Units that end at or before this offset are good to run without a seal."""
        self.trusted = offset
        if self.unit_at <= offset and self.unit_end > self.good:
            self.good = self.unit_end
            self.good_at = self.unit_at

    def make_room(self, least: int) -> int:
        """Drop the bytes that were run and make room for ``least`` more; how much room there is.

        All bytes that are good to run must have been run: they are dropped.
        """
        drop = self.good
        rest = self.end - self.pos
        keep = self.out - drop
        mem.move(self.p, 0, drop, keep)
        mem.move(self.p, keep, self.pos, rest)
        if len(self.buf) - keep - rest < least:
            room = max(2 * len(self.buf), keep + rest + least)
            self.buf = mem.widened(self.p, 0, keep + rest, room)
            self.p = self.buf
        self.shift += self.pos - keep
        self.unit_end -= drop
        self.start = 0
        self.good = 0
        self.out = keep
        self.pos = keep
        self.end = keep + rest
        self.drop_turns(drop)
        return len(self.buf) - self.end

    def add(self, data: bytes) -> None:
        """More bytes of the file were read, after those in the window."""
        n = len(data)
        if n > len(self.buf) - self.end:
            raise ValueError("more bytes than room was made for")
        mem.copy(self.p, self.end, data, 0, n)
        self.end += n

    # The origin of a packed byte

    def turn(self) -> None:
        """A line was left out: from here on packed bytes are further from their offset."""
        n = self.n_turns
        if 2 * n + 2 > len(self.turns):
            self.turns.extend(self.turns)
        w = mem.words(self.turns)
        if w[2 * n - 2] == self.out:
            n -= 1
        w[2 * n] = self.out
        w[2 * n + 1] = self.pos + self.shift
        self.n_turns = n + 1

    def drop_turns(self, drop: int) -> None:
        """Packed bytes before ``drop`` were removed."""
        turns = self.turns
        first = self.find_turn(drop)
        place = turns[2 * first + 1] + drop - turns[2 * first]
        kept = array("Q", (0, place))
        for i in range(first + 1, self.n_turns):
            kept.append(turns[2 * i] - drop)
            kept.append(turns[2 * i + 1])
        self.n_turns = len(kept) // 2
        self.turns = kept

    def find_turn(self, at: int) -> int:
        """The last turn at or before a packed byte."""
        low, high = 0, self.n_turns
        while high - low > 1:
            middle = (low + high) // 2
            if self.turns[2 * middle] <= at:
                low = middle
            else:
                high = middle
        return low

    def offset_of(self, at: int) -> int:
        """The file offset of buf[at], which is good to run."""
        i = self.find_turn(at)
        return self.turns[2 * i + 1] + at - self.turns[2 * i]
