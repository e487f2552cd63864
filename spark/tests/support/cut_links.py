"""Connections of the connector that break at a point that a test chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from forebay_spark.servers import connect
from forebay_spark.servers.connect import Link

Cut = Callable[[int, bool], None]


class CutLink(Link):
    """A connection that breaks at the n-th use, before or after the server has acted."""

    left = 0
    lose_reply = False

    def send_packed(self, data: bytes) -> None:
        if CutLink.left > 0:
            CutLink.left -= 1
            if CutLink.left == 0:
                if CutLink.lose_reply:
                    super().send_packed(data + connect.pack("ECHO", "acted"))
                    while self.reply() != b"acted":
                        pass
                self.drop()
                raise redis.exceptions.ConnectionError("cut")
        super().send_packed(data)


def cutting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cut]:
    """Break the connection at its n-th use; the command is lost, or only its reply."""
    monkeypatch.setattr("forebay_spark.servers.connect.Link", CutLink)
    monkeypatch.setattr("forebay_spark.servers.patience.RETRY_PAUSES_S", (0.0, 0.0))

    def at(use: int, lose_reply: bool) -> None:
        CutLink.left, CutLink.lose_reply = use, lose_reply

    yield at
    CutLink.left = 0
