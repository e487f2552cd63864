"""Write the pages of docs/ that repeat tables in the source, and the picture.

    python tools/generate_docs.py            write the pages
    python tools/generate_docs.py --check    fail if a page differs from its table

The command table (commands/table.py), the table of directives
(server/config/table.py, inert.py), the connector's table of options
(forebay_spark/options.py), the settings of jobs (forebay_spark/pipeline) and the
signatures of the workers (workers_reference.py) are the only sources; the pages repeat
them for readers and are never edited by hand.  draw_architecture.py draws
docs/architecture.svg.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [str(ROOT / name / "src") for name in ("server", "spark", "workers")]
sys.path[:0] = [*SOURCES, str(ROOT)]

from forebay.commands.access.categories import categories_of  # noqa: E402
from forebay.commands.api.spec import FLAG_NAMES, Command  # noqa: E402
from forebay.commands.table import TABLE  # noqa: E402
from forebay.server.config.config import Config  # noqa: E402
from forebay.server.config.inert import INERT  # noqa: E402
from forebay.server.config.refused import REFUSED  # noqa: E402
from forebay.server.config.row import Directive  # noqa: E402
from forebay.server.config.table import SECTIONS  # noqa: E402
from forebay_spark import durations  # noqa: E402
from forebay_spark import options as spark_options  # noqa: E402
from forebay_spark.pipeline import config as jobs  # noqa: E402
from tools import workers_reference  # noqa: E402
from tools.draw_architecture import drawing  # noqa: E402

NOTICE = "<!-- Made by tools/generate_docs.py from the tables in the source; do not edit. -->"

#: Groups in the order of importance to readers; others follow by name.
GROUP_ORDER = ("stream", "generic", "string", "list", "set", "transactions", "pubsub")

COMMANDS_HEAD = """\
# Commands

Every command of the server, by group, with the version of Redis that introduced it.
`[a]` may be left out, `<a | b>` is one of them, `[a ...]` more of the same; words in capitals
are typed as they stand, in any letter case.  Replies and errors are those of Redis 8.10; what
differs is listed in [compatibility](compatibility.md).  `COMMAND DOCS` answers the same on a
running server.
"""

CONFIGURATION_HEAD = """\
# Configuration

A directive is given in a file in the syntax of redis.conf, as an option after the file
(`forebay serve forebay.conf --port 7000`), or, where the table says *at once*, on a running
server with `CONFIG SET`.  `CONFIG GET *` shows the values in force, `CONFIG REWRITE` writes them
back to the file and keeps its comments.  Sizes take a unit: `k` `m` `g` are powers of 1000, `kb`
`mb` `gb` powers of 1024.  An unknown directive stops the start, with file and line.
"""

INERT_HEAD = """\
## Accepted without effect

These directives of Redis are checked, kept and shown by `CONFIG GET`, so that an existing
redis.conf starts this server; but nothing acts upon them yet.  Setting one to anything but its
default is named in a warning at start.
"""

REFUSED_HEAD = """\
## Refused

These would be dangerous to ignore, so a configuration that holds one does not start.
"""

SPARK_OPTIONS_HEAD = """\
# Options of the Spark connector

Given with `.option(name, value)` to `spark.read`, `spark.readStream`, `df.write` or
`df.writeStream` with `format("forebay")`, in any letter case. [The guide](spark.md) says how they
work together.
"""

PIPELINE_SETTINGS_HEAD = """\
# Settings of pipelines

What a TOML or YAML file for `forebay pipeline run` may say; `forebay pipeline settings` prints the
same. `job` names the job, the other names are its settings. Times are written as `10 seconds`,
`5 minutes`, `1h` or `250ms`; `${NAME}` is taken from the environment. [The guide](pipelines.md)
says what the jobs do.
"""

PIPELINE_PARTS_HEAD = """\
# Tables inside a job

