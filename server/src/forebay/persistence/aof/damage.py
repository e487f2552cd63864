"""Damage of an AOF, and whether it is only an unfinished end.

A server that dies leaves an unfinished end; a power failure may also leave zeros, or take
one page and keep the next.  No client had a reply for those bytes: they are cut off (and
kept next to the file).  Anything else is damage to data that was safe, and then the
server must not start as if nothing had happened.

    judged by             an unfinished end if
    the rest of the file  no good record follows
    marks, zeros          one follows, but the damage is lost pages (zeros to the end
                          of a page) and no mark says that this place was synced
    who wrote it          without seals (a Redis wrote it): no command follows

Where the cut is
  1. Ours: after the last valid seal.  A unit without its seal was not confirmed to any
     client, and cannot be verified.  Units of a turn that share a seal are cut together.
  2. Of a Redis: after the last whole unit, as Redis itself does.  If a seal of ours
     covers that part and is wrong, nothing is cut: the cut would remove all of it.
"""

from __future__ import annotations

import re
from shlex import quote

from forebay.persistence.aof.scanner import FULL, MORE, UNFIT, AofScanner
from forebay.persistence.aof.seals import SEAL_HEAD, SEAL_SIZE, TURN_HEAD, mark_line
from forebay.persistence.aof.window import AofWindow
from forebay.persistence.files import PIECE, Disk, ReadFile
from forebay.wire.chars import MULTI

PAGE = 4096
MARK_HEAD = mark_line(0)[:6]
SELECT = b"*2\r\n$6\r\nSELECT\r\n"
#: How often the rest of a file may be scanned before we assume that there are good records.
WALKS = 16


#: The beginning of an AOF: '#' lines of either server, and a command.
FIRST_RECORD = re.compile(rb"(#[A-Z]+:[0-9a-f]+\r\n)*\*[0-9]+\r\n\$[0-9]+\r\n")
#: The same, if the file ends before that is complete.
CUT_SHORT = re.compile(
    rb"(#[A-Z]+:[0-9a-f]+\r\n)*(#[A-Z]*(:[0-9a-f]*\r?)?|\*[0-9]*(\r(\n(\$[0-9]*\r?)?)?)?)?"
)


class Damage:
    """Where an AOF stops being valid."""

    def __init__(self, path: str, offset: int, crc: int, file_size: int, reason: str) -> None:
        self.path = path
        #: Everything before it is good; the size after a cut.
        self.offset = offset
        #: The checksum of everything before it.
        self.crc = crc
        self.file_size = file_size
        self.reason = reason
        #: Whether it is an unfinished end.
        self.is_tail = True
        #: Why it is not an unfinished end.
        self.objection = ""

    @property
    def lost_bytes(self) -> int:
        """How many bytes a cut would remove."""
        return self.file_size - self.offset

    @property
    def cure(self) -> str:
        """The command that cuts the file there."""
        return f"forebay check --fix --cut-at {self.offset} {quote(self.path)}"


class Survey:
    """The good part of the rest of a file."""

    def __init__(self) -> None:
        #: Where the first good record begins, -1 if there is none.
        self.first_at = -1
        #: The furthest mark in the good records.
        self.synced = 0
        self.budget = 0


def judge(disk: Disk, path: str, scanner: AofScanner, code: int) -> Damage | None:
    """Why the scanner stopped here; None if the file just ends here.

    ``code`` is its last answer; MORE means the end of the file.
    """
    with disk.open_read(path) as file:
        is_redis = is_by_redis(file, scanner)
        is_whole = code == MORE and scanner.pos == scanner.end and not scanner.in_multi
        is_bare = not is_redis and scanner.unit_at > scanner.seal_at
        if is_whole and not is_bare:
            return None
        offset, crc = scanner.seal_at, scanner.seal_crc
        if is_redis and code != UNFIT:
            offset, crc = scanner.unit_at, scanner.unit_crc
        damage = Damage(path, offset, crc, file.size, describe_stop(scanner, code, is_whole))
        stop = scanner.pos + scanner.shift
        survey = look_behind(file, stop, scanner.crc if code == UNFIT else None)
        if is_redis:
            damage.objection = foreign_objection(file, code, stop, survey)
        else:
            damage.objection = objection(file, damage, scanner, survey)
    damage.is_tail = not damage.objection
    return damage


