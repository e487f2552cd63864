"""Goals about the AOF, in this process: power failures, torn ends, flipped bits.

Each load is the whole start of a server, from the manifest to the keyspace, on a disk
in memory; so thousands of accidents take seconds.  The loaded data is compared with
the history that was recorded while the AOF was made: it must be the data after
some number of whole units, and no promised unit may be missing.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

from forebay.errors import ForebayError
from forebay.persistence.aof.writer import AofWriter
from forebay.persistence.rdb.snapshot import SnapshotLoader
from reliability.aof_life import SNAPSHOT_PATH, Life, unheard
from reliability.goals import Outcome
from reliability.redis_judge import accepts
from testkit.engine_client import EngineClient
from testkit.forgetful_disk import ForgetfulDisk
from testkit.recovery import FOLDER, NAME, FailedCommandError, Recovery
from testkit.replaying import commands_only, lasting

STEPS_OF_A_LIFE = 40
ACCIDENTS_OF_A_LIFE = 100
FLIPS_OF_A_LIFE = 200
#: The AOF is torn anywhere in its last bytes, this many.
TORN_BYTES = 65_536
FOREIGN_TAIL_BYTES = 4096
SEAL = len(b"#CRC:xxxxxxxx\r\n")
#: A unit may begin with it; alone it does nothing.
LONELY_SELECT = re.compile(rb"\*2\r\n\$6\r\nSELECT\r\n\$\d+\r\n\d+\r\n\Z")
#: One of this many torn AOFs is run in an engine; the others are compared as bytes.
RUN_EVERY = 64

Files = dict[str, bytes]


# -- R3: power failures -------------------------------------------------------------


def power_failures(n: int, seed: int, scratch: Path) -> Outcome:
    """Lose power after any operation of the disk, in any way; start again."""
    outcome = Outcome()
    dice = Random(seed)
    while outcome.n < n:
        life_seed = dice.getrandbits(32)
        life = Life(Random(life_seed), newest=life_seed % 2 == 0)
        life.live(STEPS_OF_A_LIFE)
        outcome.count("lives")
        for _ in range(min(ACCIDENTS_OF_A_LIFE, n - outcome.n)):
            accident_seed = dice.getrandbits(32)
            outcome.n += 1
            try:
                problem = accident(life, Random(accident_seed), outcome)
            except (ForebayError, FailedCommandError) as error:
                problem = f"does not load: {error}"
            if problem:
                outcome.failures.append(f"life {life_seed}, accident {accident_seed}: {problem}")
    return outcome


def accident(life: Life, dice: Random, outcome: Outcome) -> str:
    """One power failure and its consequences; returns what went wrong, or nothing."""
    at = dice.randint(0, len(life.disk.trace))
    disk = ForgetfulDisk(life.disk.survivors(at, dice))
    recovery = Recovery(disk).run()
    picture = lasting(recovery.keyspace)
    problem = compare(life, at, picture) or snapshot_problem(life, disk, at)
    if problem:
        return f"at operation {at}: {problem}"
    if recovery.notes:
        outcome.count("tails cut")
    if disk.trace and dice.random() < 0.5:
        # The power fails again while the first start repairs.
        outcome.count("second failures")
        stop = dice.randint(0, len(disk.trace))
        left = disk.survivors(stop, dice)
        if lost := [path for path, data in disk.origin.items() if not is_kept(path, data, left)]:
            return f"at operation {at}: a failure during the repair took bytes of {lost}"
        again = lasting(Recovery(ForgetfulDisk(left)).run().keyspace)
        if again != picture and (stop == len(disk.trace) or compare(life, at, again)):
            return f"at operation {at}: a failure during the repair changed the data"
    return goes_on(life, at, recovery, dice) if dice.random() < 0.25 else ""


def is_kept(path: str, data: bytes, files: Files) -> bool:
    """Whether all bytes of a file are still there, in it or in a copy of its end."""
    now = files.get(path, b"")
    if now == data:
        return True
    copies = [text for name, text in files.items() if name.startswith(f"{path}.corrupt-")]
    return any(
        data.endswith(text) and now.startswith(data[: len(data) - len(text)]) for text in copies
    )


def compare(life: Life, at: int, picture: dict[Any, Any]) -> str:
    """Whether the data is that of an allowed moment."""
    least, most = life.bounds(at)
    if any(picture == life.pictures[units] for units in range(least, most + 1)):
        return ""
    if picture in life.pictures:
        units = life.pictures.index(picture)
        return f"{units} units are there; {least} were promised, {most} begun"
    return "the data is of no moment of the history"


def snapshot_problem(life: Life, disk: ForgetfulDisk, at: int) -> str:
    """Whether the snapshot is whole: the last one or the next one."""
    must, units = life.snapshot_bounds(at)
    if not disk.exists(SNAPSHOT_PATH):
        return "the snapshot is gone" if must else ""
    keyspace = EngineClient().engine.keyspace
    with disk.open_read(SNAPSHOT_PATH) as file:
        SnapshotLoader(file.read, file.size, keyspace).load()
    picture = lasting(keyspace)
    if any(picture == life.pictures[number] for number in units):
        return ""
    return "the snapshot is neither the last one nor the next"


def goes_on(life: Life, at: int, recovery: Recovery, dice: Random) -> str:
    """After the start the AOF can be written and loaded, also after another power failure."""
    disk = recovery.disk
    assert isinstance(disk, ForgetfulDisk)
    aof = AofWriter(disk, FOLDER, NAME, unheard)
    if recovery.loader.point is None:
        aof.begin_empty()
    else:
        aof.resume(recovery.loader.resume())
    started = len(disk.trace)
    pictures = [lasting(recovery.keyspace)]
    recovery.client("SET", "written after the accident", "yes")
    pictures.append(lasting(recovery.keyspace))
    effects = recovery.engine.effects
    aof.append(effects.out, effects.ends)
    aof.sync()
    if lasting(Recovery(ForgetfulDisk(disk.files())).run().keyspace) != pictures[1]:
        return f"at operation {at}: what was written after the repair does not load"
    stop = dice.randint(0, len(disk.trace))
    again = lasting(Recovery(ForgetfulDisk(disk.survivors(stop, dice))).run().keyspace)
    if stop < started and not compare(life, at, again):
        return ""
    if again in pictures[1 if stop == len(disk.trace) else 0 :]:
        return ""
    return f"at operation {at}: a failure at operation {stop} of the next life changed the data"


# -- R4: torn ends ------------------------------------------------------------------


class Torn:
    """One increment of some size, and which units are whole up to each byte."""

    def __init__(self, dice: Random, size: int) -> None:
        self.life = Life(dice)
        while self.life.aof.size < size:
            self.life.turn()
        self.path = self.life.aof.path
        self.files = self.life.disk.files()
        self.data = self.files[self.path]
        self.commands = commands_only(self.data)
        #: Of each unit: where it ends in the file, where its seal ends, its end in commands.
        self.ends: list[tuple[int, int, int]] = [(0, 0, 0)]
        at = self.data.find(b"#CRC:")
        while at >= 0:
            whole = self.ends[-1][2] + len(commands_only(self.data[self.ends[-1][1] : at]))
            self.ends.append((at, at + 15, whole))
            at = self.data.find(b"#CRC:", at + 1)
        #: Where a cut may be.
        self.places = {place for unit, seal, _ in self.ends for place in (unit, seal)}

    def load(self, data: bytes) -> tuple[bytes, Files]:
        """The commands that a start would run, and the files it leaves on the disk."""
        disk = ForgetfulDisk(self.files | {self.path: data})
        loader = Recovery(disk).loader
        loader.prepare()
        found = b""
        for part in loader.parts():
            reader = loader.open(part)
            while reader.next_range():
                found += reader.buf[reader.start : reader.end]
            loader.settle(reader)
        return found, disk.files()

    def problem(self, data: bytes, whole_at: int) -> str:
        """Load ``data``, of which the first ``whole_at`` bytes are the AOF's own."""
        try:
            found, files = self.load(data)
        except ForebayError as error:
            return f"refused: {error}"
        # A unit whose seal was torn off may be run or not: it is whole, and was not promised.
        sealed = max(whole for _, seal, whole in self.ends if seal <= whole_at)
        whole = max(whole for unit, _, whole in self.ends if unit <= whole_at)
        if LONELY_SELECT.sub(b"", found) not in (self.commands[:sealed], self.commands[:whole]):
            return f"{len(found)} bytes of commands instead of {sealed}"
        kept = files[self.path]
        copy = b"".join(text for path, text in files.items() if ".corrupt-" in path)
        if len(LONELY_SELECT.sub(b"", kept)) not in self.places:
            return f"{len(kept)} bytes are left, which is inside of a unit"
        return "" if kept + copy == data else "bytes are lost"

    def run(self, data: bytes) -> str:
        """The same through an engine: the data must be that of a moment."""
        picture = lasting(Recovery(ForgetfulDisk(self.files | {self.path: data})).run().keyspace)
        return "" if picture in self.life.pictures else "the data is of no moment of the history"


