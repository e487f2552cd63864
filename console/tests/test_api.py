"""The API against its own description: each allowed request gets the answer that is described.

schemathesis reads /api/openapi and makes requests from it, right ones and wrong ones.  No answer
may be a server error, and each must have the status, the type and the members that are described.
Most names in addresses are those of existing streams, so that most requests reach something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import checks

from forebay_workers.message import Message
from forebay_workers.settle.letters import write
from testkit.consoles import Asker, console
from testkit.servers import ServerProcess

EXAMPLES = 12
CHECKED = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
#: Names that exist, and others that may be asked for.
HOME = {"stream": "orders", "group": "billing", "id": "5-0"}
NAMES = {
    "stream": ["orders:dead", "a/b", "words", "nothing"],
    "group": ["nobody"],
    "id": ["6-0", "1", "18446744073709551615-1"],
}
MODES = schemathesis.GenerationMode


class Place:
    """A server with some data, and its console."""

    def __init__(self, server: ServerProcess, asker: Asker) -> None:
        self.client = server.client()
        self.asker = asker
        asker.enter()

    def fill(self) -> None:
        """Make the data that a request may be about; an earlier request may have removed it."""
        self.client("FLUSHALL")
        self.client("SET", "words", "no stream")
        self.client("XADD", "a/b", "1-1", b"\xff", b"\x00\xff")
        for number in range(1, 8):
            self.client("XADD", "orders", f"{number}-0", "n", number)
        self.client("XGROUP", "CREATE", "orders", "billing", 0)
        self.client("XREADGROUP", "GROUP", "billing", "ann", "COUNT", 3, "STREAMS", "orders", ">")
        message = Message("orders", b"1-0", [b"n", b"1"], first_ms=1)
        letter = write(message, ValueError("no price"), "billing", "ann", 1794900000000)
        self.client("XADD", "orders:dead", "5-0", *letter)
        self.client("XADD", "orders:dead", "6-0", *letter[:-1], "soon")
        self.client(
            "XADD", "forebay:pipelines", "*", "pipeline", "p", "event", "batch", "rows", "nan"
        )

    def operations(self) -> Iterator[Any]:
        """The operations of the API, except signing in and out."""
        found = schemathesis.openapi.from_dict(self.asker.get("/openapi"))
        found.config.update(base_url=f"http://127.0.0.1:{self.asker.port}")
        for result in found.get_all_operations():
            if result.ok().path != "/api/session":
                yield result.ok()

    def ask(self, operation: Any, mode: schemathesis.GenerationMode) -> set[int]:
        """Send some requests of one kind; returns the statuses of their answers."""
        headers = {"cookie": self.asker.cookie, "x-console-token": self.asker.token}
        statuses: set[int] = set()

        @settings(
            max_examples=EXAMPLES if mode is MODES.POSITIVE else EXAMPLES // 2,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
        def some(case: Any, data: st.DataObject) -> None:
            is_home, home = data.draw(st.booleans()), dict(HOME)
            if operation.path.startswith("/api/dead"):
                home["stream"] = "orders:dead"
            for name in case.path_parameters or ():
                if is_home:
                    case.path_parameters[name] = home[name]
                elif data.draw(st.booleans()):
                    case.path_parameters[name] = data.draw(st.sampled_from(NAMES[name]))
            if operation.path.endswith(("/import", "/import-preview")) and is_home:
                case.body = {"kind": "csv", "ids": "new", "text": "a,b\n1,2\n"}
            case.headers.update(headers)
            response = case.call()
            case.validate_response(response, checks=CHECKED)
            statuses.add(response.status_code)

        self.fill()
        some()
        return statuses


@pytest.fixture(params=["reads", "writes"])
def place(
    request: pytest.FixtureRequest, make_forebay: Callable[..., ServerProcess]
) -> Iterator[Place]:
    server = make_forebay()
    options = ("--write",) if request.param == "writes" else ()
    with console(f"redis://127.0.0.1:{server.port}", *options) as asker:
        found = Place(server, asker)
        yield found
        found.client.close()


def test_whatever_the_description_allows_is_answered_as_it_says(place: Place) -> None:
    may_write = place.asker.enter()[1]["may_write"]
    for operation in place.operations():
        is_deed = operation.method == "post" and "preview" not in operation.path
        if is_deed != may_write:
            continue
        statuses = place.ask(operation, MODES.POSITIVE)
        assert 200 in statuses, (operation.label, statuses)
        place.ask(operation, MODES.NEGATIVE)
