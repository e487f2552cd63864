"""The examples with Spark, on a real server; they share the session of the tests.

Examples without Spark are in tests/examples/test_examples.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from examples.change_capture import __main__ as change_capture
from examples.sensors import __main__ as sensors
from testkit.servers import ServerProcess

pytestmark = pytest.mark.spark

CHANGES = """\
5 changes are in the stream; a relay that starts again brings 0
archived; 1 change came later and is hot
ann's history:
  1 insert Rome
  4 update Lima
  6 update Cairo
the table from its changes: [(1, 'ann', 'Cairo'), (2, 'bob', 'Oslo')]
the same as in SQLite: True
"""


@pytest.fixture
def at_forebay(forebay_server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the variable that names the server, as a user does."""
    monkeypatch.setenv("FOREBAY_URL", f"redis://127.0.0.1:{forebay_server.port}")


@pytest.mark.usefixtures("at_forebay")
def test_changes_of_a_table_come_back_from_lake_and_stream(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_capture.tell(spark, tmp_path)
    assert capsys.readouterr().out == CHANGES


@pytest.mark.usefixtures("at_forebay")
def test_a_minute_that_is_too_hot_raises_one_alert(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sensors.tell(spark, tmp_path)
    told = capsys.readouterr().out
    assert told.startswith("49 readings\n")
    assert told.count(" over 6\n") == 8
    assert [line for line in told.splitlines() if line.startswith("alert")] == [
        "alert: boiler had 91.0 degrees at 2026-07-04 10:02"
    ]
