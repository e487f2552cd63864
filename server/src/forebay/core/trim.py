"""Shorten a stream at its old end: by length or by ID, exactly or by whole nodes.

    node [1 2 3 4]  [5 6 x 8]  [9 10]        x = tombstone
    MAXLEN = 4      drop node 1, bury 5       entries left: 6 8 9 10
    MAXLEN ~ 4      drop node 1               only whole nodes are removed
    MAXLEN ~ 4 LIMIT 3   nothing              node 1 alone has 4

The policy for consumer groups that still hold a removed entry:
  KEEPREF  their pending records stay, pointing at nothing
  DELREF   the records are removed with the entry
  ACKED    the entry stays if any group has yet to read or acknowledge it, and
           trimming goes on after it; so holes can appear

Rules
  1. ``~`` means whole nodes only with KEEPREF.  The other policies must look at
     every entry anyway, so with them ``~`` only allows a LIMIT.
  2. Trimming ends with the first node that cannot be removed as a whole, even if
     ACKED kept more of it than the order allows.  During the replay of an AOF the
     boundaries of nodes may differ: then trimming continues (by_node).
"""

from __future__ import annotations

from forebay.core.cursor import Cursor
from forebay.core.group import drop_references, is_referenced, min_last_id
from forebay.core.layout import DELETED, END
from forebay.core.node import Node
from forebay.core.stream import Stream

KEEPREF = 0
DELREF = 1
ACKED = 2
#: The policy if none was given.
NO_POLICY = -1


class Trimmer:
    """One order to shorten a stream; apply() carries it out."""

    def __init__(self) -> None:
        self.by_length = True
        self.maxlen = 0
        self.min_ms = self.min_seq = 0
        self.approx = False
        #: The maximum number of entries to remove; 0 is no limit.
        self.limit = 0
        self.policy = KEEPREF
        self.by_node = True
        self.floor_ms = self.floor_seq = 0
        #: The node before which apply() stopped short of the order; None if it did not.
        self.stop: Node | None = None

    def apply(self, stream: Stream) -> int:
        """Remove the entries that the order asks for; how many were removed."""
        removed = 0
        if self.policy == ACKED:
            self.floor_ms, self.floor_seq = min_last_id(stream)
        node = stream.nodes.first_value()
        while node is not None:
            if self.by_length and stream.length <= self.maxlen:
                break
            whole = self.takes_whole(stream, node)
            if self.is_over(node, removed, whole):
                self.stop = node
                break
            following = stream.nodes.next_id(node.ms, node.seq)
            if whole and self.policy == KEEPREF:
                stream.length -= node.count
                removed += node.count
                stream.drop_node(node)
            else:
                removed += self.trim_inside(stream, node)
                if self.by_node and not whole:
                    break
            node = following
        if removed > 0:
            stream.find_first()
        return removed

    def depends_on_nodes(self) -> bool:
        """Whether the same order may have another result if nodes have other boundaries."""
        return self.approx or (self.by_length and self.policy == ACKED)

    def is_over(self, node: Node, removed: int, whole: bool) -> bool:
        """Whether LIMIT or ``~`` forbids changes to this node."""
        if self.limit != 0 and removed + node.count > self.limit:
            return True
        return self.approx and self.policy == KEEPREF and not whole

    def takes_whole(self, stream: Stream, node: Node) -> bool:
        """Whether every entry of the node must be removed."""
        if self.by_length:
            return stream.length - node.count >= self.maxlen
        last_ms, last_seq = node.last_record()
        return last_ms < self.min_ms or (last_ms == self.min_ms and last_seq < self.min_seq)

    def trim_inside(self, stream: Stream, node: Node) -> int:
        """Bury entries of one node, oldest first, as far as order and policy allow."""
        cursor = Cursor(stream.nodes)
        cursor.enter(node)
        p = node.p
        at = node.entries_at
        buried = 0
        while p[at] != END:
            live = cursor.read(at)
            if self.reached(stream, cursor.ms, cursor.seq):
                break
            if live and self.may_go(stream, cursor.ms, cursor.seq):
                if buried == 0:
                    # Only here: in most orders the first entry is already young enough.
                    node.unseal()
                    p = cursor.p = node.p
                p[at] = p[at] | DELETED
                stream.length -= 1
                buried += 1
            at = cursor.skip_values()
        if buried == node.count:
            stream.drop_node(node)
        elif buried > 0:
            node.set_counts(node.count - buried, node.deleted + buried)
        return buried

    def reached(self, stream: Stream, ms: int, seq: int) -> bool:
        """Whether this entry and all after it stay."""
        if self.by_length:
            return stream.length <= self.maxlen
        return ms > self.min_ms or (ms == self.min_ms and seq >= self.min_seq)

    def may_go(self, stream: Stream, ms: int, seq: int) -> bool:
        """Apply the policy to one entry: drop its references, or keep it if it has any."""
        if self.policy == DELREF:
            drop_references(stream, ms, seq)
        elif self.policy == ACKED:
            return not is_referenced(stream, ms, seq, self.floor_ms, self.floor_seq)
        return True
