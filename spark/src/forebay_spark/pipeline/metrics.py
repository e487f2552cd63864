"""Numbers of a running pipeline for Prometheus, at ``http://host:port/metrics``.

The format is lines of text, so it is written here and needs no library.  Counters count from
the start of the process, as Prometheus expects; an unknown gauge is left out.

A job that waits for its server cannot report it: Spark plans in separate processes.  So each
request for the page asks the server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from forebay_spark.errors import OptionError
from forebay_spark.pipeline.watch import Report

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
DEFAULT_HOST = "127.0.0.1"

#: Name, kind and meaning of each number, in the order of the page.
TABLE = (
    ("rows_total", "counter", "Rows that were processed."),
    ("batches_total", "counter", "Micro-batches that had rows."),
    ("late_rows_total", "counter", "Rows that came after their window was closed."),
    ("failures_total", "counter", "How often the pipeline failed."),
    ("running", "gauge", "1 while the query runs."),
    ("waiting", "gauge", "1 while the job waits for the server of its source."),
    ("lag_entries", "gauge", "Entries that were not read yet when the last batch was planned."),
    ("lag_seconds", "gauge", "Time between the newest entry and the last one that was read."),
    ("last_batch_duration_seconds", "gauge", "How long the last batch took."),
    ("last_batch_timestamp_seconds", "gauge", "When the last batch began, since 1970."),
)


@dataclass
class Numbers:
    """The known numbers of one pipeline."""

    rows_total: int = 0
    batches_total: int = 0
    late_rows_total: int = 0
    failures_total: int = 0
    running: int = 0
    waiting: int = 0
    lag_entries: int | None = None
    lag_seconds: float | None = None
    last_batch_duration_seconds: float | None = None
    last_batch_timestamp_seconds: float | None = None


class Metrics:
    """Takes reports and notes like the other reporters, and shows them on its page."""

    def __init__(self, is_away: Callable[[], bool] = lambda: False) -> None:
        """``is_away`` says whether the server of the source does not answer now."""
        self._is_away = is_away
        self._numbers: dict[str, Numbers] = {}
        self._lock = threading.Lock()

    def __call__(self, report: Report) -> None:
        """A batch is done, or there was nothing to do."""
        with self._lock:
            numbers = self._numbers.setdefault(report.pipeline, Numbers())
            numbers.running = 1
            numbers.rows_total += report.rows
            numbers.late_rows_total += report.late_rows
            numbers.lag_entries, numbers.lag_seconds = report.lag_entries, report.lag_s
            if report.event == "batch":
                numbers.batches_total += 1
                numbers.last_batch_duration_seconds = report.duration_ms / 1000
                numbers.last_batch_timestamp_seconds = _seconds(report.at)

    def note(self, pipeline: str, event: str, text: str) -> None:
        """A pipeline started, ended or failed."""
        with self._lock:
            numbers = self._numbers.setdefault(pipeline, Numbers())
            numbers.running = int(event not in ("stopped", "failed"))
            numbers.failures_total += event == "failed"

    def text(self) -> str:
        """All numbers as Prometheus reads them."""
        is_away = self._is_away()
        with self._lock:
            for numbers in self._numbers.values():
                numbers.waiting = int(is_away and numbers.running)
            return "".join(self._family(*row) for row in TABLE)

    def _family(self, name: str, kind: str, meaning: str) -> str:
        lines = [
            f'forebay_pipeline_{name}{{pipeline="{_escaped(pipeline)}"}} {value}\n'
            for pipeline, numbers in sorted(self._numbers.items())
            if (value := getattr(numbers, name)) is not None
        ]
        head = f"# HELP forebay_pipeline_{name} {meaning}\n# TYPE forebay_pipeline_{name} {kind}\n"
        return head + "".join(lines)

    def close(self) -> None:
        """Nothing to close; see ``Page``."""


def _seconds(at: str) -> float | None:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return None


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Page:
    """The page, served by its own thread until it is closed."""

    def __init__(self, address: str, metrics: Metrics) -> None:
        host, port = address_of(address)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _answer(self, metrics)

            def log_message(self, *_: Any) -> None:
                """Do not log each request."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise OptionError(
                f"The metrics cannot be served at {host}:{port} ({error.strerror}). "
                "Give --metrics-port another port."
            ) from None
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def _answer(request: BaseHTTPRequestHandler, metrics: Metrics) -> None:
    found = request.path.partition("?")[0] in ("/metrics", "/")
    body = metrics.text().encode() if found else b"the page is /metrics\n"
    request.send_response(200 if found else 404)
    request.send_header("Content-Type", CONTENT_TYPE)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def address_of(text: str) -> tuple[str, int]:
    """``PORT`` on this machine alone, or ``HOST:PORT``."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise OptionError(
            f"--metrics-port cannot be {text!r}. Give it a port, as 9400, or host and port, as "
            "0.0.0.0:9400 to let other machines ask."
        )
    return host or DEFAULT_HOST, int(port)
