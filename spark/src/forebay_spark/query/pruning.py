"""Which hours a query asks for, from its WHERE alone.

Spark's Parquet reader passes over row groups by their times, but it opens every file to see
them.  The log of a lake knows the times of each file.  So the plan that Spark makes of a query
is looked at before it runs: if every read of entries in it stands below conditions on the
time, files outside of them need not be there at all.

    Filter (timestamp >= 12:00 and timestamp < 13:00)      12:00 .. 13:00
      LogicalRelation                                      the files of the lake
    Filter (timestamp >= 12:00 and timestamp < 13:00)      12:00 .. 13:00
      LogicalRDD                                           the copy of hot entries

Only ``forebay sql`` does this, which has the whole statement before it opens a file.  A DataFrame
of ``table`` is open before it is asked; there, ``since`` and ``until`` say the hours.  A source in
Python can be handed conditions, but Spark (4.3) then keeps its answer for every later query of the
same DataFrame (batch.py).

Rule: in doubt, nothing is left out.  Only kinds of nodes that are known here count, each leaf must
have a condition of its own, and a plan inside an expression (a scalar subquery) ends the search.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame

KNOWN = frozenset(
    "Aggregate Distinct Expand Filter Generate GlobalLimit Join LocalLimit LogicalRDD "
    "LogicalRelation Offset Project Sort Union Window".split()
)
LEAVES = ("LogicalRelation", "LogicalRDD")
#: What leaves the rows of a leaf as they are, so that a condition above it is one on them.
TRANSPARENT = ("Filter", "Project")
LOW, HIGH = ("GreaterThan", "GreaterThanOrEqual"), ("LessThan", "LessThanOrEqual")
TURNED = dict(zip((*LOW, *HIGH), (*HIGH, *LOW), strict=True))

Json = dict[str, Any]


class Hours(NamedTuple):
    """A stretch of time in milliseconds, with both ends."""

    low_ms: int
    high_ms: int


class Node(NamedTuple):
    """A node of a plan or an expression."""

    kind: str
    told: Json
    children: list[Node]


def hours_of(frame: DataFrame, column: str) -> Hours | None:
    """The hours outside of which a query reads nothing; None if that cannot be said."""
    plan = str(frame._jdf.queryExecution().optimizedPlan().toJSON())
    zone = str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))
    return hours_in(plan, column, ZoneInfo(zone))


def hours_in(plan: str, column: str, zone: ZoneInfo) -> Hours | None:
    """The same, of a plan in Spark's JSON."""
    if "Subquery" in plan:
        return None
    found: list[Hours | None] = []
    for path in _paths(_tree(iter(json.loads(plan)))):
        if any(node.kind not in KNOWN for node in path):
            return None
        if path[-1].kind in LEAVES:
            found.append(_of_leaf(path, column, zone))
    known = [hours for hours in found if hours is not None]
    if not known or len(known) < len(found):
        return None
    return Hours(min(h.low_ms for h in known), max(h.high_ms for h in known))


def _tree(nodes: Iterator[Json]) -> Node:
    """Spark writes a tree as a list, each node before its children."""
    told = next(nodes)
    kind = str(told["class"]).rpartition(".")[2]
    return Node(kind, told, [_tree(nodes) for _ in range(told["num-children"])])


def _paths(node: Node, above: tuple[Node, ...] = ()) -> Iterator[tuple[Node, ...]]:
    """Every node with all that stand above it."""
    path = (*above, node)
    yield path
    for child in node.children:
        yield from _paths(child, path)


def _of_leaf(path: tuple[Node, ...], column: str, zone: ZoneInfo) -> Hours | None:
    """What the conditions directly above a leaf leave of its time."""
    ids = {_id(attribute[0]) for attribute in path[-1].told["output"]}
    low, high = -(1 << 62), 1 << 62
    for node in reversed(path[:-1]):
        if node.kind not in TRANSPARENT:
            break
        if node.kind == "Filter":
            for condition in _conjuncts(_tree(iter(node.told["condition"]))):
                bounds = _bounds(condition, column, ids, zone)
                low, high = max(low, bounds.low_ms), min(high, bounds.high_ms)
    return None if (low, high) == (-(1 << 62), 1 << 62) else Hours(low, high)


def _conjuncts(condition: Node) -> Iterator[Node]:
    if condition.kind == "And":
        for child in condition.children:
            yield from _conjuncts(child)
    else:
        yield condition


def _bounds(condition: Node, column: str, ids: set[Any], zone: ZoneInfo) -> Hours:
    """What one condition says about the time; everything, if it is about something else."""
    everything = Hours(-(1 << 62), 1 << 62)
    kind, sides = condition.kind, condition.children
    if len(sides) == 2 and sides[1].kind == "AttributeReference":
        kind, sides = TURNED.get(kind, kind), sides[::-1]
    if len(sides) != 2 or sides[0].kind != "AttributeReference" or sides[1].kind != "Literal":
        return everything
    if sides[0].told["name"] != column or _id(sides[0].told) not in ids:
        return everything
    at_ms = _ms(sides[1].told, zone)
    if at_ms is None:
        return everything
    if kind in LOW:
        return everything._replace(low_ms=at_ms)
    if kind in HIGH:
        return everything._replace(high_ms=at_ms)
    return Hours(at_ms, at_ms) if kind == "EqualTo" else everything


def _id(attribute: Json) -> Any:
    return attribute["exprId"]["id"]


def _ms(literal: Json, zone: ZoneInfo) -> int | None:
    """A time as Spark shows it, in the zone of the session."""
    if literal.get("dataType") != "timestamp" or literal.get("value") is None:
        return None
    try:
        moment = datetime.fromisoformat(str(literal["value"])).replace(tzinfo=zone)
    except ValueError:
        return None
    return int(moment.astimezone(UTC).timestamp() * 1000)
