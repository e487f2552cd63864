"""Memory of an ordered map of a million stream IDs, in five ways.

    python -m bench.structures rax 1000000

builds one of them in a process of its own and prints resident bytes and the time
to insert and to find, as JSON: the stream itself (a radix tree of packed nodes,
with a small field in each entry), a radix tree with a key per ID, and three rivals
in their textbook forms, written as plainly as possible.  The point is the memory that
a tree node or a pointer per ID costs.  Only the first two are compiled, so compare
times only between structures of the same kind (compiled or not).
"""

from __future__ import annotations

import json
import os
import sys
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Protocol

CHUNK = 512
MAX_LEVEL = 20
NAMES = ("stream", "rax", "sorted chunks", "skip list", "AVL tree")


class Ordered(Protocol):
    """The common interface: ordered IDs, found by value."""

    def insert(self, key: int) -> None: ...
    def find(self, key: int) -> bool: ...


class StreamOfIds:
    """The server's way: the radix tree holds one node of packed entries per hundred IDs."""

    def __init__(self) -> None:
        from forebay.core.stream import Stream

        self.stream = Stream()

    def insert(self, key: int) -> None:
        self.stream.add(key >> 64, key & (1 << 64) - 1, [b"f", b"1"])

    def find(self, key: int) -> bool:
        return self.stream.exists(key >> 64, key & (1 << 64) - 1)


class RaxOfIds:
    """The radix tree of the server with a key of sixteen big-endian bytes for each ID."""

    def __init__(self) -> None:
        from forebay.core.rax import Rax

        self.tree = Rax()

    def insert(self, key: int) -> None:
        self.tree.insert(key.to_bytes(16, "big"), True)

    def find(self, key: int) -> bool:
        return self.tree.find(key.to_bytes(16, "big")) is not None


class SortedChunks:
    """Chunks of sorted 64-bit pairs; two arrays a chunk, found by bisection."""

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.chunks: list[tuple[array[int], array[int]]] = []

    def insert(self, key: int) -> None:
        ms, seq = key >> 64, key & (1 << 64) - 1
        if not self.chunks or len(self.chunks[-1][0]) == CHUNK:
            self.firsts.append(key)
            self.chunks.append((array("Q"), array("Q")))
        chunk = self.chunks[-1]
        chunk[0].append(ms)
        chunk[1].append(seq)

    def find(self, key: int) -> bool:
        at = bisect_left(self.firsts, key + 1) - 1
        if at < 0:
            return False
        times, sequences = self.chunks[at]
        i = bisect_left(times, key >> 64)
        while i < len(times) and times[i] == key >> 64:
            if sequences[i] == key & (1 << 64) - 1:
                return True
            i += 1
        return False


class SkipNode:
    """A key and its forward pointers."""

    __slots__ = ("key", "next")

    def __init__(self, key: int, height: int) -> None:
        self.key = key
        self.next: list[SkipNode | None] = [None] * height


class SkipList:
    """Pugh's list, one level in four going up."""

    def __init__(self) -> None:
        self.head = SkipNode(-1, MAX_LEVEL)
        self.dice = Random(7)

    def path(self, key: int) -> list[SkipNode]:
        """The last node before ``key`` on each level, top first."""
        node, path = self.head, []
        for level in reversed(range(MAX_LEVEL)):
            while (after := node.next[level]) is not None and after.key < key:
                node = after
            path.append(node)
        return path

    def insert(self, key: int) -> None:
        height = 1
        while height < MAX_LEVEL and self.dice.random() < 0.25:
            height += 1
        node = SkipNode(key, height)
        for level, before in zip(range(height), reversed(self.path(key)), strict=False):
            node.next[level], before.next[level] = before.next[level], node

    def find(self, key: int) -> bool:
        node = self.path(key)[-1].next[0]
        return node is not None and node.key == key


class TreeNode:
    """A key, two children and a height."""

    __slots__ = ("height", "key", "left", "right")

    def __init__(self, key: int) -> None:
        self.key = key
        self.left: TreeNode | None = None
        self.right: TreeNode | None = None
        self.height = 1


def height(node: TreeNode | None) -> int:
    """The height of a subtree."""
    return 0 if node is None else node.height


def measured(node: TreeNode) -> TreeNode:
    """The node with its height updated."""
    node.height = 1 + max(height(node.left), height(node.right))
    return node


def rotate_left(node: TreeNode) -> TreeNode:
    """Lift the right child."""
    top = node.right
    assert top is not None
    node.right, top.left = top.left, node
    measured(node)
    return measured(top)


def rotate_right(node: TreeNode) -> TreeNode:
    """Lift the left child."""
    top = node.left
    assert top is not None
    node.left, top.right = top.right, node
    measured(node)
    return measured(top)


def balanced(node: TreeNode) -> TreeNode:
    """The subtree with its two sides within one of each other."""
    lean = height(node.left) - height(node.right)
    if lean > 1:
        assert node.left is not None
        if height(node.left.left) < height(node.left.right):
            node.left = rotate_left(node.left)
        return rotate_right(node)
    if lean < -1:
        assert node.right is not None
        if height(node.right.right) < height(node.right.left):
            node.right = rotate_right(node.right)
        return rotate_left(node)
    return measured(node)


class AvlTree:
    """Adelson-Velsky and Landis, recursive."""

    def __init__(self) -> None:
        self.root: TreeNode | None = None

    def insert(self, key: int) -> None:
        self.root = self._insert(self.root, key)

    def _insert(self, node: TreeNode | None, key: int) -> TreeNode:
        if node is None:
            return TreeNode(key)
        if key < node.key:
            node.left = self._insert(node.left, key)
        elif key > node.key:
            node.right = self._insert(node.right, key)
        return balanced(node)

    def find(self, key: int) -> bool:
        node = self.root
        while node is not None and node.key != key:
            node = node.left if key < node.key else node.right
        return node is not None


MAKERS: dict[str, Callable[[], Ordered]] = {
    "stream": StreamOfIds,
    "rax": RaxOfIds,
    "sorted chunks": SortedChunks,
    "skip list": SkipList,
    "AVL tree": AvlTree,
}


def rss_bytes() -> int:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(name: str, count: int) -> dict[str, Any]:
    """Build one structure of ``count`` IDs, a few in each millisecond, and look IDs up."""
    structure = MAKERS[name]()
    before, start = rss_bytes(), time.perf_counter()
    for i in range(count):
        structure.insert((1_700_000_000_000 + i // 4 << 64) + i % 4)
    built = time.perf_counter()
    sample = [(1_700_000_000_000 + i // 4 << 64) + i % 4 for i in range(0, count, 97)]
    found_at = time.perf_counter()
    assert all(structure.find(key) for key in sample)
    done = time.perf_counter()
    return {
        "structure": name,
        "ids": count,
        "bytes_per_id": round((rss_bytes() - before) / count, 1),
        "insert_ns": round((built - start) / count * 1e9),
        "find_ns": round((done - found_at) / len(sample) * 1e9),
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
