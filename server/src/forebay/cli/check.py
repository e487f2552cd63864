"""``forebay check``: is this file, or this whole data directory, good?

Verifies with the code of the loader (persistence/verify.py), and then runs the commands
of an AOF as a server does at its start (server/durability/rehearsal.py): a server loads what it
calls good.  It changes nothing without ``--fix``; and ``--fix`` never deletes a
byte: the bytes that it cuts off stay next to the file.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

from cyclopts import App, Parameter

from forebay.cli.data_path import DataPath
from forebay.cli.output import Bar, complain, counted, number, write_json
from forebay.commands.api.settings import Settings
from forebay.errors import DiskError
from forebay.persistence.aof.damage import Damage
from forebay.persistence.aof.manifest import parse_manifest
from forebay.persistence.aof.seals import SEAL_HEAD
from forebay.persistence.files import PIECE, Disk, join, last_name, parent
from forebay.persistence.verify import (
    MANIFEST,
    PartReport,
    Report,
    aofs_at,
    fix,
    lock_around,
    look_at,
    verify,
)
from forebay.server.durability.rehearsal import rehearse

HELP = """\
Verify everything that a server would load.

It says in plain words what is there, what is damaged, and what that means.  Then it runs
the commands of an AOF in memory, as a server does at its start, and names the first one
that is refused: that takes the time and the memory of a start.

A snapshot is only good as a whole and cannot be repaired: restore a copy.
Stop the server first; check refuses while one runs there.
"""

EPILOG = """\
exit code: 0 a server loads all of it; 1 something is damaged, refused, must be left out, or
           could not be read; 2 wrong usage

examples:
  forebay check .                         the data directory of a server
  forebay check --fix appendonlydir
  forebay check --fix --cut-at 81234 appendonlydir/appendonly.aof.3.incr.aof
  forebay check --json dump.rdb
