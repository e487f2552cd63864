"""Spark's record of a query, read by us: its name, and the range of each batch.

    checkpoint/metadata      the name that Spark gave the query when the checkpoint was made
    checkpoint/offsets/N     the end of batch N, written before the batch runs
    checkpoint/commits/N     written when it is done

Spark writes a checkpoint through Hadoop's file systems, so a checkpoint that is not on this machine
is read through them too, with the user's own settings.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from py4j.protocol import Py4JError

from forebay_spark.errors import OptionError, first_sentence
from forebay_spark.ids import EntryId
from forebay_spark.lake.stores import place_of
from forebay_spark.read import offsets
from forebay_spark.read.offsets import Span

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OFFSETS, COMMITS, METADATA = "offsets", "commits", "metadata"
HEAD_LINES = 2
#: Spark's mark for an offset that a source does not have yet.
NO_OFFSET = "-"


class Files(Protocol):
    """The operations of a file system that we need."""

    def read(self, path: str) -> bytes | None:
        """The content, or None if there is no such file."""

    def names(self, folder: str) -> list[str]:
        """The names directly in a folder; none if there is no such folder."""


class LocalFiles:
    """Files of this machine."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> bytes | None:
        """See Files."""
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> list[str]:
        """See Files."""
        try:
            return [entry.name for entry in (self._root / folder).iterdir()]
        except FileNotFoundError:
            return []


class HadoopFiles:
    """Files of any file system that Hadoop knows."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._root = root
        context: Any = spark.sparkContext
        self._jvm = context._jvm
        settings = context._jsc.hadoopConfiguration()
        opener = self._jvm.org.apache.hadoop.fs.FileContext
        try:
            self._context = opener.getFileContext(self._path("").toUri(), settings)
        except Py4JError as error:
            raise OptionError(
                f"The checkpoint {root} cannot be opened ({first_sentence(error)}). "
                "Name a checkpoint that Spark can write, such as a folder, or give Spark what it "
                "needs for this one (--conf)."
            ) from None

    def _path(self, inner: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._root}/{inner}".rstrip("/"))

    def _exists(self, inner: str) -> bool:
        return bool(self._context.util().exists(self._path(inner)))

    def read(self, path: str) -> bytes | None:
        """See Files."""
        if not self._exists(path):
            return None
        stream = self._context.open(self._path(path))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def names(self, folder: str) -> list[str]:
        """See Files."""
        if not self._exists(folder):
            return []
        listed = self._context.util().listStatus(self._path(folder))
        return [status.getPath().getName() for status in listed]


class Checkpoint:
    """The checkpoint of one query."""

    def __init__(self, root: str, files: Files) -> None:
        self.root = root
        self._files = files

    def query_id(self) -> str:
        """The name of the query: it survives restarts; a new checkpoint has a new name."""
        content = self._files.read(METADATA)
        if content is None:
            raise OptionError(f"The checkpoint {self.root} has lost its metadata. Use a new one.")
        return str(json.loads(content)["id"])

    def spans_of(self, batch: int) -> dict[str, Span]:
        """The ranges of a batch."""
        record = self._offsets(batch)
        if record is None:
            raise OptionError(
                f"The checkpoint {self.root} has no offsets of batch {batch}. Remove it: an "
                "archive continues where its lake ends."
            )
        before = self._offsets(batch - 1) or {}
        spans = {}
        for stream, entry in record.items():
            start = offsets.position(before[stream]) if stream in before else None
            span = offsets.decode(start, entry)
            if span.pieces:
                spans[stream] = span
        return spans

    def committed(self) -> dict[str, EntryId]:
        """How far Spark has recorded each stream as done; it never asks for that again."""
        done = [int(name) for name in self._files.names(COMMITS) if name.isdigit()]
        record = self._offsets(max(done)) if done else None
        return {stream: offsets.position(entry).id for stream, entry in (record or {}).items()}

    def _offsets(self, batch: int) -> dict[str, offsets.Json] | None:
        content = self._files.read(f"{OFFSETS}/{batch}")
        if content is None:
            return None
        merged: dict[str, offsets.Json] = {}
        for line in content.decode().splitlines()[HEAD_LINES:]:
            merged |= {} if line == NO_OFFSET else json.loads(line)
        return merged


def open_checkpoint(spark: SparkSession, path: str) -> Checkpoint:
    """The checkpoint at a path or URL; it need not exist yet."""
    place = place_of(path)
    if place.is_local:
        return Checkpoint(place.root, LocalFiles(place.folder))
    return Checkpoint(place.root, HadoopFiles(spark, place.root))
