"""The one door to the file system of a lake, and its clock.

A lake needs six things of a file system, and two of them are promises:

    create    a new file appears whole under its name, or the name was taken (False)
    sync      what was written before survives a loss of power

Local paths go through the operating system, all others (hdfs://, s3a://, ...) through
Hadoop's classes in the JVM that Spark has started, with the user's own settings for it.
Paths are relative to the root of the lake, with slashes; a name that begins with ``.``
or ``_`` among data files is somebody's scratch and is not listed.

Data files come by another way, from tasks that may run elsewhere: Spark's writer, or those of
pipeline/landing.py.  Through this door they are listed, made safe and removed.

On Hadoop file systems a finished file is as durable as that file system makes it, so
``sync`` has nothing to do there.  The rename behind ``create`` must not overwrite: true
for HDFS; on an object store two writers at the same moment need a store that can do so.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError

from forebay_spark.errors import first_sentence
from forebay_spark.lake.errors import LakeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

P = ParamSpec("P")
T = TypeVar("T")


class FileInfo(NamedTuple):
    """A file below some folder."""

    path: str
    size_bytes: int
    modified_ms: int


class Files(Protocol):
    """What a lake needs of a file system."""

    root: str

    def read(self, path: str) -> bytes | None:
        """The content, or None if there is no such file."""

    def create(self, path: str, content: bytes) -> bool:
        """Make a file appear whole and durable; False if the name is taken."""

    def names(self, folder: str) -> list[str]:
        """What is directly in a folder; nothing if there is no such folder."""

    def walk(self, folder: str) -> list[FileInfo]:
        """All data files below a folder."""

    def sync(self, paths: list[str]) -> None:
        """Return when these files would survive a loss of power."""

    def remove(self, path: str) -> None:
        """Remove a file or a folder with all in it, if it is there."""


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def open_files(spark: SparkSession, root: str) -> Files:
    """The door that fits a path or URL."""
    parts = urlsplit(root)
    if parts.scheme in ("", "file"):
        path = unquote(parts.path) if parts.scheme else root
        return LocalFiles(Path(path).expanduser().absolute())
    return HadoopFiles(spark, root.rstrip("/"))


def is_scratch(path: str) -> bool:
    """Whether a part of a data path marks work that is not finished, or a checksum."""
    return any(p.startswith(".") or (p[0] == "_" and "=" not in p) for p in path.split("/"))


def _in_words(
    method: Callable[Concatenate[LocalFiles, P], T],
) -> Callable[Concatenate[LocalFiles, P], T]:
    """What the operating system refuses, as a sentence about the folder."""

    @wraps(method)
    def told(self: LocalFiles, /, *args: P.args, **more: P.kwargs) -> T:
        try:
            return method(self, *args, **more)
        except OSError as error:
            raise LakeError(
                f"The folder {self.root} cannot be used ({error.strerror}). "
                "Name one that this user may read and write."
            ) from None

    return told


class LocalFiles:
    """Files of this machine, or of a disk that all machines have mounted."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self._root = root

    @_in_words
    def read(self, path: str) -> bytes | None:
        """See Files."""
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError:
            return None

    @_in_words
    def create(self, path: str, content: bytes) -> bool:
        """See Files: a link is refused if the name exists, whoever comes first."""
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            with draft.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            target.hardlink_to(draft)
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        _sync(target.parent)
        return True

    @_in_words
    def names(self, folder: str) -> list[str]:
        """See Files."""
        try:
            return [entry.name for entry in (self._root / folder).iterdir()]
        except FileNotFoundError:
            return []

    @_in_words
    def walk(self, folder: str) -> list[FileInfo]:
        """See Files."""
        found = []
        base = self._root / folder
        for path in sorted(base.rglob("*")):
            inner = path.relative_to(base).as_posix()
            if not is_scratch(inner) and path.is_file():
                facts = path.stat()
                modified_ms = facts.st_mtime_ns // 1_000_000
                found.append(FileInfo(f"{folder}/{inner}", facts.st_size, modified_ms))
        return found

    @_in_words
    def sync(self, paths: list[str]) -> None:
        """See Files: the files, and every folder on the way to them."""
        folders: set[Path] = set()
        for path in paths:
            _sync(self._root / path)
            folders.update((self._root / path).parents)
        for folder in folders:
            if folder.is_relative_to(self._root):
                _sync(folder)

    @_in_words
    def remove(self, path: str) -> None:
        """See Files."""
        target = self._root / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class HadoopFiles:
    """Files of any file system that Hadoop knows."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.root = root
        context: Any = spark.sparkContext
        self._jvm, self._gateway = context._jvm, context._gateway
        settings = context._jsc.hadoopConfiguration()
        opener = self._jvm.org.apache.hadoop.fs.FileContext
        try:
            self._context = opener.getFileContext(self._path("").toUri(), settings)
        except Py4JError as error:
            raise LakeError(
                f"The file system of {root} cannot be opened ({first_sentence(error)}). "
                "Correct the path, or give Spark what it needs for it (--conf)."
            ) from None

    def _path(self, inner: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.root}/{inner}".rstrip("/"))

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

    def create(self, path: str, content: bytes) -> bool:
        """See Files: written beside its name, then renamed, which may not overwrite."""
        folder, _, name = path.rpartition("/")
        draft = self._path(f"{folder}/.{name}.{uuid.uuid4().hex}")
        fs = self._jvm.org.apache.hadoop.fs
        how = self._gateway.new_array(fs.Options.CreateOpts, 1)
        how[0] = fs.Options.CreateOpts.createParent()
        flags = self._jvm.java.util.EnumSet.of(fs.CreateFlag.CREATE)
        out = self._context.create(draft, flags, how)
        out.write(content)
        out.close()
        plain = self._gateway.new_array(fs.Options.Rename, 0)
        try:
            self._context.rename(draft, self._path(path), plain)
        except Exception:
            if not self._exists(path):
                raise
            return False
        finally:
            self._context.delete(draft, False)
        return True

    def names(self, folder: str) -> list[str]:
        """See Files."""
        if not self._exists(folder):
            return []
        listed = self._context.util().listStatus(self._path(folder))
        return [status.getPath().getName() for status in listed]

    def walk(self, folder: str) -> list[FileInfo]:
        """See Files."""
        found = []
        for name in sorted(self.names(folder)):
            inner = f"{folder}/{name}"
            if is_scratch(name):
                continue
            status = self._context.getFileStatus(self._path(inner))
            if status.isDirectory():
                found += self.walk(inner)
            else:
                found.append(FileInfo(inner, status.getLen(), status.getModificationTime()))
        return found

    def sync(self, paths: list[str]) -> None:
        """See Files: nothing to do here."""

    def remove(self, path: str) -> None:
        """See Files."""
        if self._exists(path):
            self._context.delete(self._path(path), True)
