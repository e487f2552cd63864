"""The end of a turn: the commands have run, and no reply has left yet.

    beat()     ten times a second: work that is due by time alone        Participant
    work()     a piece of long work, one in each turn, without a sleep   Participant, one at a time
      |
    read()     the effects of the turn: written to the AOF               EffectsReader
      |        only after a turn that changed something
    settle()   every reader has the effects: files may be replaced,      Participant
      |        a child may start, settings take effect
      |        only after a call of ask() in this turn
      v
    the replies leave

A part of the server that has something to do in a turn is a Participant, or an EffectsReader, or
both.  server/startup.py registers it here once; there are no other hooks.

Rules
  1. A turn that only reads costs two tests here: no reader and no participant is called.
  2. Readers are called in the order in which they joined, participants too.
  3. The AOF is the last reader: it clears the effects when it has written them.  If the disk
     refuses, they stay, and come again at the end of the next turn together with new ones; a
     reader that passes them on remembers how many units it has read.
  4. An exception in read() or settle() ends the server: a reply that is not true must not
     leave.  An exception in beat() or work() is logged, and the server goes on.
  5. The loop does not sleep while there is work.

Replicas are one more reader (replication/feed.py: the backlog takes the units of a turn before
the AOF clears them) and one more participant (pings and timeouts in beat(), WAIT in settle()).
"""

from __future__ import annotations

from forebay.commands.api.effects import Effects


class EffectsReader:
    """Keeps the changes of a turn, or passes them on, before any reply confirms them."""

    def __init__(self) -> None:
        #: It has nothing to do now, and is skipped.
        self.is_off = False

    def read(self, effects: Effects) -> None:
        """Take the units of this turn."""
        raise NotImplementedError

    def wants_effects(self) -> bool:
        """Whether it needs them now; if no reader does, nothing is recorded."""
        return True


class Participant:
    """Has work of its own in a turn; every method is optional."""

    def beat(self) -> None:
        """Do work that is due by time alone."""

    def work(self) -> None:
        """The next piece of the work that it began with begin_work()."""

    def settle(self) -> None:
        """Every reader has the effects of this turn, and no command is half done."""


class TurnEnd:
    """The readers and participants, in order."""

    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self.readers: list[EffectsReader] = []
        self.participants: list[Participant] = []
        #: The participant whose work is done a piece at a time, if any.
        self.worker: Participant | None = None
        self.is_asked = False
        #: An answer to what this turn sends is expected at once (lookout.py).
        self.is_expecting = False
        #: A client has got what it waited for, and may ask for the next thing at once.
        self.has_confirmed = False

    def join(self, participant: Participant) -> None:
        """Call its beat() and settle() from now on."""
        self.participants.append(participant)

    def add_reader(self, reader: EffectsReader) -> None:
        """Let it read the effects from now on, after earlier readers."""
        self.readers.append(reader)

    def effects_are_wanted(self) -> bool:
        """Whether any reader needs the effects."""
        return any(reader.wants_effects() for reader in self.readers)

    def ask(self) -> None:
        """Let all participants settle at the end of this turn."""
        self.is_asked = True

    def begin_work(self, worker: Participant) -> None:
        """Call its work() in every turn, until end_work()."""
        self.worker = worker

    def end_work(self) -> None:
        """The work is done."""
        self.worker = None

    # For the loop

    def beat(self) -> None:
        """Ten times a second, before the effects of the turn are read."""
        for participant in self.participants:
            participant.beat()

    def before_replies(self) -> None:
        """All commands of the turn have run."""
        if self.effects.out.size > 0:
            self.hand_out()
        if self.is_asked:
            self.settle()

    def read_now(self) -> None:
        """Give the effects so far to every reader, before the end of the turn."""
        if self.effects.out.size > 0:
            self.hand_out()

    def hand_out(self) -> None:
        """Give the effects to every reader."""
        for reader in self.readers:
            if not reader.is_off:
                reader.read(self.effects)

    def settle(self) -> None:
        """Do the work that waited for the readers."""
        self.is_asked = False
        for participant in self.participants:
            participant.settle()
