"""Keys of unsupported types, while the AOF of a Redis is read without them.

    HSET h f v      --> h gets a placeholder: Foreign("hash")     leave_out()
    RENAME h i      --> the handler moves the placeholder         like any value
    SET i v XX      --> the handler overwrites it: i is ours now
    XADD h * f v    --> WRONGTYPE?  Redis ran it, so the hash was gone: retry without placeholder
                                                                  make_way()
    the end         --> remaining placeholders are removed        sweep()

A loader that skips a hash must still know that it exists: RENAME can move it over a string
of ours, SET XX needs a key, DEL frees the name.  So its key holds a placeholder in the
keyspace, and all commands on keys of any type work on it as in Redis.

Rules
  1. Only whole keys of a foreign type are skipped, and things that are not keys (functions,
     scripts, search indexes).  An unsupported command that would write a key of ours is
     refused: without it the key would be wrong.
  2. An AOF holds only commands that succeeded.  If a placeholder makes a command of ours
     fail, then the foreign value no longer existed (its last field was removed): the
     placeholder is removed.
  3. A command that makes a value of ours from a foreign one (SORT of a sorted set) is
     refused.
"""

from __future__ import annotations

from itertools import pairwise

from forebay.core.keyspace import Database, Keyspace
from forebay.errors import CorruptDataError
from forebay.persistence.rdb import payload
from forebay.persistence.rdb.foreign import Foreign, hold_place
from forebay.persistence.rdb.snapshot import shown

#: Type -> commands that write only this type; the key is the first argument.
_WRITERS = {
    "hash": (
        "hset hsetnx hmset hdel hincrby hincrbyfloat hsetex hgetex hgetdel "
        "hexpire hpexpire hexpireat hpexpireat hpersist"
    ),
    "sorted set": (
        "zadd zincrby zrem zremrangebyrank zremrangebyscore zremrangebylex zpopmin zpopmax geoadd"
    ),
    "vector set": "vadd vrem vsetattr",
}
WRITERS = {name.encode(): kind for kind, names in _WRITERS.items() for name in names.split()}
#: Commands whose result replaces any value at their first argument.
STORES = frozenset(b"zunionstore zinterstore zdiffstore zrangestore geosearchstore".split())
#: The same, after one of these words.
GEO_STORES = frozenset((b"georadius", b"georadiusbymember"))
GEO_WORDS = (b"STORE", b"STOREDIST")
SORTED_SET = "sorted set"
#: The types of well-known modules; the key is the first argument.
MODULES = (b"json.", b"bf.", b"cf.", b"cms.", b"topk.", b"tdigest.", b"ts.")
MODULE_VALUE = "module value"
#: Commands of modules that write several keys: key, and two more arguments.
TRIPLES = frozenset((b"json.mset", b"ts.madd"))
#: Commands about things that are not keys.
KEYLESS = frozenset((b"function", b"script"))
SEARCH = b"ft."
LIBRARY = "function, script or index"
#: Commands that do nothing if a key exists already: the index of that key.
TARGETS = {b"set": 1, b"setnx": 1, b"restore": 1, b"renamenx": 2, b"copy": 2, b"move": 1}
#: The same: any of their keys.
EACH_TARGET = frozenset((b"msetnx", b"msetex"))
#: The replies of a command that has done nothing.
NOTHING = frozenset((b":0\r\n", b"$-1\r\n", b"*-1\r\n", b"_\r\n"))
WRONG_TYPE = b"WRONGTYPE"
BUSY_KEY = b"BUSYKEY"
HASH_FIELD = b"->"
#: How much of a command a message shows.
WORDS_SHOWN = 6
BYTES_SHOWN = 40


def foreign_kind(words: list[bytes]) -> str:
    """The foreign thing that a command writes; empty if unknown."""
    name = words[0].lower()
    if name in STORES or name in GEO_STORES:
        return SORTED_SET
    if name.startswith(MODULES):
        return MODULE_VALUE
    if name in KEYLESS or name.startswith(SEARCH):
        return LIBRARY
    if name == b"restore" and len(words) > 3:
        return payload.foreign_kind(words[3])
    return WRITERS.get(name, "")


