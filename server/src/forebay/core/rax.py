"""The ordered map from bytes to objects: a radix tree with path compression.

A stream keeps its nodes in one (16-byte IDs as keys), and its groups and their
consumers in others (names as keys, which may be empty or one a prefix of
another).  The keys ``foo``, ``foobar`` and ``footer`` make this tree::

    root ---"foo"---> [key foo] ---"bar"---> [key foobar]
                          \\------"ter"---> [key footer]

Rules
  1. A branch carries the *label* of the edge that leads to it.  Labels are never
     empty, except the root's.
  2. ``firsts`` holds the first bytes of the children's labels, sorted, and
     ``children`` the children in the same order.
  3. Every branch but the root holds a key or has two children or more; a chain
     of single children is one long label.
  4. A key's value is never None: None is the answer for "not here".
  5. No branch knows its parent.  Searches remember the last place where they
     could have branched off; the neighbour of a missing key is there.

``node_count`` is the number that Redis would show as ``radix-tree-nodes`` for
the same keys.  There the label belongs to the upper end of an edge: an only
child hangs on a run of bytes of any length, but where a node has several
children each is chosen by one byte and the rest of a label, if any, takes a
node of its own.  So a branch counts one, and one more when it has siblings and
its label is longer than one byte.
"""

from __future__ import annotations

from typing import Any

from forebay import mem
from forebay.core.layout import ID_SIZE

# A search writes its ID here, so that it makes no object.
id_buffer = bytearray(ID_SIZE)
id_pointer = id_buffer


class Branch:
    """One node of the tree: the edge that leads to it, what it holds, its children."""

    label: bytes
    key: bytes | None
    value: Any
    firsts: bytes
    children: list[Branch]

    def __init__(self, label: bytes, key: bytes | None, value: Any) -> None:
        self.label = label
        self.key = key
        self.value = value
        self.firsts = b""
        self.children = []


