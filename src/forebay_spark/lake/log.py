"""The commit log on disk: loading the state of a lake, and changing it.

    _log/00000000000000000007.json        commit 7, never changed
    _log/00000000000000000050.snapshot    the state after commit 50, to start from

``change`` is how everybody writes: it hands the newest state to a function that answers
with a commit, and tries to give that commit the next number.  If another writer was
quicker, the function is asked again with the newer state; it may then decide otherwise
(return None), for example because its batch is there already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from forebay_spark.lake.commits import (
    Commit,
    State,
    apply,
    decode_commit,
    decode_state,
    encode_commit,
    encode_state,
)
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.files import Files

FOLDER = "_log"
COMMIT, SNAPSHOT = ".json", ".snapshot"
SNAPSHOT_EVERY = 50
DIGITS = 20

T = TypeVar("T")


def name_of(version: int, suffix: str) -> str:
    """The path of a commit or snapshot."""
    return f"{FOLDER}/{version:0{DIGITS}}{suffix}"


class CommitLog:
    """The log of one lake; remembers the newest state that it has seen."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._state: State | None = None

    def load(self) -> State | None:
        """The newest state, or None if there is no lake."""
        names = self._files.names(FOLDER)
        versions = _versions(names, COMMIT)
        if not versions:
            self._state = None
            return None
        self._start_near(max(versions), _versions(names, SNAPSHOT))
        state = self._state
        for version in range(state.version + 1 if state else 0, max(versions) + 1):
            state = apply(state, version, self._commit(version))
        self._state = state
        return state

    def change(self, decide: Callable[[State | None], Commit | None]) -> State | None:
        """Add the commit that ``decide`` makes of the newest state; the state after it."""
        while True:
            state = self.load()
            commit = decide(state)
            if commit is None:
                return state
            version = state.version + 1 if state else 0
            after = apply(state, version, commit)
            if self._files.create(name_of(version, COMMIT), encode_commit(commit)):
                self._state = after
                if version and version % SNAPSHOT_EVERY == 0:
                    self.snapshot(after)
                return after

    def snapshot(self, state: State) -> None:
        """Save a start for later loads; somebody else's of the same version is as good."""
        self._files.create(name_of(state.version, SNAPSHOT), encode_state(state))

    def forget(self, version: int) -> int:
        """Remove commits and snapshots below a version that has a snapshot; how many."""
        names = self._files.names(FOLDER)
        old = [
            name_of(v, suffix)
            for suffix in (COMMIT, SNAPSHOT)
            for v in sorted(_versions(names, suffix))
            if v < version
        ]
        for path in old:
            self._files.remove(path)
        return len(old)

    def _start_near(self, newest: int, snapshots: list[int]) -> None:
        """Begin from the memory or from a snapshot, whatever is nearer to the newest commit."""
        if self._state is not None and self._state.version > newest:
            self._state = None
        best = max((v for v in snapshots if v <= newest), default=-1)
        if best > (self._state.version if self._state else -1):
            content = self._files.read(name_of(best, SNAPSHOT))
            if content is not None:
                self._state = self._decoded(name_of(best, SNAPSHOT), content, decode_state)

    def _commit(self, version: int) -> Commit:
        content = self._files.read(name_of(version, COMMIT))
        if content is None:
            raise LakeError(
                f"Commit {version} is missing from the log of the lake {self._files.root}. "
                "Restore it from a backup, or archive to a new lake."
            )
        return self._decoded(name_of(version, COMMIT), content, decode_commit)

    def _decoded(self, name: str, content: bytes, decode: Callable[[bytes], T]) -> T:
        try:
            return decode(content)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise LakeError(
                f"The file {name} of {self._files.root} is damaged, or this is no lake. "
                "Restore it from a backup, or correct the path."
            ) from None


def _versions(names: list[str], suffix: str) -> list[int]:
    stems = [name.removesuffix(suffix) for name in names if name.endswith(suffix)]
    return [int(stem) for stem in stems if stem.isdigit()]