Settings that are tables of their own. `[[...]]` may be repeated; one alone may also be written as
`[...]`. In YAML they are mappings, and lists of mappings.
"""

#: Spark's spelling of values that Python spells differently.
SPARK_WORDS = {"True": "true", "False": "false"}


def commands_page() -> str:
    """docs/commands.md."""
    rows = sorted(TABLE.values(), key=lambda row: (_group_rank(row.group), row.group, row.name))
    parts = [NOTICE, "", COMMANDS_HEAD]
    for group, members in groupby(rows, key=lambda row: row.group):
        parts.append(f"## {group.capitalize()}\n")
        for row in members:
            parts.extend(_command(row))
    return "\n".join(parts)


def _group_rank(group: str) -> int:
    return GROUP_ORDER.index(group) if group in GROUP_ORDER else len(GROUP_ORDER)


def _command(row: Command) -> Iterator[str]:
    name = row.name.decode().upper()
    yield f"### {name}\n"
    if row.handler is not None:
        yield f"`{f'{name} {row.syntax}'.rstrip()}`\n"
    yield f"{row.summary}  \nSince {row.since}. {_facts(row)}\n"
    if row.subcommands:
        yield "| subcommand | | since |"
        yield "| --- | --- | --- |"
        for sub in row.subcommands.values():
            line = f"{name} {sub.name.decode().upper()} {sub.syntax}".rstrip()
            yield f"| `{_cell(line)}` | {_cell(sub.summary)} | {sub.since} |"
        yield ""


def _facts(row: Command) -> str:
    flags = " ".join(name for flag, name in FLAG_NAMES if row.flags & flag)
    categories = " ".join("@" + name for name in categories_of(row))
    return f"Flags: {flags}. Categories: {categories}." if flags else f"Categories: {categories}."


def configuration_page() -> str:
    """docs/configuration.md."""
    config = Config()
    parts = [NOTICE, "", CONFIGURATION_HEAD]
    for heading, rows in SECTIONS:
        parts += [f"## {heading}\n", "| directive | value | default | changes | meaning |"]
        parts.append("| --- | --- | --- | --- | --- |")
        parts += [_directive(config, row) for row in rows]
        parts.append("")
    parts.append(INERT_HEAD)
    for area, inert in groupby(INERT, key=lambda row: row.area):
        names = ", ".join(f"`{row.name}`" for row in inert)
        parts.append(f"- {area}: {names}")
    parts += ["", REFUSED_HEAD]
    parts += [f"- `{name}`: {why.reason}; {why.instead}" for name, why in REFUSED.items()]
    return "\n".join([*parts, ""])


def _directive(config: Config, row: Directive) -> str:
    default = row.kind.explain(config.value(row))
    when = "at once" if row.mutable else "at start"
    shown = f"`{default}`" if default else "empty"
    return f"| `{row.name}` | {_cell(row.kind.name)} | {_cell(shown)} | {when} | {_cell(row.doc)} |"


def spark_options_page() -> str:
    """docs/spark-options.md."""
    parts = [NOTICE, "", SPARK_OPTIONS_HEAD]
    for where, heading in (
        (spark_options.BATCH, "Batch read"),
        (spark_options.STREAM, "Streaming read"),
        (spark_options.WRITE, "Write"),
    ):
        parts += [f"## {heading}\n", "| option | default | meaning |", "| --- | --- | --- |"]
        for row in spark_options.TABLE:
            if where in row.where:
                default = "" if row.default in (None, ()) else f"`{_spark_default(row)}`"
                parts.append(f"| `{row.name}` | {default} | {_cell(row.summary)} |")
        parts.append("")
    return "\n".join(parts)


def _spark_default(row: spark_options.Option) -> str:
    if row.read is durations.read_ms:
        return durations.text_of(row.default)
    return SPARK_WORDS.get(str(row.default), str(row.default))


def pipeline_settings_page() -> str:
    """docs/pipeline-settings.md."""
    parts = [NOTICE, "", PIPELINE_SETTINGS_HEAD]
    tables: dict[str, type] = {}
    for name, job in jobs.JOBS.items():
        parts += _settings(f'job = "{name}"', job)
        tables |= dict(jobs.parts_of(job))
    parts.append(PIPELINE_PARTS_HEAD)
    for head, kind in tables.items():
        parts += _settings(head, kind)
    return "\n".join(parts)


def _settings(head: str, kind: type) -> Iterator[str]:
    yield f"## `{head}`\n\n{kind.__doc__}\n\n| setting | default | meaning |\n| --- | --- | --- |"
    for name, default, doc in jobs.settings_of(kind):
        shown = default if default in ("", "required") else f"`{default}`"
        yield f"| `{name}` | {_cell(shown)} | {_cell(doc)} |"
    yield ""


def workers_reference_page() -> str:
    """docs/workers-reference.md."""
    return f"{NOTICE}\n\n{workers_reference.page()}"


def _cell(text: str) -> str:
    """Text inside a table, where a bar would end the cell."""
    return text.replace("|", "\\|")


PAGES = {
    ROOT / "docs" / "commands.md": commands_page,
    ROOT / "docs" / "configuration.md": configuration_page,
    ROOT / "docs" / "spark-options.md": spark_options_page,
    ROOT / "docs" / "pipeline-settings.md": pipeline_settings_page,
    ROOT / "docs" / "workers-reference.md": workers_reference_page,
    ROOT / "docs" / "architecture.svg": drawing,
}


def main(argv: list[str]) -> int:
    """Write the pages, or say which are stale."""
    stale = []
    for path, make in PAGES.items():
        text = make()
        if "--check" not in argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        print(f"stale: {', '.join(stale)}; run 'make docs'", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
