"""Users in a configuration: ``user name rule ...``, checked when they are read.

    user alice on >secret ~orders:* +@stream
    user default off

A line makes a user from nothing; the line of ``default`` replaces that user too.  CONFIG REWRITE
replaces these lines if the users have changed; with an ACL file it drops them.
"""

from __future__ import annotations

from collections.abc import Iterable

from forebay.commands.access import rules
from forebay.commands.access.categories import Catalogue
from forebay.commands.access.rules import RuleError
from forebay.commands.access.users import Users
from forebay.commands.api.settings import Settings
from forebay.commands.table import TABLE
from forebay.server.config.kinds import quoted
from forebay.server.config.redis_conf import Line

#: The text of ``forebay serve --help user``.
HELP = """\
user NAME RULE ...
  One user and what it may do, in the rules of ACL SETUSER; a line for each user.
  user alice on >secret ~orders:* +@stream
"""

DUPLICATE = "Duplicate user found. A user can only be defined once in config files"
BAD_NAME = "Spaces not allowed in ACL usernames"


class UserLine:
    """One line: a name and its rules."""

    def __init__(self, line: Line) -> None:
        words = [word.encode("utf-8", "surrogateescape") for word in line.words]
        self.name, self.words = words[0], words[1:]


def read(line: Line, before: Iterable[UserLine]) -> UserLine:
    """The user of a line; raises ConfigError that names the line, without its secrets."""
    if not line.words:
        raise line.error("Bad directive or wrong number of arguments")
    found = UserLine(line)
    shown = Line(line.name, line.words[:1], line.where, f"user {line.words[0]} ...")
    if rules.has_blanks(found.name):
        raise shown.error(BAD_NAME)
    if any(other.name == found.name for other in before):
        raise shown.error(f"Error in user declaration '{line.words[0]}': {DUPLICATE}")
    user = Users(Catalogue(TABLE)).new(found.name)
    try:
        for word in rules.merged(found.words):
            rules.apply(user, word, all_channels=False)
    except RuleError as error:
        raise shown.error(f"Error in user declaration: {error}") from None
    return found


def users_of(settings: Settings, lines: Iterable[UserLine]) -> Users:
    """The users of a configuration, without those of an ACL file."""
    users = Users(Catalogue(TABLE))
    users.all_channels = settings.acl_pubsub_default == "allchannels"
    users.set_password(settings.requirepass)
    declare(users, lines)
    return users


def declare(users: Users, lines: Iterable[UserLine]) -> None:
    """Add the users of these lines, which were checked before."""
    for line in lines:
        users.declare(line.name, rules.merged(line.words))


def as_lines(lines: Iterable[bytes]) -> list[str]:
    """Lines of ACL LIST as lines of a configuration."""
    texts = (line.decode("utf-8", "surrogateescape") for line in lines)
    return [" ".join(_word(word) for word in text.split(" ")) for text in texts]


def _word(word: str) -> str:
    return quoted(word) if any(sign in word for sign in "\"'\\") else word