class Rax:
    """An ordered map with bytes as keys."""

    root: Branch
    count: int
    node_count: int

    def __init__(self) -> None:
        self.root = Branch(b"", None, None)
        self.count = 0
        self.node_count = 1

    def __len__(self) -> int:
        return self.count

    # -- one key ----------------------------------------------------------------

    def find(self, key: bytes) -> Any:
        """The value of ``key``, or None."""
        return self.find_at(key, 0, len(key))

    def find_at(self, p: mem.Source, at: int, n: int) -> Any:
        """The value of the key p[at:at+n], or None."""
        branch = self.root
        end = at + n
        while at < end:
            i = place(branch, p[at])
            if i == len(branch.firsts) or branch.firsts[i] != p[at]:
                return None
            branch = branch.children[i]
            size = len(branch.label)
            label = branch.label
            if size > end - at or not mem.equal(label, 0, p, at, size):
                return None
            at += size
        return branch.value

    def insert(self, key: bytes, value: Any) -> bool:
        """Set the value of ``key``; whether the key is new."""
        assert value is not None, "None stands for a missing key"
        branch = self.root
        n = len(key)
        at = 0
        p = key
        while at < n:
            i = place(branch, p[at])
            if i == len(branch.firsts) or branch.firsts[i] != p[at]:
                self.attach(branch, i, Branch(key[at:], key, value))
                self.count += 1
                return True
            child = branch.children[i]
            same = common(child.label, p, at, n)
            if same < len(child.label):
                child = self.split(branch, i, same)
            branch = child
            at += same
        new = branch.key is None
        branch.key = key
        branch.value = value
        if new:
            self.count += 1
        return new

    def remove(self, key: bytes) -> bool:
        """Remove ``key``; whether it existed."""
        parent = branch = self.root
        grandparent = self.root
        n = len(key)
        at = 0
        p = key
        while at < n:
            i = place(branch, p[at])
            if i == len(branch.firsts) or branch.firsts[i] != p[at]:
                return False
            grandparent = parent
            parent = branch
            branch = branch.children[i]
            same = common(branch.label, p, at, n)
            if same < len(branch.label):
                return False
            at += same
        if branch.key is None:
            return False
        branch.key = None
        branch.value = None
        self.count -= 1
        if branch is not self.root:
            self.tidy(grandparent, parent, branch)
        return True

    # -- changes of shape -------------------------------------------------------

    def attach(self, branch: Branch, i: int, leaf: Branch) -> None:
        """Add a new leaf to a branch, as its child number i."""
        if len(branch.children) == 1:
            self.node_count += own_node(branch.children[0].label)
        if len(branch.children) > 0:
            self.node_count += own_node(leaf.label)
        self.node_count += 1
        branch.firsts = branch.firsts[:i] + leaf.label[:1] + branch.firsts[i:]
        branch.children.insert(i, leaf)

    def split(self, parent: Branch, i: int, at: int) -> Branch:
        """Cut the edge to child number i after ``at`` bytes; the new branch between."""
        child = parent.children[i]
        middle = Branch(child.label[:at], None, None)
        if len(parent.children) > 1:
            self.node_count += own_node(middle.label) - own_node(child.label)
        self.node_count += 1
        child.label = child.label[at:]
        middle.firsts = child.label[:1]
        middle.children.append(child)
        parent.children[i] = middle
        return middle

    def tidy(self, grandparent: Branch, parent: Branch, branch: Branch) -> None:
        """Restore rule 3 around a branch that has just lost its key."""
        if len(branch.children) == 1:
            self.join(parent, branch)
        elif len(branch.children) == 0:
            self.detach(parent, branch)
            if len(parent.children) == 1 and parent.key is None and parent is not self.root:
                self.join(grandparent, parent)

    def detach(self, parent: Branch, leaf: Branch) -> None:
        """Undo ``attach``."""
        label = leaf.label
        i = place(parent, label[0])
        del parent.children[i]
        parent.firsts = parent.firsts[:i] + parent.firsts[i + 1 :]
        if len(parent.children) > 0:
            self.node_count -= own_node(label)
        if len(parent.children) == 1:
            self.node_count -= own_node(parent.children[0].label)
        self.node_count -= 1

    def join(self, parent: Branch, branch: Branch) -> None:
        """Undo ``split``: the only child of ``branch`` takes its place."""
        child = branch.children[0]
        label = branch.label
        if len(parent.children) > 1:
            self.node_count -= own_node(label)
            self.node_count += 1
        self.node_count -= 1
        child.label = label + child.label
        parent.children[place(parent, label[0])] = child

    # -- neighbours -------------------------------------------------------------

    def floor_at(self, p: mem.Source, n: int, inclusive: bool) -> Branch | None:
        """The branch with the greatest key below p[0:n], or with that key if inclusive.

        ``best`` is the branch that holds the answer or, if ``whole``, one whose
        subtree ends in it.
        """
        branch = self.root
        best = None
        whole = False
        at = 0
        while at < n:
            if branch.key is not None:
                best = branch
                whole = False
            i = place(branch, p[at])
            if i > 0:
                best = branch.children[i - 1]
                whole = True
            if i == len(branch.firsts) or branch.firsts[i] != p[at]:
                return rightmost(best) if whole else best
            branch = branch.children[i]
            same = common(branch.label, p, at, n)
            at += same
            if same < len(branch.label):
                label = branch.label
                if at < n and label[same] < p[at]:
                    return rightmost(branch)
                return rightmost(best) if whole else best
        if inclusive and branch.key is not None:
            return branch
        return rightmost(best) if whole else best

    def ceil_at(self, p: mem.Source, n: int, inclusive: bool) -> Branch | None:
        """The branch with the smallest key above p[0:n], or with that key if inclusive.

        ``best`` is a branch whose subtree begins with the answer.
        """
        branch = self.root
        best = None
        at = 0
        while at < n:
            i = place(branch, p[at])
            if i == len(branch.firsts):
                return leftmost(best)
            if branch.firsts[i] != p[at]:
                return leftmost(branch.children[i])
            if i + 1 < len(branch.firsts):
                best = branch.children[i + 1]
            branch = branch.children[i]
            same = common(branch.label, p, at, n)
            at += same
            if same < len(branch.label):
                label = branch.label
                if at == n or label[same] > p[at]:
                    return leftmost(branch)
                return leftmost(best)
        if inclusive and branch.key is not None:
            return branch
        if len(branch.children) > 0:
            return leftmost(branch.children[0])
        return leftmost(best)

    def first(self) -> tuple[bytes, Any] | None:
        """The smallest key and its value."""
        return pair(leftmost(self.root))

    def last(self) -> tuple[bytes, Any] | None:
        """The greatest key and its value."""
        return pair(rightmost(self.root))

    def floor(self, key: bytes) -> tuple[bytes, Any] | None:
        """The greatest key that is not above ``key``, and its value."""
        return pair(self.floor_at(key, len(key), True))

    def lower(self, key: bytes) -> tuple[bytes, Any] | None:
        """The greatest key below ``key``, and its value."""
        return pair(self.floor_at(key, len(key), False))

    def ceil(self, key: bytes) -> tuple[bytes, Any] | None:
        """The smallest key that is not below ``key``, and its value."""
        return pair(self.ceil_at(key, len(key), True))

    def higher(self, key: bytes) -> tuple[bytes, Any] | None:
        """The smallest key above ``key``, and its value."""
        return pair(self.ceil_at(key, len(key), False))

    # -- the same by ID, for trees whose keys are stream IDs --------------------

    def floor_id(self, ms: int, seq: int) -> Any:
        """The value of the greatest ID that is not above this one, or None."""
        mem.put_be64(id_pointer, 0, ms)
        mem.put_be64(id_pointer, 8, seq)
        return value_of(self.floor_at(id_pointer, ID_SIZE, True))

    def prev_id(self, ms: int, seq: int) -> Any:
        """The value of the greatest ID below this one, or None."""
        mem.put_be64(id_pointer, 0, ms)
        mem.put_be64(id_pointer, 8, seq)
        return value_of(self.floor_at(id_pointer, ID_SIZE, False))

    def next_id(self, ms: int, seq: int) -> Any:
        """The value of the smallest ID above this one, or None."""
        mem.put_be64(id_pointer, 0, ms)
        mem.put_be64(id_pointer, 8, seq)
        return value_of(self.ceil_at(id_pointer, ID_SIZE, False))

    def first_value(self) -> Any:
        """The value of the smallest key, or None."""
        return value_of(leftmost(self.root))

    def last_value(self) -> Any:
        """The value of the greatest key, or None."""
        return value_of(rightmost(self.root))

    # -- everything -------------------------------------------------------------

    def items(self) -> list[tuple[bytes, Any]]:
        """All keys with their values, in order."""
        found = []
        todo = [self.root]
        while len(todo) > 0:
            branch = todo.pop()
            if branch.key is not None:
                found.append((branch.key, branch.value))
            push_children(todo, branch)
        return found

    def values(self) -> list[Any]:
        """All values, in the order of their keys."""
        found = []
        todo = [self.root]
        while len(todo) > 0:
            branch = todo.pop()
            if branch.key is not None:
                found.append(branch.value)
            push_children(todo, branch)
        return found


