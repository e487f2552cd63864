"""One judgement: how bad it is, one plain sentence, and what to do about it.

    ok        as it should be
    advice    works, and could be better or safer
    problem   wrong now, or sure to go wrong: the only level that makes the exit code 1
    unknown   the machine or the server does not tell; never a failure

``do`` is a command to copy as it is, where there is one.  ``facts`` are the numbers of the
sentence, for programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    ADVICE = "advice"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one topic."""

    topic: str
    level: Level
    sentence: str
    do: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def ok(topic: str, sentence: str, **facts: Any) -> Finding:
    """All is well."""
    return Finding(topic, Level.OK, sentence, "", facts)


def advice(topic: str, sentence: str, do: str, **facts: Any) -> Finding:
    """Something that could be better."""
    return Finding(topic, Level.ADVICE, sentence, do, facts)


def problem(topic: str, sentence: str, do: str, **facts: Any) -> Finding:
    """Something that is wrong."""
    return Finding(topic, Level.PROBLEM, sentence, do, facts)


def unknown(topic: str, sentence: str, do: str = "", **facts: Any) -> Finding:
    """Something that cannot be found out."""
    return Finding(topic, Level.UNKNOWN, sentence, do, facts)


def count(findings: Iterable[Finding]) -> dict[Level, int]:
    """How many there are of each level."""
    levels = [finding.level for finding in findings]
    return {level: levels.count(level) for level in Level}