def is_about_foreign(words: list[bytes], bad_body: bool) -> bool:
    """Whether a supported command failed because of something unsupported.

    ``bad_body``: the error is about the content of a payload.
    """
    name = words[0].lower()
    return bool(foreign_kind(words)) and (name in KEYLESS or (name == b"restore" and bad_body))


def written_keys(words: list[bytes]) -> list[bytes]:
    """The foreign keys that a command writes."""
    name = words[0].lower()
    if name in KEYLESS or name.startswith(SEARCH):
        return []
    if name in TRIPLES:
        return words[1::3]
    if name in GEO_STORES:
        places = [i for i, word in enumerate(words[:-1]) if word.upper() in GEO_WORDS]
        return [words[i + 1] for i in places[-1:]]
    return words[1:2]


def shown_command(words: list[bytes]) -> str:
    """A command for a message: its name, and the beginning of its arguments."""
    shown = [repr(word[:BYTES_SHOWN])[2:-1] for word in words[:WORDS_SHOWN]]
    more = len(words) - len(shown)
    return f"'{' '.join(shown)}'" + (f" and {more} words more" if more else "")


class ForeignKeys:
    """The placeholders of skipped keys."""

    def __init__(self, keyspace: Keyspace) -> None:
        self.keyspace = keyspace
        #: Skipped commands: name -> how many.
        self.counts: dict[str, int] = {}

    def leave_out(self, db: Database, words: list[bytes]) -> bool:
        """Put placeholders for the keys of a command; false if it may write a key of ours."""
        kind = foreign_kind(words)
        if not kind:
            return False
        name = words[0].lower()
        replaces = name in STORES or name in GEO_STORES or name == b"restore"
        for key in written_keys(words):
            self.hold(db, key, kind, replaces)
        if name == b"restore":
            self.let_expire(db, words)
        said = words[0].decode("ascii", "backslashreplace").upper()
        self.counts[said] = self.counts.get(said, 0) + 1
        return True

    def hold(self, db: Database, key: bytes, kind: str, replaces: bool) -> None:
        """Put a placeholder at a key, unless that would destroy a value of ours."""
        before = db.get(key)
        if before is not None and not isinstance(before, Foreign) and not replaces:
            raise CorruptDataError(f"the key {shown(key)} holds something else than a {kind}")
        if replaces:
            db.remove(key)
        hold_place(db, key, kind)

    def let_expire(self, db: Database, words: list[bytes]) -> None:
        """The expiry time of a key that RESTORE made: SET KEEPTTL would keep it."""
        if words[2] != b"0" and b"ABSTTL" in [word.upper() for word in words[4:]]:
            db.expire_at(words[1], int(words[2]))

    def make_way(self, db: Database, words: list[bytes], keys: list[bytes], reply: bytes) -> bool:
        """Whether placeholders made a command fail; they are removed now (rule 2)."""
        is_undone = reply in NOTHING or reply.startswith(BUSY_KEY)
        if reply.startswith(WRONG_TYPE) or (is_undone and words[0].lower() in EACH_TARGET):
            found = [(db, key) for key in keys]
        elif is_undone:
            found = self.target(db, words)
        else:
            return False
        gone = [home.remove(key) for home, key in found if isinstance(home.get(key), Foreign)]
        return bool(gone)

    def target(self, db: Database, words: list[bytes]) -> list[tuple[Database, bytes]]:
        """The one key that must not exist for a command, if there is one."""
        name = words[0].lower()
        if name not in TARGETS:
            return []
        numbers = [words[2]] if name == b"move" else []
        if name == b"copy":
            numbers = [number for word, number in pairwise(words[3:]) if word.upper() == b"DB"]
        home = self.keyspace.databases[int(numbers[-1])] if numbers else db
        return [(home, words[TARGETS[name]])]

    def check_sort(self, db: Database, words: list[bytes]) -> None:
        """SORT makes a list of ours, perhaps from a skipped value (rule 3)."""
        held = isinstance(db.get(words[1]), Foreign)
        if held or any(HASH_FIELD in word for word in words[2:]):
            raise CorruptDataError("it sorts by values that were left out")

    def sweep(self) -> int:
        """The AOF is read: remove all placeholders; how many there were."""
        count = 0
        for db in self.keyspace.databases:
            places = [key for key, value in db.values.items() if isinstance(value, Foreign)]
            for key in places:
                db.remove(key)
            count += len(places)
        return count
