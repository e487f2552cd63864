"""Every invariant of the data, as functions that fail with a sentence.

Tests call them after each step, and ``forebay check`` on what it has loaded.
They look at a structure from outside, slowly and without trusting any counter:
what can be counted is counted again.

    check_rax       the radix tree: rules 1-5 of rax.py, both counters
    check_pending   the slab and its views: see pel.py
    check_group     a group, its consumers and their pending entries: see group.py
"""

from __future__ import annotations

from forebay.core.rax import Branch, Rax


def check_rax(tree: Rax) -> None:
    """The tree is sorted, compressed, and its two counters are true."""
    keys = 0
    nodes = 0
    todo = [(tree.root, b"", False)]
    while todo:
        branch, above, siblings = todo.pop()
        check_branch(tree, branch, above)
        keys += branch.key is not None
        nodes += 1 + (siblings and len(branch.label) > 1)
        path = above + branch.label
        todo.extend((child, path, len(branch.children) > 1) for child in branch.children)
    assert tree.count == keys, f"count is {tree.count}, but {keys} keys are there"
    assert tree.node_count == nodes, f"node_count is {tree.node_count}, but should be {nodes}"
    listed = [key for key, _ in tree.items()]
    assert listed == sorted(set(listed)), "keys are not in order"


def check_branch(tree: Rax, branch: Branch, above: bytes) -> None:
    """One branch and its edges downwards."""
    is_root = branch is tree.root
    assert is_root == (branch.label == b""), "the root alone has an empty label"
    assert is_root or branch.key is not None or len(branch.children) > 1, (
        f"branch {above + branch.label!r} should be merged with its only child"
    )
    assert branch.key is None or branch.key == above + branch.label, (
        f"key {branch.key!r} lies on the path of {above + branch.label!r}"
    )
    assert (branch.key is None) == (branch.value is None), f"{branch.key!r} and no value, or reverse"
    firsts = bytes(child.label[0] for child in branch.children)
    assert branch.firsts == firsts, f"first bytes are {branch.firsts!r}, should be {firsts!r}"
    assert list(firsts) == sorted(set(firsts)), f"first bytes {firsts!r} are not in order"
