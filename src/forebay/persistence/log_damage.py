"""What is wrong with a log, and whether it is only an end that was never finished.

A server that dies leaves an unfinished end; a power failure may also leave
zeros, or take one page and keep the next.  That is nobody's fault and nobody
was promised those bytes: they are cut off (and kept beside the file).  Anything
else is damage to data that was safe, and then the server must not start as if
nothing had happened.

    judged by             an unfinished end if
    the rest of the file  no good record follows
    marks, zeros          one follows, but the damage is lost pages (zeros up to the end
                          of a page) and no mark says that this place was synced
    who wrote it          where no seals are (a Redis wrote it): no command follows

Where the cut is
  1. Behind the last unit that its seal vouches for.
  2. Whole units behind that, which no seal covers, are kept as Redis would keep
     them; but not if lost pages show in them, and not if something stands in the
     place of their seal.
"""

from __future__ import annotations

from forebay.persistence.files import Disk, ReadFile
from forebay.persistence.log_scan import BAD, FULL, MORE, UNFIT, LogScanner
from forebay.persistence.log_window import LogWindow
from forebay.persistence.records import SEAL_HEAD, SEAL_SIZE, seal_line

PAGE = 4096
PIECE = 1 << 20
#: SELECT and a command make one unit of ours, and look like two.
UNITS_OF_ONE_SEAL = 2
#: How often the rest of a file may be walked before we say: there may be good records.
WALKS = 16


class Damage:
    """Where a log stops to be one."""

    def __init__(self, path: str, offset: int, crc: int, file_size: int, reason: str) -> None:
        self.path = path
        #: Everything before it is good; what a cut would leave.
        self.offset = offset
        #: The checksum of what is before it.
        self.crc = crc
        self.file_size = file_size
        self.reason = reason
        #: Whether it is an unfinished end.
        self.is_tail = True
        #: Why it is no unfinished end.
        self.objection = ""

    @property
    def lost_bytes(self) -> int:
        """What a cut would take."""
        return self.file_size - self.offset


class Survey:
    """What is good in the rest of a file."""

    def __init__(self) -> None:
        #: Where the first good record begins, -1 if there is none.
        self.first_at = -1
        #: The furthest mark in the good records.
        self.synced = 0
        self.budget = 0


def judge(disk: Disk, path: str, scanner: LogScanner, code: int) -> Damage | None:
    """What it means that the scanner stopped here; None if the file just ends here.

    ``code`` is its last answer; MORE stands for the end of the file.
    """
    with disk.open_read(path) as file:
        has_lost = shows_lost_pages(file, scanner)
        is_whole = scanner.pos == scanner.end and not scanner.in_multi
        if code == MORE and is_whole and not has_lost:
            return None
        damage = locate(file, scanner, code, has_lost)
        stop = scanner.pos + scanner.shift
        survey = look_behind(file, stop, scanner.crc if code == UNFIT else None)
        if not has_lost and is_foreign(file, scanner, damage.offset):
            damage.objection = foreign_objection(file, code, stop, survey)
        else:
            damage.objection = objection(file, damage, scanner, survey)
    damage.is_tail = not damage.objection
    return damage


def locate(file: ReadFile, scanner: LogScanner, code: int, has_lost: bool) -> Damage:
    """Where the good part ends."""
    rest = bytes(scanner.buf[scanner.pos : scanner.end])[:SEAL_SIZE]
    reason = scanner.reason
    if code == MORE:
        reason = "an unfinished record" if rest else "MULTI without EXEC"
        if not rest and not scanner.in_multi:
            reason = "a record without its checksum, parts of which were never written"
    # Something else in the place of the seal: then what is before it is no better.  The
    # first part of the right one, and zeros, are what a torn write leaves.
    rest = rest.rstrip(b"\0")
    is_ours = scanner.seals > 0 and scanner.units_since_seal <= UNITS_OF_ONE_SEAL
    is_in_place = rest[:5] == SEAL_HEAD[: len(rest)] or (is_ours and code == BAD)
    is_wrong = is_in_place and not seal_line(scanner.crc).startswith(rest)
    if code == UNFIT or is_wrong or has_lost:
        return Damage(file.path, scanner.seal_at, scanner.seal_crc, file.size, reason)
    return Damage(file.path, scanner.unit_at, scanner.unit_crc, file.size, reason)


def shows_lost_pages(file: ReadFile, scanner: LogScanner) -> bool:
    """Whether zeros up to the end of a page lie in what should have been sealed by us.

    Many units without a seal were written by a Redis, whose words may hold zeros.
    """
    if scanner.seals == 0 or scanner.unit_at == scanner.seal_at:
        return False
    stop = scanner.unit_at
    if scanner.units_since_seal > UNITS_OF_ONE_SEAL:
        # Only the head of the first one: a MULTI that lost its name.
        stop = min(stop, scanner.seal_at + 32)
    return has_lost_pages(file, scanner.seal_at, stop)