def push_children(todo: list[Branch], branch: Branch) -> None:
    """Put the children on a stack, the first one on top."""
    i = len(branch.children)
    while i > 0:
        i -= 1
        todo.append(branch.children[i])


def place(branch: Branch, byte: int) -> int:
    """The number of the first child whose label begins with ``byte`` or a greater one."""
    firsts = branch.firsts
    low = 0
    high = len(branch.firsts)
    while low < high:
        middle = (low + high) >> 1
        if firsts[middle] < byte:
            low = middle + 1
        else:
            high = middle
    return low


def common(label: bytes, p: mem.Source, at: int, end: int) -> int:
    """How many bytes of ``label`` are the same as those of p[at:end]."""
    n = min(len(label), end - at)
    q = label
    i = 0
    while i < n and q[i] == p[at + i]:
        i += 1
    return i


def own_node(label: bytes) -> int:
    """How many nodes Redis needs for a label beyond the byte that chooses it: 0 or 1."""
    return 1 if len(label) > 1 else 0


def leftmost(branch: Branch | None) -> Branch | None:
    """The branch with the smallest key of a subtree, or None."""
    while branch is not None and branch.key is None:
        branch = branch.children[0] if len(branch.children) > 0 else None
    return branch


def rightmost(branch: Branch | None) -> Branch | None:
    """The branch with the greatest key of a subtree, or None."""
    while branch is not None and len(branch.children) > 0:
        branch = branch.children[len(branch.children) - 1]
    return branch if branch is not None and branch.key is not None else None


def pair(branch: Branch | None) -> tuple[bytes, Any] | None:
    """The key and value of a branch."""
    if branch is None or branch.key is None:
        return None
    return branch.key, branch.value


def value_of(branch: Branch | None) -> Any:
    """The value of a branch, or None."""
    return None if branch is None else branch.value
