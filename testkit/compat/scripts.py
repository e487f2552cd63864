"""Random scripts of stream commands: few keys, few names, IDs close to each other.

A script is a list of commands for one connection, starting from an empty server.
The generator keeps no model of the data; it uses few names, so that commands affect
each other: three stream keys, one key of another type, one missing key, two groups, two
consumers, IDs of a small square of time and sequence, every option of Redis 7.0,
and now and then a wrong word.  Everything comes from one seed.

For a peer of 8.6 or later there are also the newer commands and options.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Command = list[str]
Script = list[Command]

STREAMS = ("s1", "s2", "s3")
OTHERS = ("text", "list", "set", "missing")
#: Its last ID is ahead of all clocks, so that ``*`` gives the same one everywhere.
AHEAD = "ahead"
GROUPS = ("g1", "g2")
CONSUMERS = ("alice", "bob", "")
BAD_IDS = ("", "x", "1-", "-1", "1-x", "--", "(", "1-1-1", "18446744073709551616", "$", ">", "+")
EDGE_IDS = ("0-0", "0", "0-1", "18446744073709551615-18446744073709551615", "18446744073709551615")
HUGE_IDLE_MS = "100000000000"


class ScriptWriter:
    """Writes one script; ``deletes`` allows commands after which lag depends on the version."""

    def __init__(self, seed: int, *, deletes: bool, newer: bool = False) -> None:
        self.dice = Random(seed)
        self.deletes = deletes
        self.newer = newer
        self.next_ms = dict.fromkeys(STREAMS, 1)
        self.makers = self._makers()

    def _makers(self) -> list[Callable[[], Command]]:
        often = [self.xadd] * 9 + [self.xreadgroup] * 5 + [self.xack] * 2 + [self.xclaim] * 2
        reads = [self.xrange] * 3 + [self.xread] * 2 + [self.xpending] * 3 + [self.xinfo] * 3
        rare = [self.xgroup] * 4 + [self.xautoclaim] * 2 + [self.xlen, self.generic, self.broken]
        deleting = [self.xdel] * 3 + [self.xtrim, self.xtrim, self.xsetid]
        if self.newer:
            rare += [self.xcfgset, self.xidmprecord]
            deleting += [self.xdelex, self.xackdel] * 2
        return often + reads + rare + (deleting if self.deletes else [])

    def script(self, length: int, protocol: int) -> Script:
        """A whole script, with the odd transaction in it."""
        commands: Script = [["HELLO", str(protocol)], ["SET", "text", "7"], ["RPUSH", "list", "a"]]
        commands += [["SADD", "set", "m"]]
        commands += [["XADD", AHEAD, "9999999999999-0", "f", "v"]] if self.newer else []
        for key in STREAMS:
            commands += [self.plain_xadd(key), ["XGROUP", "CREATE", key, GROUPS[0], "0"]]
            commands += [["XGROUP", "CREATE", key, GROUPS[1], "0"]] if self.chance(0.6) else []
        in_multi = 0
        while len(commands) < length or in_multi:
            if in_multi == 1:
                commands.append([self.pick("EXEC", "EXEC", "EXEC", "DISCARD")])
            elif not in_multi and self.chance(0.02):
                commands.append(["MULTI"])
                in_multi = self.dice.randint(3, 7)
            else:
                commands.append(self.case(self.dice.choice(self.makers)()))
            in_multi = max(0, in_multi - 1)
        return commands

    # -- words

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def pick(self, *words: str) -> str:
        return self.dice.choice(words)

    def case(self, command: Command) -> Command:
        """The same command, sometimes in lower case."""
        return [command[0].lower(), *command[1:]] if self.chance(0.1) else command

    def key(self) -> str:
        return self.pick(*OTHERS) if self.chance(0.05) else self.pick(*STREAMS)

    def group(self) -> str:
        return "nogroup" if self.chance(0.04) else self.pick(*GROUPS)

    def consumer(self) -> str:
        return self.pick(*CONSUMERS)

    def known_id(self, key: str) -> str:
        """An ID that probably exists, or is next to one that does."""
        last = self.next_ms.get(key, 5)
        return f"{self.dice.randint(max(0, last - 8), last + 1)}-{self.dice.randint(0, 3)}"

    def id(self, key: str) -> str:
        if self.chance(0.03):
            return self.pick(*BAD_IDS)
        if self.chance(0.06):
            return self.pick(*EDGE_IDS)
        known = self.known_id(key)
        return known.partition("-")[0] if self.chance(0.15) else known

    def bound(self, key: str, end: str) -> str:
        if self.chance(0.35):
            return end
        return self.pick("", "", "(") + self.id(key)

    def ids(self, key: str, most: int = 5) -> list[str]:
        return [self.id(key) for _ in range(self.dice.randint(1, most))]

    def number(self) -> str:
        return self.pick("0", "1", "2", "3", "10", "100") if self.chance(0.93) else self.pick(
            "-1", "x", "", "1.5", "99999999999999999999", "+1", "01"
        )  # fmt: skip

    def count(self) -> list[str]:
        return ["COUNT", self.number()] if self.chance(0.4) else []

    def idle(self) -> str:
        return self.pick("0", "0", "0", HUGE_IDLE_MS, "-1", "x" if self.chance(0.2) else "0")

    # -- writing

    def plain_xadd(self, key: str) -> Command:
        self.next_ms[key] += self.dice.randint(0, 2)
        entry_id = f"{self.next_ms[key]}-{self.pick('*', '*', '*', '1', '3')}"
        return ["XADD", key, entry_id, *self.fields()]

    def fields(self) -> list[str]:
        names = ("rider", "speed", "position", "") if self.chance(0.7) else ("a", "b")
        pairs: list[str] = []
        for name in names[: self.dice.randint(1, len(names))]:
            value = self.pick("Castilla", "30.2", "1", "-7", "007", "x" * 70, "", "9" * 18)
            pairs += [name, value]
        return pairs

    def xadd(self) -> Command:
        if self.chance(0.7):
            return self.plain_xadd(self.pick(*STREAMS))
        key = self.key()
        options: list[str] = []
        if self.chance(0.2):
            options.append("NOMKSTREAM")
        if self.deletes and self.chance(0.4):
            options += self.trimming(key)
        if self.newer and self.chance(0.25):
            return self.message(options)
        entry_id = self.id(key) if self.chance(0.7) else f"{self.next_ms.get(key, 3)}-*"
        fields = self.fields()
        return ["XADD", key, *options, entry_id, *(fields[:-1] if self.chance(0.05) else fields)]

    def trimming(self, key: str) -> list[str]:
        words = [self.pick("MAXLEN", "MAXLEN", "MINID", "maxlen")]
        words += [self.pick("~", "=")] if self.chance(0.5) else []
        words.append(self.number() if words[0].upper() == "MAXLEN" else self.id(key))
        words += ["LIMIT", self.number()] if self.chance(0.2) else []
        return words + (self.policy() if self.newer else [])

    def policy(self) -> list[str]:
        """The policy for groups that hold a deleted entry."""
        words = [self.pick("KEEPREF", "DELREF", "ACKED", "acked")] if self.chance(0.6) else []
        return words * 2 if self.chance(0.03) else words

    def message(self, options: list[str]) -> Command:
        """An idempotent producer's message."""
        producer = self.pick("p", "q", "p", "" if self.chance(0.1) else "q")
        words = ["IDMPAUTO", producer]
        if self.chance(0.8):
            words = ["IDMP", producer, self.pick("i", "j", "k", "" if self.chance(0.1) else "i")]
        if self.chance(0.1):
            words += self.pick("IDMP p i", "IDMPAUTO p", "IDMP", "LIMIT 5", "5-5").split()
        entry_id = "*" if self.chance(0.95) else self.id(AHEAD)
        return ["XADD", AHEAD, *options, *words, entry_id, *self.fields()]

    def counted_ids(self, key: str) -> list[str]:
        ids = self.ids(key)
        return ["IDS", str(len(ids)) if self.chance(0.95) else self.number(), *ids]

    def xdelex(self) -> Command:
        key = self.key()
        words = [*self.policy(), *self.counted_ids(key)]
        return ["XDELEX", key, *words, *(self.counted_ids(key) if self.chance(0.05) else [])]

    def xackdel(self) -> Command:
        key = self.key()
        return ["XACKDEL", key, self.group(), *self.policy(), *self.counted_ids(key)]

    def xcfgset(self) -> Command:
        words = ["IDMP-DURATION", self.number()] if self.chance(0.6) else []
        key = AHEAD if self.chance(0.5) else self.key()
        return ["XCFGSET", key, *words, "IDMP-MAXSIZE", self.number()]

    def xidmprecord(self) -> Command:
        key = AHEAD if self.chance(0.5) else self.key()
        last = f"9999999999999-{self.dice.randint(0, 4)}" if key == AHEAD else self.id(key)
        return ["XIDMPRECORD", key, self.pick("p", "q", ""), self.pick("i", "j", ""), last]

    def xtrim(self) -> Command:
        key = self.key()
        return ["XTRIM", key, *self.trimming(key)]

    def xdel(self) -> Command:
        key = self.key()
        return ["XDEL", key, *self.ids(key)]

    def xsetid(self) -> Command:
        key = self.key()
        command = ["XSETID", key, self.id(key)]
        if self.chance(0.4):
            command += ["ENTRIESADDED", self.number()]
        if self.chance(0.4):
            command += ["MAXDELETEDID", self.id(key)]
        return command

    # -- reading

    def xlen(self) -> Command:
        return ["XLEN", self.key()]

    def xrange(self) -> Command:
        key = self.key()
        low, high = self.bound(key, "-"), self.bound(key, "+")
        if self.chance(0.5):
            return ["XRANGE", key, low, high, *self.count()]
        return ["XREVRANGE", key, high, low, *self.count()]

    def xread(self) -> Command:
        keys = [self.key() for _ in range(self.dice.randint(1, 3))]
        newest = "+" if self.newer else "$"
        ids = [self.pick("0", "0-0", "$", newest, self.id(key)) for key in keys]
        block = ["BLOCK", self.pick("1", "1", "-1", "x")] if self.chance(0.03) else []
        return ["XREAD", *self.count(), *block, "STREAMS", *keys, *ids]

    def xreadgroup(self) -> Command:
        keys = [self.key() for _ in range(self.pick_small())]
        ids = [self.pick(">", ">", ">", "0", self.id(key)) for key in keys]
        options = self.count() + (["NOACK"] if self.chance(0.1) else [])
        options += ["CLAIM", self.idle()] if self.newer and self.chance(0.3) else []
        who = ["GROUP", self.group(), self.consumer()]
        return ["XREADGROUP", *who, *options, "STREAMS", *keys, *ids]

    def pick_small(self) -> int:
        return self.dice.choice((1, 1, 1, 2, 3))

    def xack(self) -> Command:
        key = self.key()
        return ["XACK", key, self.group(), *self.ids(key)]

    def xpending(self) -> Command:
        key = self.key()
        command = ["XPENDING", key, self.group()]
        if self.chance(0.3):
            return command
        idle = ["IDLE", self.idle()] if self.chance(0.2) else []
        command += [*idle, self.bound(key, "-"), self.bound(key, "+"), self.number()]
        return command + ([self.consumer()] if self.chance(0.3) else [])

    def xclaim(self) -> Command:
        key = self.key()
        command = ["XCLAIM", key, self.group(), self.consumer(), self.idle(), *self.ids(key)]
        for option in (
            ["IDLE", self.pick("0", "1000", "x", "-5")],
            ["TIME", self.pick("1000", "0", "x")],
            ["RETRYCOUNT", self.number()],
            ["FORCE"],
            ["JUSTID"],
            ["LASTID", self.id(key)],
        ):
            if self.chance(0.15):
                command += option
        return command

    def xautoclaim(self) -> Command:
        key = self.key()
        who = [key, self.group(), self.consumer(), self.idle()]
        start = self.pick("-", "0", "0-0", self.id(key), "(" + self.id(key))
        return ["XAUTOCLAIM", *who, start, *self.count(), *(["JUSTID"] if self.chance(0.2) else [])]

    # -- groups and the rest

    def xgroup(self) -> Command:
        key, group = self.key(), self.group()
        match self.dice.randint(0, 5):
            case 0 | 1:
                start = self.pick("$", "0", "0-0", self.id(key))
                make = ["MKSTREAM"] if self.chance(0.4) else []
                return ["XGROUP", "CREATE", key, group, start, *make, *self.entries_read()]
            case 2:
                start = self.pick("$", "0", self.id(key))
                return ["XGROUP", "SETID", key, group, start, *self.entries_read()]
            case 3:
                return ["XGROUP", "CREATECONSUMER", key, group, self.consumer()]
            case 4:
                return ["XGROUP", "DELCONSUMER", key, group, self.consumer()]
        return ["XGROUP", "DESTROY", key, group] if self.chance(0.4) else ["XGROUP", "HELP"]

    def entries_read(self) -> list[str]:
        return ["ENTRIESREAD", self.pick("0", "1", "-1", "-2", "x")] if self.chance(0.15) else []

    def xinfo(self) -> Command:
        key = AHEAD if self.newer and self.chance(0.2) else self.key()
        match self.dice.randint(0, 3):
            case 0:
                return ["XINFO", "STREAM", key]
            case 1:
                full = ["FULL", *self.count()]
                return ["XINFO", "STREAM", key, *full]
            case 2:
                return ["XINFO", "GROUPS", key]
        return ["XINFO", "CONSUMERS", key, self.group()]

    def generic(self) -> Command:
        key, other = self.key(), self.pick(*STREAMS)
        commands: list[Command] = [
            ["DEL", key],
            ["EXISTS", key, other],
            ["TYPE", key],
            ["RENAME", key, other],
            ["RENAMENX", key, other],
            ["COPY", key, other, *(["REPLACE"] if self.chance(0.5) else [])],
            ["SET", key, self.pick("1", "text")],
            ["GET", key],
            ["OBJECT", "ENCODING", key],
            ["PERSIST", key],
            ["EXPIRE", key, "1000"],
            ["TTL", key],
            ["LPUSH", key, "a"],
            ["INCR", "text"],
            ["DBSIZE"],
            ["PING"],
            ["ECHO", "hello"],
        ]
        return self.dice.choice(commands)

    def broken(self) -> Command:
        """A command with a word too many, one missing, or one that makes no sense."""
        command = self.dice.choice([m for m in self.makers if m != self.broken])()
        if "*" in command:
            return command  # under another key the ID would be the time
        match self.dice.randint(0, 3):
            case 0:
                return command[: self.dice.randint(1, len(command))]
            case 1:
                return [*command, self.pick("COUNT", "BLOCK", "x", "NOACK", "1")]
            case 2:
                at = self.dice.randint(1, len(command) - 1) if len(command) > 1 else 0
                return [*command[:at], self.pick("FOO", "", "COUNT", "~"), *command[at + 1 :]]
        return [self.pick("XFOO", "xadd", "XGROUP", "XINFO", "COUNT"), *command[1:3]]