def begins_like_aof(file: ReadFile) -> bool:
    """Whether a file begins like an AOF, and is not something else."""
    file.seek(0)
    head = file.read(PAGE)
    return bool(FIRST_RECORD.match(head) or CUT_SHORT.fullmatch(head))


def describe_stop(scanner: AofScanner, code: int, is_whole: bool) -> str:
    """A description of the damage."""
    if code != MORE:
        return scanner.reason
    if is_whole:
        return "a record without its checksum"
    return "MULTI without EXEC" if scanner.pos == scanner.end else "an unfinished record"


def is_by_redis(file: ReadFile, scanner: AofScanner) -> bool:
    """Whether a Redis wrote the bytes after the last good seal."""
    if begins_like_redis(file, scanner.seal_at):
        return True
    # Each file of ours has a seal as its first line; that one may be damaged.
    return scanner.seals == 0 and (
        scanner.lacks_seals() or find_seal(file, scanner.seal_at) is None
    )


def begins_like_redis(file: ReadFile, start: int) -> bool:
    """Whether the first command there is SELECT, without a line of ours before it.

    A Redis that continues a file begins with it, perhaps after MULTI.
    """
    file.seek(start)
    text = file.read(PAGE)
    while text.startswith(b"#"):
        if text.startswith((MARK_HEAD, TURN_HEAD)):
            return False
        text = text.partition(b"\n")[2]
    return text.removeprefix(MULTI).upper().startswith(SELECT)


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


def foreign_objection(file: ReadFile, code: int, stop: int, survey: Survey) -> str:
    """The same for a part without seals."""
    if code == UNFIT:
        return "many records have no checksum of their own"
    if survey.first_at >= 0 or has_commands(file, stop + 1):
        return "more commands follow"
    return ""


def objection(file: ReadFile, damage: Damage, scanner: AofScanner, survey: Survey) -> str:
    """Why the damage is more than an unfinished end; empty if it is not more."""
    if scanner.lacks_seals():
        stop = scanner.pos + scanner.shift
        if not has_lost_pages(file, scanner.seal_at, stop):
            return "many records have no checksum of their own"
    if survey.first_at < 0:
        return ""
    if survey.budget < 0:
        return "there may be good records after it"
    if damage.offset < max(scanner.synced, survey.synced):
        return "it was safe on the disk, and good records follow"
    if not has_lost_pages(file, damage.offset, survey.first_at):
        return "good records follow"
    return ""


def look_behind(file: ReadFile, start: int, crc: int | None) -> Survey:
    """Find the good records after ``start``: a seal, and a record that matches it and the next.

    ``crc`` is the right checksum for the seal at ``start``: if only that line
    is damaged, the next record matches.
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
    """Walk as far as the seals are valid; where the last good record ended."""
    if start >= file.size:
        return start
    window = AofWindow(file, start, crc)
    scanner = window.scanner
    while (code := window.walk_to_seal()) == FULL:
        pass
    if scanner.seals > 0 and survey.first_at < 0:
        survey.first_at = start
    survey.synced = max(survey.synced, scanner.synced)
    survey.budget -= window.read_to - scanner.seal_at
    # The seal that was wrong may begin the next good stretch: it is found again.
    return scanner.seal_at if code != UNFIT else scanner.pos + scanner.shift


def find_seal(file: ReadFile, start: int) -> tuple[int, int] | None:
    """The next seal at or after ``start``: its offset and its value."""
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
    """Whether a whole command begins at the start of a line after ``start``."""
    budget = WALKS * (file.size - start + PIECE)
    at = start
    while (line_at := find_command(file, at)) is not None:
        window = AofWindow(file, line_at)
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
    """The next place at or after ``start`` where a line begins with a star."""
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