def has_lost_pages(file: ReadFile, start: int, stop: int) -> bool:
    """Whether a page that ends in file[start:stop], or the file's end there, ends with a zero."""
    file.seek(start)
    at = start
    while at < stop and (data := file.read(min(PIECE, stop - at))):
        first = PAGE - 1 - at % PAGE
        if 0 in data[first::PAGE]:
            return True
        at += len(data)
        if at == file.size and data[-1] == 0:
            return True
    return False


def is_foreign(file: ReadFile, scanner: LogScanner, offset: int) -> bool:
    """Whether the damaged part was written by a Redis: without seals."""
    if scanner.units_since_seal > UNITS_OF_ONE_SEAL:
        return True
    return scanner.seals == 0 and find_seal(file, offset) is None


def foreign_objection(file: ReadFile, code: int, stop: int, survey: Survey) -> str:
    """The same where no seals are."""
    if code == UNFIT:
        return "many records have that one checksum"
    if survey.first_at >= 0 or has_commands(file, stop + 1):
        return "more commands follow"
    return ""


def objection(file: ReadFile, damage: Damage, scanner: LogScanner, survey: Survey) -> str:
    """Why the damage is more than an unfinished end; empty if it is not."""
    if survey.first_at < 0:
        return ""
    if survey.budget < 0:
        return "there may be good records behind it"
    if damage.offset < max(scanner.synced, survey.synced):
        return "it was safe on the disk, and good records follow"
    if not has_lost_pages(file, damage.offset, survey.first_at):
        return "good records follow"
    return ""


def look_behind(file: ReadFile, start: int, crc: int | None) -> Survey:
    """Find the good records behind ``start``: a seal, and a record that fits it and the next.

    ``crc`` is the checksum that the seal at ``start`` should have been: if only
    that line is damaged, the next record fits.
    """
    survey = Survey()
    survey.budget = WALKS * (file.size - start + PIECE)
    at = start
    if crc is not None:
        end = walk(file, survey, start + SEAL_SIZE, crc)
        at = end if survey.first_at >= 0 else start
    while (found := find_seal(file, at)) is not None:
        line_at, value = found
        at = max(walk(file, survey, line_at + SEAL_SIZE, value), line_at + SEAL_SIZE)
        if survey.budget < 0:
            survey.first_at = line_at
            break
    return survey


def walk(file: ReadFile, survey: Survey, start: int, crc: int) -> int:
    """Walk as far as the seals fit; where the last good record ended."""
    if start >= file.size:
        return start
    window = LogWindow(file, start, crc)
    scanner = window.scanner
    while (code := window.walk_to_seal()) == FULL:
        pass
    if scanner.seals > 0 and survey.first_at < 0:
        survey.first_at = start
    survey.synced = max(survey.synced, scanner.synced)
    survey.budget -= window.read_to - scanner.seal_at
    # The seal that did not fit may begin the next good stretch: it is found again.
    return scanner.seal_at if code != UNFIT else scanner.pos + scanner.shift


def find_seal(file: ReadFile, start: int) -> tuple[int, int] | None:
    """The next seal at or behind ``start``: its offset and its value."""
    at = start
    file.seek(at)
    held = b""
    while data := file.read(PIECE):
        held += data
        hit = held.find(SEAL_HEAD)
        while hit >= 0:
            line = held[hit : hit + SEAL_SIZE]
            if len(line) == SEAL_SIZE and is_seal(line):
                return at + hit, int(line[5:13], 16)
            hit = held.find(SEAL_HEAD, hit + 1)
        keep = min(len(held), SEAL_SIZE - 1)
        at += len(held) - keep
        held = held[len(held) - keep :]
    return None


def is_seal(line: bytes) -> bool:
    """Whether these bytes are a seal."""
    digits = line[5:13]
    return line.endswith(b"\r\n") and all(c in b"0123456789abcdef" for c in digits)


def has_commands(file: ReadFile, start: int) -> bool:
    """Whether a whole command begins at the start of a line behind ``start``."""
    budget = WALKS * (file.size - start + PIECE)
    at = start
    while (line_at := find_command(file, at)) is not None:
        window = LogWindow(file, line_at)
        while window.scanner.step() == MORE and window.more():
            pass
        if window.scanner.commands > 0:
            return True
        budget -= window.read_to - line_at
        if budget < 0:
            return True
        at = line_at
    return False


def find_command(file: ReadFile, start: int) -> int | None:
    """The next place at or behind ``start`` where a line begins with a star."""
    at = start
    file.seek(at)
    held = b""
    while data := file.read(PIECE):
        held += data
        hit = held.find(b"\r\n*")
        if hit >= 0:
            return at + hit + 2
        keep = min(len(held), 2)
        at += len(held) - keep
        held = held[len(held) - keep :]
    return None
