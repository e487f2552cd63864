"""``forebay copy``: entries of streams, to streams and files, and back.

A turn copies all that the source held at one moment: it ends with the last ID of that moment.  If
fewer entries arrive, some were trimmed or deleted meanwhile, and the report says so.

    turn 1      after the target's last ID, up to the source's
    --follow    XREAD waits for more, and another turn follows each wait
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from forebay.cli.copying.carried import Carrier
from forebay.cli.copying.ends import End, FileEnd, StreamEnd
from forebay.cli.copying.files import NDJSON, PIPE, format_of
from forebay.cli.copying.filling import Filler
from forebay.cli.output import Bar, complain, counted, json_of, number, text_of, write_json
from forebay.cli.remote.address import Address
from forebay.cli.remote.facts import NO_ID, StreamFacts, id_key, stream_of
from forebay.cli.remote.names import is_pattern, name_of
from forebay.cli.remote.option import Url, address_of
from forebay.cli.remote.server import Server, connected
from forebay.cli.streams.arguments import Json
from forebay.cli.usage import LineError
from forebay.cli.words import span

HELP = """\
Copy streams: to another stream, to another server, to a file, or from a file to a stream.

Every entry arrives once, with its ID.

A word that ends in .ndjson, .jsonl or .csv is a file, - is standard input or output, and
everything else is a stream.  SOURCE may be a pattern: then all streams that match are
copied under their names.

A copy that was stopped continues when it is started again, after the last ID of the
target.  It copies what the source held when it began; --follow also copies new entries,
until ctrl-c.
"""

EPILOG = """\
examples:
  forebay copy orders orders:backup
  forebay copy orders --to-url redis://other:6379
  forebay copy 'orders:*' --to-url redis://other:6379 --groups
  forebay copy orders --to-url redis://other:6379 --follow
  forebay copy orders orders.ndjson                 every bit; continues after the last line
  forebay copy orders orders.csv                    a column for each field
  forebay copy orders.ndjson orders
  forebay copy orders - | gzip > orders.ndjson.gz

