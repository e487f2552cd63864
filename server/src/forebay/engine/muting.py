"""CLIENT REPLY OFF and SKIP: a command runs, and its client hears nothing of it.

REPLY_SKIP_NEXT   CLIENT REPLY SKIP was this command: the next one is not answered
REPLY_SKIP        it was the one before: this one is not answered
REPLY_OFF         none is answered until CLIENT REPLY ON
"""

from __future__ import annotations

from forebay.commands.api.gates import REPLY_SKIP, REPLY_SKIP_NEXT
from forebay.commands.api.session import Session


def mute(session: Session, mark: int) -> None:
    """Take back what the call wrote."""
    if session.gate & REPLY_SKIP_NEXT:
        session.set_gate(REPLY_SKIP_NEXT, on=False)
        session.set_gate(REPLY_SKIP, on=True)
        return
    session.set_gate(REPLY_SKIP, on=False)
    session.out.rewind(mark)
