"""Where a defect of ours is told: the server writes it to its log, a test collects it."""

from __future__ import annotations

from forebay.commands.api.session import Session


class Faults:
    """Tells nobody: an engine without a log."""

    def tell(self, session: Session, argv: list[bytes], fault: BaseException) -> None:
        """A command of this client raised what no command may raise."""
