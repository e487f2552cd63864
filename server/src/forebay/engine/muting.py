"""CLIENT REPLY OFF and SKIP: a command runs without a reply.

REPLY_SKIP_NEXT   this command was CLIENT REPLY SKIP: the next one is not answered
REPLY_SKIP        the command before was CLIENT REPLY SKIP: this one is not answered
REPLY_OFF         none is answered until CLIENT REPLY ON
"""

from __future__ import annotations

from forebay.commands.api.gates import REPLY_SKIP, REPLY_SKIP_NEXT
from forebay.commands.api.session import Session


def mute(session: Session, mark: int) -> None:
    """Remove the output of the call."""
    if session.gate & REPLY_SKIP_NEXT:
        session.set_gate(REPLY_SKIP_NEXT, on=False)
        session.set_gate(REPLY_SKIP, on=True)
        return
    session.set_gate(REPLY_SKIP, on=False)
    session.out.rewind(mark)
