"""Where a lake is, and the few operations there that the library does not do for us.

    local     a path, or file:// ...; every machine of Spark sees it
    store     s3://  gs://  az://  hdfs:// ...; delta-rs talks to it, with its own names for
              keys and endpoints, from the environment or from ``options``

Tasks write files with rows, through ``create``.  A file of a store appears completely when it is
closed, and is as durable as the store makes it.  A local file is made durable here: its bytes, and
the folders on the path to it.  The library makes commits, except in a folder: there we make those
that only add files (``put_commit``).

When a disk makes one file durable, it makes all earlier writes durable too, and each further file
costs little.  So many files are written first and then made durable together, several at once; a
store takes several at once as well.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast
from urllib.parse import unquote, urlsplit

from deltalake.fs import DeltaStorageHandler

from forebay_spark.lake.errors import LakeError

T = TypeVar("T")

LOG = "_delta_log"
#: Names the newest checkpoint; without it the log is searched.
LAST_CHECKPOINT = "_last_checkpoint"
#: How many files are made durable at once.
AT_ONCE = 8
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


class Place(NamedTuple):
    """A lake's address: an absolute path or a URL, and the options to access it."""

    root: str
    options: Mapping[str, str] = {}

    @property
    def is_local(self) -> bool:
        """Whether files are reached through the operating system."""
        return self.root.startswith("/")

    @property
    def folder(self) -> Path:
        """The folder of a local lake."""
        return Path(self.root)

    def handler(self) -> Any:
        """The library's own access to files of any store."""
        return DeltaStorageHandler(self.root, dict(self.options))


def place_of(root: str, options: Mapping[str, str] | None = None) -> Place:
    """An address as it was written, made absolute."""
    parts = urlsplit(root)
    if parts.scheme in ("", "file"):
        path = unquote(parts.path) if parts.scheme else root
        return Place(str(Path(path).expanduser().absolute()))
    return Place(root.rstrip("/"), dict(options or {}))


class _Upload:
    """A file of a store while it grows.  The library takes bytes only; Arrow gives buffers."""

    closed = False

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._at = 0

    def write(self, data: Any) -> int:
        size = len(data)
        self._inner.write(bytes(data))
        self._at += size
        return size

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """Nothing to do: parts are sent by themselves, only the end counts."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._inner.close()


def create(place: Place, path: str) -> BinaryIO:
    """A new file of a lake, open for writing."""
    if not place.is_local:
        return cast("BinaryIO", _Upload(place.handler()._handler.open_output_stream(path, None)))
    target = place.folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.open("xb")


def finish(outs: Sequence[BinaryIO]) -> None:
    """End files; return when they would survive a power failure."""
    _at_once(_finish, outs)


def _finish(out: BinaryIO) -> None:
    if not isinstance(out, _Upload):
        out.flush()
        os.fsync(out.fileno())
    out.close()


def sync_folders(place: Place, paths: Iterable[str]) -> None:
    """Return when the names of these files would survive a power failure."""
    if place.is_local:
        inside = {folder for path in paths for folder in PurePosixPath(path).parents}
        _at_once(_sync, [place.folder.parent, *(place.folder / folder for folder in inside)])


def _at_once(work: Callable[[T], None], items: Sequence[T]) -> None:
    """Do the same to several items at once; the first error is raised."""
    if items:
        with ThreadPoolExecutor(min(AT_ONCE, len(items))) as pool:
            list(pool.map(work, items))


class TakenError(Exception):
    """Another writer has made the commit of this version."""


def put_commit(place: Place, version: int, content: bytes) -> None:
    """Make a commit in a folder, complete and durable at once, or raise TakenError.

    A file gets a second name only if nothing has that name, so of two writers one succeeds.
    """
    log = place.folder / LOG
    draft = log / f"_commit_{uuid.uuid4()}.json.tmp"
    try:
        with draft.open("xb") as out:
            out.write(content)
            _finish(out)
        os.link(draft, log / f"{version:020}.json")
    except FileExistsError:
        raise TakenError from None
    finally:
        draft.unlink(missing_ok=True)
    _sync(log)


def sync_commit(place: Place, version: int) -> None:
    """Return when a commit would survive a power failure; the library does not wait for that."""
    if place.is_local:
        log = place.folder / LOG
        _sync(log / f"{version:020}.json")
        _sync(log)


def sync_checkpoint(place: Place, version: int) -> None:
    """The same for a checkpoint; after it, the commits that it covers may be removed."""
    if place.is_local:
        log = place.folder / LOG
        for name in (f"{version:020}.checkpoint.parquet", LAST_CHECKPOINT):
            _sync(log / name)
        _sync(log)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(place: Place, paths: Iterable[str]) -> None:
    """Remove files that no commit names; vacuum removes those that cannot be removed now."""
    for path in paths:
        if place.is_local:
            (place.folder / path).unlink(missing_ok=True)
        else:
            place.handler().delete_file(path)


def set_torn_files_aside(place: Place) -> None:
    """Rename torn files: after a power failure the newest files of a log may have no content.

    No writer has reported such a commit as done: that happens after ``sync_commit``.  Nothing that
    such a checkpoint covers was removed: that happens after ``sync_checkpoint``.  Both appear
    complete under their names while the machine runs, so only a crash leaves them torn.
    """
    log = place.folder / LOG
    if not place.is_local or not log.is_dir():
        return
    commits = [path for path in log.glob("*.json") if path.stem.isdigit()]
    _set_aside_unless(b"}", max(commits, default=None))
    if _set_aside_unless(b"PAR1", max(log.glob("*.checkpoint.parquet"), default=None)):
        (log / LAST_CHECKPOINT).unlink(missing_ok=True)


def _set_aside_unless(end: bytes, newest: Path | None) -> bool:
    if newest is None or newest.read_bytes().rstrip().endswith(end):
        return False
    newest.rename(newest.with_suffix(".torn"))
    return True


def told(error: Exception) -> str:
    """The first line of a library's error, without its colours."""
    return _COLOUR.sub("", str(error)).strip().splitlines()[0].rstrip(".")


def said(place: Place, error: Exception) -> LakeError:
    """An error of a file system or a store, as a sentence."""
    reason = getattr(error, "strerror", None) or told(error)
    return LakeError(
        f"The lake {place.root} cannot be used ({reason}). Check that it can be reached and that "
        "there is room, and that this user may read and write there."
    )
