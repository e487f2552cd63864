"""Our error sentences are found inside Spark's errors, and harmless noise is not shown."""

from __future__ import annotations

import subprocess
import sys

from forebay_spark.errors import OptionError, explain
from forebay_spark.runtime.stderr_filter import worth_showing

WRAPPED = """[PYTHON_DATA_SOURCE_ERROR] Failed to plan Python data source read: Traceback:
  File "x.py", line 3
forebay_spark.errors.OptionError: There is no option x. Do this. SQLSTATE: 38000
JVM stacktrace: org.apache.spark.sql.AnalysisException
"""


def test_our_sentence_is_found_in_an_exception_of_spark() -> None:
    assert explain(RuntimeError(WRAPPED)) == "There is no option x. Do this."


def test_our_own_exception_explains_itself() -> None:
    assert explain(OptionError("Do this.")) == "Do this."


def test_what_is_not_ours_is_not_explained() -> None:
    assert explain(RuntimeError("something else")) is None


def test_chatter_and_harmless_tracebacks_are_not_shown() -> None:
    lines = [
        "WARNING: Using incubator modules: jdk.incubator.vector\n",
        'Setting default log level to "WARN".\n',
        "Traceback (most recent call last):\n",
        "  File daemon.py\n",
        "BrokenPipeError: [Errno 32] Broken pipe\n",
        "spark: something real\n",
        "Traceback (most recent call last):\n",
        "  File user.py\n",
        "ValueError: a fault of the user's code\n",
    ]
    assert list(worth_showing(lines)) == [lines[5], *lines[6:]]


MIXED = [
    "Traceback (most recent call last):\n",
    "Traceback (most recent call last):\n",
    "  File one\n",
    "  File another\n",
    "BrokenPipeError: [Errno 32] Broken pipe\n",
    "    code\n",
]


def test_tracebacks_of_workers_that_end_together_are_left_out_together() -> None:
    said = [*MIXED, MIXED[4], "more\n"]
    assert list(worth_showing(said)) == ["more\n"]


def test_a_traceback_that_is_mixed_with_a_harmless_one_is_shown_with_it() -> None:
    said = [*MIXED, "ValueError: no\n", "more\n"]
    assert list(worth_showing(said)) == said


def test_a_traceback_cut_short_is_shown() -> None:
    assert list(worth_showing(["Traceback (most recent call last):\n", "  x\n"])) == [
        "Traceback (most recent call last):\n",
        "  x\n",
    ]


def test_the_connector_never_loads_the_server() -> None:
    code = "import sys, pyspark_forebay, forebay_spark; print('forebay' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