"""

DATABASES = Settings().databases
LEFT_OUT = "which a server leaves out with skip-foreign-types yes"


app = App(name="check", help=HELP, help_epilogue=EPILOG)

Fix = Annotated[
    bool,
    Parameter(
        help="repair an unfinished end, as a crash leaves it: the file is cut after its last good "
        "record. The bytes that are cut off are kept in FILE.corrupt-OFFSET; nothing is ever "
        "deleted"
    ),
]
CutAt = Annotated[
    int | None,
    Parameter(
        metavar="OFFSET",
        help="with --fix: also cut a file that is damaged in its middle. That loses good records, "
        "so the offset must be given: the one that check reports. Later files of the AOF are set "
        "aside too",
    ),
]
Quick = Annotated[bool, Parameter(help="verify the bytes only, and run nothing")]
Databases = Annotated[
    int,
    Parameter(metavar="N", show_default=True, help="how many databases the server will have"),
]
Json = Annotated[bool, Parameter(help="the same as one line of JSON; after a repair a second one")]


@app.default
def check(
    path: DataPath,
    /,
    *,
    fix: Fix = False,
    cut_at: CutAt = None,
    quick: Quick = False,
    databases: Databases = DATABASES,
    json: Json = False,
) -> int:
    """Verify, report, and repair if asked; 1 if it is not good in the end."""
    if cut_at is not None and not fix:
        complain("--cut-at needs --fix; try: forebay check --help")
        return 2
    disk = Disk()
    run_in = None if quick else databases
    place = whole_log(disk, str(path)) if fix else str(path)
    report = look(disk, place, run_in)
    tell(disk, report, json)
    if fix and not report.is_good:
        done = repair(disk, report, place, cut_at)
        if not done:
            return 1
        report = look(disk, place, run_in)
        tell(disk, report, json, done)
    return 0 if report.is_good and not report.has_foreign else 1


def look(disk: Disk, path: str, databases: int | None) -> Report:
    """Verify everything that belongs to a path, while no server writes there, and run the
    commands with this many databases; None runs nothing."""
    locks = lock(disk, path)
    bar = Bar("verifying")
    try:
        report = verify(disk, path, bar)
        bar.wipe()
        if report.is_loadable and databases is not None:
            bar = Bar("running")
            run_logs(disk, report, databases, bar)
        return report
    finally:
        bar.wipe()
        for held in locks:
            held.release()


def run_logs(disk: Disk, report: Report, databases: int, bar: Bar) -> None:
    """Run the commands, and note what a server would refuse or leave out."""
    for parts in aofs_at(disk, whole_log(disk, report.path)):
        outcome = rehearse(disk, parts, databases, bar)
        report.is_run = True
        report.refusal = report.refusal or outcome.refusal
        for name, count in outcome.left_out.items():
            report.left_out[name] = report.left_out.get(name, 0) + count


def whole_log(disk: Disk, path: str) -> str:
    """The manifest that names this file, if any: a file of an AOF is repaired with the others,
    because later files make no sense without the part that was cut."""
    if disk.is_folder(path) or path.endswith(MANIFEST):
        return path
    folder = parent(path)
    for name in disk.names(folder):
        if name.endswith(MANIFEST):
            manifest = parse_manifest(disk.read(join(folder, name)), join(folder, name))
            if last_name(path) in [entry.name for entry in manifest.loaded()]:
                return join(folder, name)
    return path


def lock(disk: Disk, path: str) -> list[Any]:
    """Keep a server from writing while we read; ConfigError if one runs already.

    A snapshot is replaced as a whole and never written to, so it needs no lock.
    """
    if not disk.is_folder(path) and look_at(disk, path).kind == "rdb":
        return []
    try:
        return lock_around(disk, path)
    except DiskError:
        return []  # a read-only disk: no server writes there either


def repair(disk: Disk, report: Report, path: str, cut_at: int | None) -> list[str]:
    """Cut what may be cut; what was done; empty if it needs another option."""
    for part in report.parts:
        damage = part.damage
        if damage is not None and not damage.is_tail and cut_at != damage.offset:
            complain(refusal(damage, cut_at))
            return []
    return fix(disk, path)


def refusal(damage: Damage, cut_at: int | None) -> str:
    """Why damage in the middle of a file is not cut without --cut-at."""
    if cut_at is not None:
        return f"{damage.path} is damaged at offset {damage.offset}, not at {cut_at}; not repaired"
    return (
        f"{damage.path} is damaged in its middle, and a cut loses good records; restore a copy, "
        f"or accept the loss: {damage.cure}"
    )


# The report


def tell(disk: Disk, report: Report, as_json: bool, done: list[str] | None = None) -> None:
    """The whole report."""
    if as_json:
        write_json(facts(disk, report, done or []))
        return
    lines = [*(done or []), *headline(report)]
    for part in report.parts:
        lines += part_lines(disk, part)
    if report.left_out:
        listed = ", ".join(f"{number(n)} x {name}" for name, n in sorted(report.left_out.items()))
        lines.append(f"the AOF holds {listed}, {LEFT_OUT}")
    if report.refusal:
        lines.append(report.refusal)
    lines.append(verdict(report))
    sys.stdout.write("\n".join(lines) + "\n")


def headline(report: Report) -> list[str]:
    """The AOF, if there is one."""
    if report.manifest is None:
        return []
    if report.problem:
        return [f"{report.manifest}: an AOF", f"    {report.problem}"]
    parts = [part for part in report.parts if part.is_in_aof]
    size = sum(part.size for part in parts)
    return [f"{report.manifest}: an AOF of {counted(len(parts), 'file')}, {number(size)} bytes"]


def part_lines(disk: Disk, part: PartReport) -> list[str]:
    """One file: what it holds, and what is wrong with it."""
    name = f"  {last_name(part.path)}" if part.is_in_aof else part.path
    if part.is_strange:
        return [f"{name}: {number(part.size)} bytes: {part.problem}", f"    {part.advice}"]
    state = "good" if part.is_good else "DAMAGED"
    lines = [f"{name}: {contents(part)}, {number(part.size)} bytes: {state}"]
    if part.foreign:
        listed = ", ".join(counted(n, kind) for kind, n in sorted(part.foreign.items()))
        lines.append(f"    holds {listed}, {LEFT_OUT}")
    if part.is_good:
        return lines
    lines.append(f"    {part.problem}")
    if part.damage is not None:
        lines.append(f"    {loss(disk, part.damage)}")
    lines.append(f"    {part.advice}")
    return lines


def contents(part: PartReport) -> str:
    """What a file holds, in a few words."""
    said = []
    if part.kind == "rdb":
        said.append(f"a snapshot of {counted(part.keys, 'key')}" if part.keys else "a snapshot")
    if part.kind == "commands" or part.commands:
        checksums = f"with {counted(part.seals, 'checksum')}" if part.seals else "no checksums"
        said.append(f"{counted(part.commands, 'command')}, {checksums}")
    return ", then ".join(said)


def loss(disk: Disk, damage: Damage) -> str:
    """How much comes after the damage."""
    records = records_behind(disk, damage)
    known = f", with {counted(records, 'record')} in them" if records else ""
    return (
        f"good up to offset {number(damage.offset)}; "
        f"after it come {counted(damage.lost_bytes, 'byte')}{known}"
    )


def records_behind(disk: Disk, damage: Damage) -> int:
    """How many checksum lines come after the damage: each ends a record."""
    count, held = 0, b""
    with disk.open_read(damage.path) as file:
        file.seek(damage.offset)
        while data := file.read(PIECE):
            held = held[-len(SEAL_HEAD) + 1 :] + data
            count += held.count(SEAL_HEAD)
    return count


def verdict(report: Report) -> str:
    """The last line."""
    if report.refusal:
        return "refused: a server does not start with it"
    if report.is_good and report.has_foreign:
        return (
            "good, but not all of it: a server starts only with skip-foreign-types yes, "
            "and leaves out types that it does not have"
        )
    if report.is_good and not report.is_run and any(part.commands for part in report.parts):
        return "good: all bytes are intact; the commands were not run"
    if report.is_good:
        return "good: a server loads all of it"
    if report.is_loadable:
        return "an unfinished end, as a crash leaves it: a server cuts it off and loads the rest"
    if all(part.is_good or part.is_strange for part in report.parts):
        return "not an AOF: there is nothing to load, and nothing to repair"
    return "damaged: a server does not start with it"


def facts(disk: Disk, report: Report, done: list[str]) -> dict[str, Any]:
    """The report for programs."""
    return {
        "path": report.path,
        "manifest": report.manifest,
        "good": report.is_good,
        "loadable": report.is_loadable,
        "problem": report.problem,
        "run": report.is_run,
        "refusal": report.refusal,
        "left_out": report.left_out,
        "parts": [part_facts(disk, part) for part in report.parts],
        "done": done,
    }


def part_facts(disk: Disk, part: PartReport) -> dict[str, Any]:
    """One file for programs."""
    damage = part.damage
    return {
        "path": part.path,
        "kind": part.kind,
        "in_log": part.is_in_aof,
        "bytes": part.size,
        "good_bytes": part.good_bytes,
        "keys": part.keys,
        "commands": part.commands,
        "records": part.units,
        "checksums": part.seals,
        "foreign": part.foreign,
        "good": part.is_good,
        "problem": part.problem,
        "advice": part.advice,
        "damage": damage
        and {
            "offset": damage.offset,
            "reason": damage.reason,
            "is_tail": damage.is_tail,
            "bytes_behind": damage.lost_bytes,
            "records_behind": records_behind(disk, damage),
        },
    }
