"""The whole keyspace in one RDB file, out and in.

    save(keyspace, sink, options)            a generator: iterate to its end
    SnapshotLoader(read, size, keyspace, options).steps()       the same for reading

    REDIS0010 | AUX .. | SELECT 0 RESIZE | [AUX stream] [EXPIRE] type key value | .. | END crc

Neither uses a disk or a clock: bytes go to a ``sink`` and come from a ``read``, and the time
is an option.  Both pause often, so that a server can answer clients meanwhile, or a child can
report its progress.  The keyspace must not change while it is saved (a child of fork() has
its own).

Rules
  1. A file is either completely valid or refused: every CorruptDataError names an offset.
     The checksum is compared after all keys are read; until then the loaded data must not be
     used.
  2. Whatever version is chosen, nothing is lost: see stream_extra.py.
  3. A value of an unsupported type is refused, with its key, or skipped and counted if the
     options say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from forebay import __version__
from forebay.core.keyspace import Database, Keyspace, Value
from forebay.core.stream import Stream
from forebay.errors import CorruptDataError
from forebay.persistence.rdb import foreign, stream_extra, values
from forebay.persistence.rdb.format import (
    AUX,
    CHECKSUM_SINCE,
    CHECKSUM_SIZE,
    DEFAULT_VERSION,
    END,
    EXPIRE_MS,
    EXPIRE_S,
    FREQ,
    HEAD_SIZE,
    IDLE,
    MAGIC,
    NEWEST_VERSION,
    OLDEST_VERSION,
    RESIZE,
    SELECT,
    SLOT_INFO,
    STREAM_EXTRA,
    STREAM_NAME,
    STREAM_TYPES,
    STRING,
    VERSIONS,
    WRITTEN_BY,
)
from forebay.persistence.rdb.reader import RdbReader, Read
from forebay.persistence.rdb.stream_extra import Extra, IdmpState
from forebay.persistence.rdb.writer import RdbWriter, Sink

#: A pause follows after this many bytes, or this many keys.
BYTES_A_STEP = 1 << 16
KEYS_A_STEP = 1000
READ_BYTES_A_STEP = 1 << 20
#: How much of a key's name an error shows.
NAME_SHOWN = 80


@dataclass(slots=True)
class SaveOptions:
    """How to write a file."""

    #: A key of rdb_format.VERSIONS: the oldest Redis that must be able to load it.
    version: str = DEFAULT_VERSION
    compress: bool = True
    checksum: bool = True
    #: More facts for the head: ctime, used-mem, aof-base.
    aux: list[tuple[bytes, bytes]] = field(default_factory=list)


@dataclass(slots=True)
class LoadOptions:
    """How to read a file."""

    now_ms: int = 0
    #: Skip expired keys; not for the base of an AOF.
    drop_expired: bool = False
    #: Skip values of unsupported types, and count them.
    skip_foreign: bool = False
    #: Put placeholders at their keys: an AOF follows that may name them (engine/foreign.py).
    hold_foreign: bool = False
    verify_checksum: bool = True
    #: Other data may follow the snapshot in the same file; ``end`` says where.
    allow_tail: bool = False
    #: An existing key is replaced; otherwise it is an error of the file.
    replace: bool = False
    #: For streams of a Redis without idempotency.
    idmp_duration_s: int = stream_extra.DEFAULT_DURATION_S
    idmp_maxsize: int = stream_extra.DEFAULT_MAXSIZE


# -- saving -----------------------------------------------------------------------


def save(keyspace: Keyspace, sink: Sink, options: SaveOptions | None = None) -> Iterator[int]:
    """Write everything to the sink; yields the number of keys written so far."""
    options = SaveOptions() if options is None else options
    version = VERSIONS[options.version]
    writer = RdbWriter(sink, options.compress, options.checksum)
    writer.raw(b"%s%04d" % (MAGIC, version.rdb))
    own = [
        (b"redis-ver", version.redis),
        (b"redis-bits", b"64"),
        (WRITTEN_BY, __version__.encode()),
    ]
    for name, text in own + options.aux:
        write_aux(writer, name, text)
    keys = 0
    told_bytes = 0
    for db in keyspace.databases:
        if not db.values:
            continue
        write_database_head(writer, db)
        for key, value in db.values.items():
            for _ in write_key(writer, db, key, value, version.stream_type):
                if writer.written - told_bytes >= BYTES_A_STEP:
                    told_bytes = writer.written
                    yield keys
            keys += 1
            if keys % KEYS_A_STEP == 0 or writer.written - told_bytes >= BYTES_A_STEP:
                told_bytes = writer.written
                yield keys
    writer.byte(END)
    writer.finish()
    yield keys


def write_aux(writer: RdbWriter, name: bytes, text: bytes) -> None:
    """A fact that readers may skip."""
    writer.byte(AUX)
    writer.string(name)
    writer.string(text)


def write_database_head(writer: RdbWriter, db: Database) -> None:
    """The number of a database, and its size."""
    writer.byte(SELECT)
    writer.length(db.index)
    writer.byte(RESIZE)
    writer.length(len(db.values))
    writer.length(len(db.expires))


def write_key(
    writer: RdbWriter, db: Database, key: bytes, value: Value, stream_type: int
) -> Iterator[None]:
    """One key with everything that belongs to it."""
    if isinstance(value, Stream):
        extra = stream_extra.of_stream(value, stream_type)
        if extra is not None:
            write_aux(writer, STREAM_EXTRA, stream_extra.encode(extra))
    when_ms = db.expires.get(key)
    if when_ms is not None:
        writer.byte(EXPIRE_MS)
        writer.le64(when_ms)
    writer.byte(values.type_of(value, stream_type))
    writer.string(key)
    return values.write_steps(writer, value, stream_type)


# -- loading ----------------------------------------------------------------------


class SnapshotLoader:
    """Reads a file of ``size`` bytes into a keyspace."""

    def __init__(
        self, read: Read, size: int, keyspace: Keyspace, options: LoadOptions | None = None
    ) -> None:
        self.keyspace = keyspace
        self.options = LoadOptions() if options is None else options
        self.reader = RdbReader(read, size)
        self.version = 0
        self.keys_loaded = 0
        self.keys_expired = 0
        #: Lists and sets without elements, which Redis leaves out too.
        self.keys_empty = 0
        #: Skipped values: name of the type -> how many.
        self.foreign: dict[str, int] = {}
        self.aux: dict[bytes, bytes] = {}
        #: Where the snapshot ends, after it was read.
        self.end = 0
        self.db = keyspace.databases[0]
        self.expire_ms: int | None = None
        self.extra: Extra | None = None
        self.told_bytes = 0

    def load(self) -> None:
        """Read everything at once."""
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[int]:
        """Read everything; yields the number of bytes read so far."""
        self.read_head()
        reader = self.reader
        seen = 0
        while (kind := reader.byte()) != END:
            handler = HANDLERS.get(kind)
            if handler is not None:
                handler(self)
            else:
                for _ in self.read_key(kind):
                    if reader.offset - self.told_bytes >= READ_BYTES_A_STEP:
                        yield self.tell()
            seen += 1
            if seen % KEYS_A_STEP == 0 or reader.offset - self.told_bytes >= READ_BYTES_A_STEP:
                yield self.tell()
        self.read_foot()
        yield self.tell()

    def tell(self) -> int:
        """How many bytes were read."""
        self.told_bytes = self.reader.offset
        return self.told_bytes

    def read_head(self) -> None:
        """Magic and version."""
        reader = self.reader
        head = reader.raw(HEAD_SIZE) if reader.size >= HEAD_SIZE else b""
        if not head.startswith(MAGIC) or not head[5:].isdigit():
            raise CorruptDataError(
                "this is not an RDB file: it does not begin with REDIS, at offset 0"
            )
        self.version = int(head[5:])
        if self.version > NEWEST_VERSION:
            raise CorruptDataError(
                f"RDB version {self.version} is newer than {NEWEST_VERSION},"
                " the newest that this program reads, at offset 5"
            )
        if self.version < OLDEST_VERSION:
            raise CorruptDataError(f"there is no RDB version {self.version}, at offset 5")

    def read_foot(self) -> None:
        """Check the checksum, and that nothing follows."""
        reader = self.reader
        if self.version >= CHECKSUM_SINCE:
            computed = reader.sum_up()
            stored = reader.le(CHECKSUM_SIZE)
            # Zero means that there is none.
            if self.options.verify_checksum and stored not in (0, computed):
                raise CorruptDataError(
                    f"the checksum is {stored:016x}, but that of the data is {computed:016x},"
                    f" at offset {reader.offset - CHECKSUM_SIZE}"
                )
        self.end = reader.offset
        if reader.left() and not self.options.allow_tail:
            raise reader.fail(f"{reader.left()} bytes follow the end of the snapshot")

    # -- items between keys ---------------------------------------------------------

    def read_aux(self) -> None:
        """A fact about the file, or about the next key."""
        start = self.reader.offset
        name = self.reader.string()
        text = self.reader.string()
        if name != STREAM_EXTRA:
            self.aux[name] = text
            return
        try:
            self.extra = stream_extra.decode(text)
        except CorruptDataError as problem:
            raise CorruptDataError(f"{problem} of a field, at offset {start}") from None

    def read_select(self) -> None:
        """The number of a database."""
        number = self.reader.length()
        if number >= len(self.keyspace.databases):
            raise self.reader.fail(
                f"database {number} is not there: {len(self.keyspace.databases)} are configured"
            )
        self.db = self.keyspace.databases[number]

    def read_resize(self) -> None:
        """The size of a database, which is not needed here."""
        self.reader.length()
        self.reader.length()

    def read_slot_info(self) -> None:
        """Sizes of a slot of a cluster."""
        for _ in range(3):
            self.reader.length()

    def read_expire_ms(self) -> None:
        """When the next key expires."""
        self.expire_ms = self.reader.time_ms()

    def read_expire_s(self) -> None:
        """The same in seconds."""
        self.expire_ms = self.reader.le(4) * 1000

    def read_idle(self) -> None:
        """When the next key was last used."""
        self.reader.length()

    def read_freq(self) -> None:
        """How often the next key is used."""
        self.reader.byte()

    # -- keys ---------------------------------------------------------------------

    def read_string(self) -> None:
        """A key with a string, the most frequent case: without the overhead of a generator."""
        start = self.reader.offset - 1
        key = self.reader.string()
        self.keep(key, self.reader.string(), start)
        self.expire_ms = None
        self.extra = None

    def read_key(self, kind: int) -> Iterator[None]:
        """One key, or a foreign thing between keys."""
        if kind in foreign.OPCODE_NAMES:
            self.leave_out(kind, foreign.OPCODE_NAMES[kind], None)
            return
        start = self.reader.offset - 1
        if not values.can_read(kind) and kind not in foreign.NAMES:
            raise CorruptDataError(f"{kind} is neither a type nor an opcode, at offset {start}")
        key = self.reader.string()
        if not values.can_read(kind):
            self.leave_out(kind, foreign.NAMES[kind], key)
        else:
            defaults = self.idmp_defaults() if kind in STREAM_TYPES else None
            value = yield from values.read_steps(self.reader, kind, self.extra, defaults)
            self.keep(key, value, start)
        self.expire_ms = None
        self.extra = None

    def idmp_defaults(self) -> IdmpState:
        """For streams without such data: built-in settings if we wrote the file, else options."""
        if WRITTEN_BY in self.aux:
            return IdmpState()
        return IdmpState(self.options.idmp_duration_s, self.options.idmp_maxsize)

    def keep(self, key: bytes, value: Value | None, start: int) -> None:
        """Put a value into the keyspace, unless it is empty or expired."""
        if value is None:
            self.keys_empty += 1
            return
        if key in self.db.values and not (self.options.replace and self.db.remove(key)):
            raise CorruptDataError(f"key {shown(key)} is there twice, at offset {start}")
        if self.expire_ms is not None:
            if self.drops_expired and self.expire_ms < self.options.now_ms:
                self.keys_expired += 1
                return
            self.db.put(key, value)
            self.db.expire_at(key, self.expire_ms)
        else:
            self.db.put(key, value)
        self.keys_loaded += 1

    @property
    def drops_expired(self) -> bool:
        """Whether expired keys may be dropped: not if the data has a place in a stream of changes,
        because replicas that continue from there must get a DEL for each key.
        """
        return self.options.drop_expired and STREAM_NAME not in self.aux

    def leave_out(self, kind: int, name: str, key: bytes | None) -> None:
        """Skip something foreign, if that is allowed."""
        if not self.options.skip_foreign:
            what = f"key {shown(key)} holds a {name}" if key is not None else f"it holds a {name}"
            raise self.reader.fail(
                f"{what}, which this server does not have;"
                " set skip-foreign-types yes to leave such things out"
            )
        foreign.skip(self.reader, kind)
        self.foreign[name] = self.foreign.get(name, 0) + 1
        if key is not None and self.options.hold_foreign:
            foreign.hold_place(self.db, key, name)
            if self.expire_ms is not None:
                self.db.expire_at(key, self.expire_ms)


def shown(key: bytes) -> str:
    """A key's name for a message."""
    text = repr(key[:NAME_SHOWN])[1:]
    return text if len(key) <= NAME_SHOWN else text + "..."


HANDLERS: dict[int, Callable[[SnapshotLoader], None]] = {
    STRING: SnapshotLoader.read_string,
    AUX: SnapshotLoader.read_aux,
    SELECT: SnapshotLoader.read_select,
    RESIZE: SnapshotLoader.read_resize,
    SLOT_INFO: SnapshotLoader.read_slot_info,
    EXPIRE_MS: SnapshotLoader.read_expire_ms,
    EXPIRE_S: SnapshotLoader.read_expire_s,
    IDLE: SnapshotLoader.read_idle,
    FREQ: SnapshotLoader.read_freq,
}
