"""Whether writes are refused (MISCONF), and why: the disk does not keep changes.

AOF    not written, or not synced     always refused, until the AOF is well again
save   the last snapshot failed       refused if save points are set and
                                      stop-writes-on-bgsave-error is on
"""

from __future__ import annotations

from forebay.commands.api import gates
from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine

AOF_TROUBLE = "MISCONF Errors writing to the AOF file: "
SAVE_TROUBLE = (
    b"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
    b"disk. Commands that may modify the data set are disabled, because this instance is "
    b"configured to report errors during writes if RDB snapshotting fails "
    b"(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the "
    b"RDB error."
)


class WriteGate:
    """Learns the state of the AOF and of snapshots; opens and closes the gate."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self.settings = settings
        self.engine = engine
        #: Why the AOF cannot be written; empty if it can.
        self.aof_trouble = ""
        self.is_save_ok = True

    def tell_aof(self, trouble: str) -> None:
        """Set why the AOF cannot be written; empty if it can."""
        self.aof_trouble = trouble
        self.refresh()

    def tell_save(self, is_ok: bool) -> None:
        """Set how the last snapshot ended."""
        self.is_save_ok = is_ok
        self.refresh()

    def refresh(self) -> None:
        """Refuse writes while changes would not be safe; settings may have changed."""
        text = b""
        settings = self.settings
        if self.aof_trouble:
            text = (AOF_TROUBLE + self.aof_trouble).encode("utf-8", "replace")
        elif settings.stop_writes_on_bgsave_error and settings.save_points and not self.is_save_ok:
            text = SAVE_TROUBLE
        self.engine.misconf_text = text
        self.engine.set_gate(gates.MISCONF, bool(text))
