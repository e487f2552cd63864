"""The rows about users: which clients need no password, and where users are kept.

Users themselves are lines of their own, ``user name rule ...`` (user_lines.py), or lines of an
ACL file.
"""

from __future__ import annotations

from forebay.server.config.kinds import LONG_MAX, Bool, Choice, Int, Secret, Text
from forebay.server.config.row import AT_ONCE, AT_START, Directive

ACCESS = [
    Directive(
        "requirepass",
        "requirepass",
        Secret(),
        AT_ONCE,
        "The password of the default user; if empty, none is needed. An ACL file overrides it.",
    ),
    Directive(
        "protected-mode",
        "protected_mode",
        Bool(),
        AT_ONCE,
        "While the default user needs no password, only clients on this machine can connect.",
    ),
    Directive(
        "aclfile",
        "aclfile",
        Text(),
        AT_START,
        "A file of users, one per line; ACL LOAD reads it again, ACL SAVE writes it. "
        "Without it, users are lines of the configuration: user name rule ...",
    ),
    Directive(
        "acl-pubsub-default",
        "acl_pubsub_default",
        Choice("allchannels", "resetchannels"),
        AT_ONCE,
        "Which channels a new user may use: all, or none until a rule allows some.",
    ),
    Directive(
        "acllog-max-len",
        "acllog_max_len",
        Int(0, LONG_MAX),
        AT_ONCE,
        "How many refusals ACL LOG keeps.",
    ),
]
