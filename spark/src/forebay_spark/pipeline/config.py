"""A whole pipeline in one file, TOML or YAML.

    job = "archive"                       which job; the other names are its settings
    trigger = "10 seconds"
    lake = "/data/lake"
    trim = "1 hour"

    [source]
    url = "redis://127.0.0.1:6379"
    streams = ["orders"]

The settings of a job are the fields of its dataclass (see archive.py, jobs.py, replay.py);
nothing here knows any of them.  ``${NAME}`` is taken from the environment, so that secrets
need not be in the file.
"""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from forebay_spark import durations
from forebay_spark.errors import OptionError
from forebay_spark.lake.lake import Lake
from forebay_spark.lake.upkeep import WEEK_MS, Compaction, compact
from forebay_spark.pipeline import settings
from forebay_spark.pipeline.archive import Archive
from forebay_spark.pipeline.jobs import Aggregate, Process, Quarantine, SinkJob
from forebay_spark.pipeline.replay import Replay
from forebay_spark.pipeline.settings import build, setting
from forebay_spark.pipeline.spec import SINKS, Source, StreamSink, Transform

_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class Compact:
    """Merges small files of a lake into large ones."""

    lake: str = setting(settings.text, "the folder or URL of the lake")
    target_mb: int = setting(settings.whole, "size of a file", default=128)
    grace: int = setting(settings.duration, "how long old files stay", default=WEEK_MS)
    name: str = setting(settings.text, "name of the job", default="compact")
    lake_options: Mapping[str, str] = setting(
        settings.mapping, "keys and endpoints of an object store", default_factory=dict
    )

    def run(self) -> Compaction:
        """Compact once."""
        return compact(Lake(self.lake, self.lake_options), self.target_mb, self.grace)

    def told(self, done: Compaction) -> str:
        """The result of a run, for a person."""
        return (
            f"{done.files_before} files became {done.files_after}; "
            f"{done.deleted_files} old files deleted"
        )


Stream = Archive | Process | Aggregate | Quarantine
AnyJob = Stream | Replay | Compact

JOBS: dict[str, type[AnyJob]] = {
    "archive": Archive,
    "process": Process,
    "aggregate": Aggregate,
    "quarantine": Quarantine,
    "replay": Replay,
    "compact": Compact,
}


#: Settings that are tables: the headers that they have in a file.
PARTS: dict[str, dict[str, type[Any]]] = {
    "source": {"[source]": Source},
    "transform": {"[[transform]]": Transform},
    "sink": {f'[[sink]] kind = "{name}"': kind for name, kind in SINKS.items()},
    "dead_letter": {"[dead_letter]": StreamSink},
}


def load(path: str | Path) -> AnyJob:
    """The job that a file describes; OptionError says what is wrong and where."""
    file = Path(path)
    try:
        content = file.read_text("utf-8")
    except OSError as error:
        raise OptionError(f"The file {file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise OptionError(f"The file {file} is not UTF-8 text. Save it as UTF-8.") from None
    return checked(from_mapping(_parse(file, content), str(file.name)))


def checked(job: AnyJob) -> AnyJob:
    """The job, after all checks that need neither Spark nor a server."""
    if isinstance(job, Stream):
        job.source.checked()
    if isinstance(job, SinkJob):
        job.check()
    return job


def from_mapping(given: Mapping[str, object], where: str) -> AnyJob:
    """The job that a table of settings describes."""
    rest = {name: _filled(value) for name, value in given.items()}
    kind = settings.one_of(*JOBS)(rest.pop("job", None), f"{where}: job")
    return build(JOBS[kind], rest, kind)


def _parse(file: Path, content: str) -> Mapping[str, object]:
    if file.suffix.lower() in (".yaml", ".yml"):
        return _yaml(file, content)
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"The file {file} is not TOML: {error}.") from None


def _yaml(file: Path, content: str) -> Mapping[str, object]:
    try:
        yaml = import_module("yaml")
    except ImportError:
        raise OptionError(
            f"Reading {file} needs PyYAML. Install it (pip install PyYAML), or write TOML."
        ) from None
    try:
        parsed = yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise OptionError(f"The file {file} is not YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(parsed, Mapping):
        raise OptionError(f"The file {file} is not a table of settings. See the examples.")
    return parsed


def _filled(value: object) -> object:
    """The value with ``${NAME}`` replaced, at any depth."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _variable(found[1]), value)
    if isinstance(value, Mapping):
        return {name: _filled(inner) for name, inner in value.items()}
    return [_filled(inner) for inner in value] if isinstance(value, list) else value


def _variable(name: str) -> str:
    if name not in os.environ:
        raise OptionError(f"The file uses ${{{name}}}, but there is no such variable. Set {name}.")
    return os.environ[name]


def settings_of(job: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of each setting of a job, for its help."""
    for field in dataclasses.fields(job):
        required = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        default = "required" if required else _shown(field)
        yield field.name, default, field.metadata["doc"]


def parts_of(job: type[Any]) -> Iterator[tuple[str, type[Any]]]:
    """The tables of a job's file, by their TOML headers, and their settings."""
    for field in dataclasses.fields(job):
        yield from PARTS.get(field.name, {}).items()


def _shown(field: dataclasses.Field[Any]) -> str:
    default = field.default
    if default in (None, (), dataclasses.MISSING):
        return ""
    if field.metadata["read"] is settings.duration:
        return durations.text_of(default)
    return str(default).lower() if isinstance(default, bool) else str(default)
