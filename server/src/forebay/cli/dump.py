"""``forebay dump``: what is inside an AOF or a snapshot, as text or as JSON lines.

Reads with the code of the loader, so it shows what a server would load,
up to the first damage; keys are shown one by one and not kept, so that a file
may be larger than memory.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import App, Parameter, Token

from forebay.cli.data_path import DataPath
from forebay.cli.dump_values import ALL, KeyView
from forebay.cli.log_commands import commands_in, keys_of
from forebay.cli.output import Bar, complain, json_of, text_of, write_json
from forebay.commands.api.glob import Glob
from forebay.core.keyspace import Keyspace, Value
from forebay.errors import CorruptDataError, DiskError
from forebay.persistence.aof.loader import AofPart, AofReader
from forebay.persistence.files import Disk
from forebay.persistence.rdb.reader import Read
from forebay.persistence.rdb.snapshot import LoadOptions, SnapshotLoader
from forebay.persistence.verify import DATABASES, Place, look_at

HELP = """\
Show what is inside an AOF or a snapshot.

For an AOF it shows every command with its offset, for a snapshot every key with its type,
length, expiry and groups.

Nothing is changed, and a server may run there: then the end of its AOF may be
incomplete.  Damage is one line on standard error, with the offset, after
everything before it was shown.
"""

EPILOG = """\
exit code: 0 all was shown; 1 something is damaged, or could not be read; 2 wrong usage

examples:
  forebay dump dump.rdb
  forebay dump --keys 'orders:*' appendonlydir | tail
  forebay dump --json --entries 0 . | jq 'select(.type == "stream") | .key'
