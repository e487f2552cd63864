"""Keys of types that this server does not have, while an AOF of a Redis is read without them.

    HSET h f v      --> h holds a place: Foreign("hash")          leave_out()
    RENAME h i      --> the handler moves the place               as any value
    SET i v XX      --> the handler overwrites it: i is ours now
    XADD h * f v    --> WRONGTYPE?  Redis ran it, so the hash was gone: again without the place
                                                                  make_way()
    the end         --> the places that are left go               sweep()

A loader that leaves out a hash must still know that it is there: RENAME brings it over a
string of ours, SET XX needs a key, DEL frees the name.  So its key holds a place in the
keyspace, and all commands on keys of any type work on it as they do in Redis.

Rules
  1. Only whole keys of a foreign type are left out, and what is no key at all (functions,
     scripts, search indexes).  A command that would write a key of ours, and that we do not
     have, is refused: without it the key would be wrong.
  2. An AOF holds only what was done.  A command of ours that a place keeps from being done
     tells that the value was gone by then (its last field was taken out): the place goes.
  3. What is made of a foreign value and is ours (SORT of a sorted set) is refused.
"""

from __future__ import annotations

from itertools import pairwise

from forebay.core.keyspace import Database, Keyspace
from forebay.errors import CorruptDataError
from forebay.persistence.rdb import payload
from forebay.persistence.rdb.foreign import Foreign, hold_place
from forebay.persistence.rdb.snapshot import shown

#: Type -> commands that write it and nothing else; the key is the first argument.
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
#: Commands whose result takes the place of whatever their first argument held.
STORES = frozenset(b"zunionstore zinterstore zdiffstore zrangestore geosearchstore".split())
#: The same, after one of these words.
GEO_STORES = frozenset((b"georadius", b"georadiusbymember"))
GEO_WORDS = (b"STORE", b"STOREDIST")
SORTED_SET = "sorted set"
#: The types of well-known modules; the key is the first argument.
MODULES = (b"json.", b"bf.", b"cf.", b"cms.", b"topk.", b"tdigest.", b"ts.")
MODULE_VALUE = "module value"
#: Commands of modules that write several keys: key, and two arguments more.
TRIPLES = frozenset((b"json.mset", b"ts.madd"))
#: What is no key.
KEYLESS = frozenset((b"function", b"script"))
SEARCH = b"ft."
LIBRARY = "function, script or index"
#: Commands that do nothing if a key is there already: where that key stands.
TARGETS = {b"set": 1, b"setnx": 1, b"restore": 1, b"renamenx": 2, b"copy": 2, b"move": 1}
#: The same: any of their keys.
EACH_TARGET = frozenset((b"msetnx", b"msetex"))
#: What a command answers that has done nothing.
NOTHING = frozenset((b":0\r\n", b"$-1\r\n", b"*-1\r\n", b"_\r\n"))
WRONG_TYPE = b"WRONGTYPE"
BUSY_KEY = b"BUSYKEY"
HASH_FIELD = b"->"
#: So much of a command is shown to a person.
WORDS_SHOWN = 6
BYTES_SHOWN = 40


def foreign_kind(words: list[bytes]) -> str:
    """What a command writes that this server does not have; empty if nobody knows."""
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
    """Whether a command that we have failed because of something that we do not have.

    ``bad_body``: the error is about what a payload holds.
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
    """A command for a person: its name, and the beginning of its arguments."""
    shown = [repr(word[:BYTES_SHOWN])[2:-1] for word in words[:WORDS_SHOWN]]
    more = len(words) - len(shown)
    return f"'{' '.join(shown)}'" + (f" and {more} words more" if more else "")


class ForeignKeys:
    """The places of the keys that are left out."""

    def __init__(self, keyspace: Keyspace) -> None:
        self.keyspace = keyspace
        #: Commands that were left out: name -> how many.
        self.counts: dict[str, int] = {}

    def leave_out(self, db: Database, words: list[bytes]) -> bool:
        """Keep places for what a command writes; false if it may write a key of ours."""
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
        """Let a key hold a place, unless it holds a value of ours that would be lost."""
        before = db.get(key)
        if before is not None and not isinstance(before, Foreign) and not replaces:
            raise CorruptDataError(f"the key {shown(key)} holds something else than a {kind}")
        if replaces:
            db.remove(key)
        hold_place(db, key, kind)

    def let_expire(self, db: Database, words: list[bytes]) -> None:
        """The time of a key that RESTORE made: SET KEEPTTL would keep it."""
        if words[2] != b"0" and b"ABSTTL" in [word.upper() for word in words[4:]]:
            db.expire_at(words[1], int(words[2]))

    def make_way(self, db: Database, words: list[bytes], keys: list[bytes], reply: bytes) -> bool:
        """Whether places kept a command from being done; they are gone now (rule 2)."""
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
        """The one key that a command must not find, if there is one."""
        name = words[0].lower()
        if name not in TARGETS:
            return []
        numbers = [words[2]] if name == b"move" else []
        if name == b"copy":
            numbers = [number for word, number in pairwise(words[3:]) if word.upper() == b"DB"]
        home = self.keyspace.databases[int(numbers[-1])] if numbers else db
        return [(home, words[TARGETS[name]])]

    def check_sort(self, db: Database, words: list[bytes]) -> None:
        """SORT makes a list of ours, perhaps out of what is left out (rule 3)."""
        held = isinstance(db.get(words[1]), Foreign)
        if held or any(HASH_FIELD in word for word in words[2:]):
            raise CorruptDataError("it sorts by values that were left out")

    def sweep(self) -> int:
        """The AOF is read: nothing of what was left out stays; how many keys that were."""
        count = 0
        for db in self.keyspace.databases:
            places = [key for key, value in db.values.items() if isinstance(value, Foreign)]
            for key in places:
                db.remove(key)
            count += len(places)
        return count