def torn_tails(n: int, seed: int, scratch: Path) -> Outcome:
    """Tear the AOF at many bytes of its end, and put zeros or garbage there."""
    outcome = Outcome()
    dice = Random(seed)
    torn = Torn(dice, TORN_BYTES + 1000)
    size = len(torn.data)
    for number in range(n):
        at = size - 1 - number * TORN_BYTES // n if n < TORN_BYTES else size - 1 - number
        problem = torn.problem(torn.data[:at], at)
        if not problem and number % RUN_EVERY == 0:
            problem = torn.run(torn.data[:at])
        note(outcome, problem, f"torn at byte {at}")
    for number in range(max(2, n // 16)):
        at = dice.choice([size, size - dice.randint(0, TORN_BYTES)])
        length = dice.randint(1, FOREIGN_TAIL_BYTES)
        kind, tail = foreign_tail(dice, number, length)
        problem = torn.problem(torn.data[:at] + tail, at)
        note(outcome, problem, f"{length} bytes of {kind} after byte {at}")
    return outcome


def foreign_tail(dice: Random, number: int, length: int) -> tuple[str, bytes]:
    """Bytes that a disk may put after the end of an AOF."""
    if number % 2:
        return "garbage", dice.randbytes(length)
    return "zeros", bytes(length)


def note(outcome: Outcome, problem: str, what: str) -> None:
    """Count one more attempt."""
    outcome.n += 1
    if problem:
        outcome.failures.append(f"{what}: {problem}")


# -- R5: flipped bits ---------------------------------------------------------------


def bit_flips(n: int, seed: int, scratch: Path) -> Outcome:
    """Flip one bit of one file of an AOF.  A start may refuse, or cut there, or not notice
    because it does not matter.  It must never load other data."""
    outcome = Outcome()
    dice = Random(seed)
    while outcome.n < n:
        life_seed = dice.getrandbits(32)
        victim = Victim(Life(Random(life_seed)))
        problem = accepts(victim.files, victim.life.engine.keyspace, scratch)
        if problem:
            outcome.failures.append(f"life {life_seed}, without a flip: {problem}")
        for _ in range(min(FLIPS_OF_A_LIFE, n - outcome.n)):
            path = dice.choice(victim.paths)
            bit = dice.randrange(8 * len(victim.files[path]))
            what = f"life {life_seed}, bit {bit % 8} of byte {bit // 8} of {path}"
            note(outcome, victim.problem(path, bit, outcome), what)
    return outcome


class Victim:
    """An AOF with a base and increments, and its data."""

    def __init__(self, life: Life) -> None:
        self.life = life
        life.live(STEPS_OF_A_LIFE // 2)
        life.rewrite()
        life.live(STEPS_OF_A_LIFE // 2)
        if life.dice.random() < 0.5:
            life.sync()
            life.turn()
        life.aof.drop_history()
        self.last_path = life.aof.path
        files = life.disk.files()
        self.files = {path: data for path, data in files.items() if path.startswith(FOLDER)}
        #: The files that may be hit; the last increment as often as all others together.
        self.paths = [path for path, data in self.files.items() if data]
        self.paths += [self.last_path] * (len(self.paths) if self.files[self.last_path] else 0)

    def problem(self, path: str, bit: int, outcome: Outcome) -> str:
        """Flip the bit and start."""
        data = bytearray(self.files[path])
        data[bit // 8] ^= 1 << bit % 8
        try:
            recovery = Recovery(ForgetfulDisk(self.files | {path: bytes(data)})).run()
        except ForebayError:
            outcome.count("refused")
            return ""
        except FailedCommandError as error:
            return f"loaded, though a command failed: {error}"
        picture = lasting(recovery.keyspace)
        if picture == self.life.pictures[-1]:
            outcome.count("harmless")
            return ""
        if path != self.last_path:
            return f"loaded with other data; it said {recovery.notes}"
        # If the flip is in a seal, the record before that line is whole and may stay.
        places = (max(0, bit // 8 - SEAL + 1), bit // 8 + 1)
        cuts = {self.files[path].count(b"#CRC:", place) for place in places}
        if all(picture != self.life.pictures[-1 - behind] for behind in cuts):
            return f"not cut at the record with the flip: {max(cuts)} from the end"
        outcome.count("cut")
        return ""