"""

DEFAULT_ENTRIES = 5

app = App(name="dump", help=HELP, help_epilogue=EPILOG)


def at_least_none(_: Any, tokens: Sequence[Token]) -> int:
    """A number of entries."""
    text = tokens[0].value
    if not text.isdigit():
        raise ValueError(f"'{text}' is no number of entries")
    return int(text)


Keys = Annotated[
    str | None,
    Parameter(
        metavar="PATTERN", help="only keys that match, and commands that name one: 'orders:*'"
    ),
]
Entries = Annotated[
    int | None,
    Parameter(
        metavar="N",
        converter=at_least_none,
        help="show this many entries of a stream, items of a list or set (5, with --json all)",
    ),
]
Json = Annotated[
    bool, Parameter(help='JSON lines; a word that is not UTF-8 becomes {"base64": "..."}')
]


@app.default
def dump(
    path: DataPath, /, *, keys: Keys = None, entries: Entries = None, json: Json = False
) -> int:
    """Show every file that belongs to the path; 1 if one of them is not good to its end."""
    disk = Disk()
    parts = parts_of(disk, str(path))
    teller = Teller(sum(part.size for part in parts), keys, entries, is_json=json)
    try:
        whole = [tell(disk, part, teller) for part in parts]
    finally:
        teller.bar.wipe()
    return 0 if all(whole) else 1


def tell(disk: Disk, part: AofPart, teller: Teller) -> bool:
    """Show one file; whether it was good to its end."""
    try:
        teller.tell_part(disk, part)
    except (CorruptDataError, DiskError) as error:
        teller.bar.wipe()
        sys.stdout.flush()
        complain(error_line(part, error))
        return False
    finally:
        teller.before += part.size
    return True


def parts_of(disk: Disk, path: str) -> list[AofPart]:
    """The files, in the order in which a server loads them."""
    place = Place(disk, path)
    parts: list[AofPart] = []
    if place.manifest is not None:
        loader = place.loader()
        loader.look()
        parts = list(loader.parts())
    for file in place.files:
        single = look_at(disk, file)
        single.is_last = True
        parts.append(single)
    return parts


def error_line(part: AofPart, error: Exception) -> str:
    """The error, with the name of its file."""
    text = str(error)
    return text if part.path in text else f"{part.path}: {text}"


class Teller:
    """Prints commands and keys, in the requested form."""

    def __init__(
        self, total: int, pattern: str | None, entries: int | None, *, is_json: bool
    ) -> None:
        self.is_json = is_json
        self.glob = None if pattern is None else Glob(pattern.encode("utf-8", "surrogateescape"))
        limit = ALL if is_json else DEFAULT_ENTRIES
        self.limit: int = limit if entries is None else entries
        self.total = total
        #: Bytes of the files that are done.
        self.before = 0
        self.bar = Bar("reading")
        # On a terminal the bar would mix with the lines.
        self.bar.is_wanted = self.bar.is_wanted and not sys.stdout.isatty()

    def wants(self, key: bytes) -> bool:
        """Whether a key is asked for."""
        return self.glob is None or self.glob.matches(key)

    def write(self, text: str) -> None:
        """One line for people."""
        sys.stdout.write(text + "\n")

    # Files

    def tell_part(self, disk: Disk, part: AofPart) -> None:
        """One file, from its first byte to its last."""
        if not self.is_json:
            self.write(f"# {part.path}")
        start = self.tell_snapshot(disk, part) if part.kind == "rdb" else 0
        if start < part.size:
            self.tell_commands(disk, part, start)

    def tell_snapshot(self, disk: Disk, part: AofPart) -> int:
        """The keys of a snapshot; where it ends."""
        with disk.open_read(part.path) as file:
            loader = Visitor(file.read, part.size, self)
            for done in loader.steps():
                self.bar(self.before + done, self.total)
            return loader.end

    def tell_commands(self, disk: Disk, part: AofPart, start: int) -> None:
        """The commands of an AOF; CorruptDataError if it does not end as it should."""
        reader = AofReader(disk, part, start)
        try:
            while reader.next_range():
                for at, words in commands_in(reader):
                    if self.glob is None or any(map(self.glob.matches, keys_of(words))):
                        self.tell_command(part, reader.file_offset(at), words)
                self.bar(self.before + reader.done, self.total)
        finally:
            reader.close()
        damage = reader.damage
        if damage is not None:
            raise CorruptDataError(
                f"{part.path}: an unfinished end at offset {damage.offset}: {damage.reason}; "
                f"{damage.lost_bytes:,} bytes are not shown"
            )

    def tell_command(self, part: AofPart, offset: int, words: list[bytes]) -> None:
        """One command."""
        if self.is_json:
            command = [json_of(word) for word in words]
            write_json({"file": part.name, "offset": offset, "command": command})
        else:
            self.write(f"{offset:>10} {' '.join(map(text_of, words))}")

    # Keys

    def tell_key(self, view: KeyView) -> None:
        """One key of a snapshot."""
        if self.is_json:
            write_json(view.facts())
            return
        for line in view.lines():
            self.write(line)

    def tell_foreign(self, db: int, key: bytes | None, name: str, offset: int) -> None:
        """A value of a type that this server does not support, and leaves out or refuses."""
        if self.is_json:
            known = None if key is None else json_of(key)
            write_json({"db": db, "key": known, "type": name, "offset": offset, "foreign": True})
        else:
            shown = "" if key is None else f"{db} {text_of(key)}: "
            self.write(f"{shown}{name}, which this server does not have, at offset {offset}")


class Visitor(SnapshotLoader):
    """A loader that shows each key and keeps none."""

    def __init__(self, read: Read, size: int, teller: Teller) -> None:
        options = LoadOptions(skip_foreign=True, allow_tail=True)
        super().__init__(read, size, Keyspace(DATABASES), options)
        self.teller = teller

    def keep(self, key: bytes, value: Value | None, start: int) -> None:
        """Show it, and do not keep it."""
        if value is not None and self.teller.wants(key):
            view = KeyView(
                self.db.index,
                key,
                value,
                offset=start,
                expires_ms=self.expire_ms,
                limit=self.teller.limit,
            )
            self.teller.tell_key(view)

    def leave_out(self, kind: int, name: str, key: bytes | None) -> None:
        """Show that it is there, and skip it."""
        offset = self.reader.offset
        super().leave_out(kind, name, key)
        if key is None or self.teller.wants(key):
            self.teller.tell_foreign(self.db.index, key, name, offset)
