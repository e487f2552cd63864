"""Where defects of ours are reported: the server writes them to its log, a test collects them."""

from __future__ import annotations

from forebay.commands.api.session import Session


class Faults:
    """Ignores all reports: for an engine without a log."""

    def tell(self, session: Session, argv: list[bytes], fault: BaseException) -> None:
        """A command of this client raised an exception that no command may raise."""