With --groups the groups are copied too: how far each is, consumers, and pending entries
with owner, time and delivery count.  Stop the consumers before, and start them at the target.
"""

app = App(name="copy", help=HELP, help_epilogue=EPILOG)

WAIT_S = 1.0

Source = Annotated[
    str, Parameter(name="SOURCE", allow_leading_hyphen=True, help="a stream, a pattern, a file, -")
]
Target = Annotated[
    str | None,
    Parameter(
        name="TARGET",
        allow_leading_hyphen=True,
        help="a stream, a file, - (a stream of the same name)",
    ),
]
ToUrl = Annotated[
    Address | None,
    Parameter(
        name="--to-url",
        metavar="URL",
        converter=address_of,
        accepts_keys=False,
        help="the server of the target (the same)",
    ),
]
Groups = Annotated[bool, Parameter(help="also copy groups, consumers and pending entries")]
Follow = Annotated[bool, Parameter(alias="-f", help="go on with new entries")]
Append = Annotated[
    bool, Parameter(help="copy after the last ID of a target that holds other entries, too")
]
Format = Annotated[
    Literal["ndjson", "csv"] | None,
    Parameter(help="the format of a file (by its suffix; - is ndjson)"),
]


@app.default
def copy(
    source: Source,
    target: Target = None,
    /,
    *,
    to_url: ToUrl = None,
    groups: Groups = False,
    follow: Follow = False,
    append: Append = False,
    format: Format = None,
    json: Json = False,
    url: Url = None,
) -> int:
    """Copy, and report how much."""
    if follow and groups:
        raise LineError("groups are copied once, at the end: use --groups without --follow")
    from_file = PIPE if source == PIPE else format_of(source)
    to_file = PIPE if target == PIPE else format_of(target) if target else None
    if from_file and (to_file or target is None):
        raise LineError("a file can only be copied to a stream: forebay copy FILE STREAM")
    if ((from_file or to_file) and groups) or (from_file and follow):
        raise LineError("a file holds entries only: without --groups, and --follow only to it")
    if from_file and target is not None:
        with connected(to_url or url) as server:
            kind = format or format_of(source) or NDJSON
            return fill(server, source, kind, name_of(target), is_append=append, is_json=json)
    with ExitStack() as stack:
        here = stack.enter_context(connected(url))
        names = names_in(here, source, target)
        if to_file and target is not None:
            kind = format or format_of(target) or NDJSON
            jobs = [Job(here, names[0], FileEnd(here, names[0], target, kind))]
        else:
            there = stack.enter_context(connected(to_url or url))
            jobs = stream_jobs(here, there, names, target, is_append=append, has_groups=groups)
        for job in jobs:
            stack.callback(job.end.close)
        return run(jobs, here, is_following=follow, is_json=json, is_quiet=to_file == PIPE)


def names_in(server: Server, source: str, target: str | None) -> list[bytes]:
    """The streams to copy."""
    if target is not None and is_pattern(source):
        raise LineError("a pattern is copied under the names that match: leave out TARGET")
    return server.chosen([source])


def stream_jobs(
    here: Server,
    there: Server,
    names: Sequence[bytes],
    target: str | None,
    *,
    is_append: bool,
    has_groups: bool,
) -> list[Job]:
    """Streams to streams."""
    jobs = []
    for name in names:
        to = name if target is None else name_of(target)
        if to == name and here.address == there.address:
            raise LineError(f"{text_of(name)} would be copied to itself: name a TARGET or --to-url")
        end = StreamEnd(here, name, there, to, is_append=is_append)
        carrier = Carrier(here, name, there, to) if has_groups else None
        jobs.append(Job(here, name, end, carrier))
    return jobs


class Job:
    """One stream on its way to one end."""

    def __init__(
        self, source: Server, stream: bytes, end: End, carrier: Carrier | None = None
    ) -> None:
        self.source, self.stream, self.end, self.carrier = source, stream, end, carrier
        self.place = NO_ID
        self.facts: StreamFacts | None = None
        self.copied = self.missing = 0
        self.seconds = 0.0

    def turn(self) -> None:
        """Copy the entries that the source holds at this moment and the end does not."""
        begun = time.monotonic()
        facts = stream_of(self.source, self.stream)
        if self.facts is None:
            self.place = self.end.start()
        bar = Bar(text_of(self.stream), "entries")
        held = self.held(facts)
        taken = 0
        try:
            if id_key(self.place) < id_key(facts.last_id):
                taken = self.end.take(
                    self.place, facts.last_id, lambda done: bar(done, held or facts.length)
                )
                self.place = facts.last_id
        finally:
            bar.wipe()
        self.copied += taken
        self.missing += 0 if held is None else max(0, held - taken)
        self.facts = facts
        self.seconds += time.monotonic() - begun
        if self.carrier is not None:
            self.carrier.run()

    def held(self, facts: StreamFacts) -> int | None:
        """How many entries this turn must copy; None if that cannot be known."""
        if self.facts is None:
            return facts.length if self.place == NO_ID else None
        if facts.added is None or self.facts.added is None:
            return None
        return facts.added - self.facts.added


def run(jobs: Sequence[Job], source: Server, *, is_following: bool, **told: bool) -> int:
    """Run all jobs, one after the other; then follow new entries, if asked."""
    for job in jobs:
        job.turn()
        tell_job(job, **told)
    while is_following:
        follow_once(jobs, source)
    return 1 if any(job.missing for job in jobs) else 0


def follow_once(jobs: Sequence[Job], source: Server) -> None:
    """Wait for more entries, for a while."""
    waiting = {job.stream: job for job in jobs}
    places = [job.place for job in jobs]
    head = ("XREAD", "COUNT", 1, "BLOCK", round(WAIT_S * 1000), "STREAMS")
    for name, _ in source.ask(*head, *waiting, *places, wait_s=WAIT_S) or ():
        job = waiting[name]
        missing = job.missing
        job.turn()
        if job.missing > missing:
            complain(lost(job, job.missing - missing))


def tell_job(job: Job, *, is_json: bool, is_quiet: bool) -> None:
    """Report a job; standard output may hold the entries themselves."""
    if job.missing:
        complain(lost(job, job.missing))
    if is_json:
        write_json(job_json(job), sys.stderr if is_quiet else sys.stdout)
        return
    lines = [
        f"copied {counted(job.copied, 'entry')} of {text_of(job.stream)} to {job.end.name} "
        f"in {span(job.seconds)}{rate(job)}"
    ]
    if carrier := job.carrier:
        groups, pending = counted(carrier.groups, "group"), counted(carrier.pending, "entry")
        lines.append(f"with {groups} and {pending} pending")
        if carrier.left_behind:
            gone = counted(carrier.left_behind, "pending entry")
            lines.append(f"left behind: {gone} whose entries the stream no longer holds")
    (sys.stderr if is_quiet else sys.stdout).write("".join(f"{line}\n" for line in lines))


def lost(job: Job, count: int) -> str:
    """The sentence about entries that were removed before they could be copied."""
    return (
        f"{counted(count, 'entry')} of {text_of(job.stream)}, trimmed or deleted during the copy, "
        f"{'is' if count == 1 else 'are'} not in {job.end.name}"
    )


def rate(job: Job) -> str:
    """The rate, if anything was copied."""
    return f", {number(round(job.copied / job.seconds))} a second" if job.copied else ""


def job_json(job: Job) -> dict[str, Any]:
    """A copy for programs."""
    facts: dict[str, Any] = {
        "stream": json_of(job.stream),
        "target": job.end.name,
        "copied": job.copied,
        "missing": job.missing,
        "last_id": job.place,
        "seconds": round(job.seconds, 3),
    }
    if job.carrier is not None:
        facts |= {"groups": job.carrier.groups, "pending": job.carrier.pending}
        facts |= {"left_behind": job.carrier.left_behind}
    return facts


def fill(server: Server, word: str, kind: str, to: bytes, *, is_append: bool, is_json: bool) -> int:
    """A file to a stream."""
    begun = time.monotonic()
    filler = Filler(server, to, is_append=is_append)
    bar = Bar(text_of(to), "entries")
    try:
        filler.run(word, kind, lambda done: bar(done, None))
    finally:
        bar.wipe()
    seconds = time.monotonic() - begun
    if is_json:
        head = {"file": word, "stream": json_of(to), "copied": filler.added}
        write_json(head | {"skipped": filler.skipped, "seconds": round(seconds, 3)})
        return 0
    there = f", {number(filler.skipped)} were there already" if filler.skipped else ""
    sys.stdout.write(
        f"copied {counted(filler.added, 'entry')} of {word} to {text_of(to)} at {server.address} "
        f"in {span(seconds)}{there}\n"
    )
    return 0
