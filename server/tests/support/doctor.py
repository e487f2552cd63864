"""``forebay doctor`` in this process, and its findings by topic."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forebay.cli.main import main

Findings = dict[str, dict[str, Any]]


class Doctor:
    """Runs the command and keeps its output."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *args: object) -> int:
        code = main(["doctor", "--seconds", "0.1", *map(str, args)])
        self.out, self.err = self.capsys.readouterr()
        assert "Traceback" not in self.err + self.out
        return code

    def findings(self, port: int, *args: object) -> Findings:
        """The findings about a server, by topic; the exit code must agree."""
        code = self("--url", url_of(port), "--json", *args)
        facts = json.loads(self.out)
        assert code == (1 if facts["counts"]["problem"] else 0)
        return {found["topic"]: found for found in facts["findings"]}


def url_of(port: int, login: str = "") -> str:
    """A server on this machine."""
    return f"redis://{login}127.0.0.1:{port}"


def levels(findings: Findings, *wanted: str) -> set[str]:
    """Topics that have one of these levels."""
    return {topic for topic, found in findings.items() if found["level"] in wanted}
