"""The words of ACL SETUSER, of ``user`` lines and of an ACL file, one by one.

    of a user      on off nopass resetpass reset clearselectors sanitize-payload
                   skip-sanitize-payload >password <password #hash !hash (selector ...)
    of a selector  +command -command +command|sub +command|word +@category -@category
                   allcommands nocommands ~pattern %R~pattern %W~pattern %RW~pattern allkeys
                   resetkeys &pattern allchannels resetchannels

A word outside parentheses changes the root selector.  RuleError says in Redis's words why a
rule is invalid; the caller must then discard the changes made by earlier words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forebay.commands.access.categories import CATEGORIES
from forebay.commands.access.selector import Selector
from forebay.commands.access.user import User, hashed
from forebay.commands.api.spec import READ_KEY, WRITE_KEY
from forebay.errors import ForebayError

HASH_SIZE = 64
HEX = b"0123456789abcdef"
BLANKS = b" \t\n\v\f\r\0"
PERMISSIONS = {ord("R"): READ_KEY, ord("W"): WRITE_KEY}

UNKNOWN = "Unknown command or category name in ACL"
SYNTAX = "Syntax error"
AFTER_ALL_KEYS = (
    "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have "
    "any effect. Try 'resetkeys' to start with an empty list of patterns"
)
AFTER_ALL_CHANNELS = (
    "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not "
    "have any effect. Try 'resetchannels' to start with an empty list of channels"
)
NO_SUCH_PASSWORD = "The password you are trying to remove from the user does not exist"
BAD_HASH = (
    "The password hash must be exactly 64 characters and contain only lowercase hexadecimal "
    "characters"
)
NO_ARGUMENT_OF_SUBCOMMAND = "Allowing first-arg of a subcommand is not supported"


class RuleError(ForebayError):
    """A word that is no rule."""


def has_blanks(text: bytes) -> bool:
    """Whether a name cannot be written in a line."""
    return any(byte in BLANKS for byte in text)


def merged(words: Sequence[bytes]) -> list[bytes]:
    """The words, each selector joined to one word; RuleError names one that is not closed."""
    rules: list[bytes] = []
    parts: list[bytes] = []
    for word in words:
        if not parts and not (word.startswith(b"(") and not word.endswith(b")")):
            rules.append(word)
            continue
        parts.append(word)
        if len(parts) > 1 and word.endswith(b")"):
            rules.append(b" ".join(parts))
            parts = []
    if parts:
        shown = parts[0].decode("utf-8", "surrogateescape")
        raise RuleError(f"Unmatched parenthesis in acl selector starting at '{shown}'.")
    return rules


# Of a user


def apply(user: User, word: bytes, all_channels: bool) -> None:
    """Change a user by one rule; ``all_channels``: a new selector begins with all channels."""
    lower = word.lower()
    if not word:
        return
    if lower in _PLAIN_OF_USER:
        _PLAIN_OF_USER[lower](user)
    elif lower == b"reset":
        user.take(User(user.name, user.root.catalogue, all_channels))
    elif word[:1] in b"><#!":
        _set_password(user, word)
    elif word.startswith(b"(") and word.endswith(b")"):
        selector = Selector(user.root.catalogue, all_channels)
        for rule in word[1:-1].split():
            apply_to_selector(selector, rule)
        user.others.append(selector)
    else:
        apply_to_selector(user.root, word)


def _set_enabled(user: User, on: bool) -> None:
    user.enabled = on


def _set_sanitizes(user: User, on: bool) -> None:
    user.sanitizes = on


def _set_nopass(user: User, on: bool) -> None:
    user.nopass = on
    user.passwords = []


_PLAIN_OF_USER: dict[bytes, Callable[[User], None]] = {
    b"on": lambda user: _set_enabled(user, on=True),
    b"off": lambda user: _set_enabled(user, on=False),
    b"sanitize-payload": lambda user: _set_sanitizes(user, on=True),
    b"skip-sanitize-payload": lambda user: _set_sanitizes(user, on=False),
    b"nopass": lambda user: _set_nopass(user, on=True),
    b"resetpass": lambda user: _set_nopass(user, on=False),
    b"clearselectors": lambda user: user.others.clear(),
}


def _set_password(user: User, word: bytes) -> None:
    """Add or remove a password, in plain text or as its hash."""
    sign, secret = word[:1], word[1:]
    if sign in b"#!" and (len(secret) != HASH_SIZE or any(byte not in HEX for byte in secret)):
        raise RuleError(BAD_HASH)
    known = secret if sign in b"#!" else hashed(secret)
    if sign in b">#":
        if known not in user.passwords:
            user.passwords.append(known)
        user.nopass = False
    elif known in user.passwords:
        user.passwords.remove(known)
    else:
        raise RuleError(NO_SUCH_PASSWORD)


# Of a selector


def apply_to_selector(selector: Selector, word: bytes) -> None:
    """Change a selector by one rule."""
    lower = word.lower()
    if lower in _PLAIN:
        _PLAIN[lower](selector)
    elif word[:1] in (b"~", b"%"):
        _add_pattern(selector, word)
    elif word[:1] == b"&":
        _add_channel(selector, word[1:])
    elif word[:2] in (b"+@", b"-@"):
        _set_category(selector, word)
    elif word[:1] == b"+":
        _allow(selector, word[1:])
    elif word[:1] == b"-":
        row = selector.catalogue.find(word[1:])
        if row is None:
            raise RuleError(UNKNOWN)
        selector.set_rows([row], allowed=False, rule=row.full_name)
    else:
        raise RuleError(SYNTAX)


_PLAIN: dict[bytes, Callable[[Selector], None]] = {
    b"allkeys": lambda selector: selector.set_all_keys(True),
    b"~*": lambda selector: selector.set_all_keys(True),
    b"resetkeys": lambda selector: selector.set_all_keys(False),
    b"allchannels": lambda selector: selector.set_all_channels(True),
    b"&*": lambda selector: selector.set_all_channels(True),
    b"resetchannels": lambda selector: selector.set_all_channels(False),
    b"allcommands": lambda selector: selector.set_all(True),
    b"+@all": lambda selector: selector.set_all(True),
    b"nocommands": lambda selector: selector.set_all(False),
    b"-@all": lambda selector: selector.set_all(False),
}


def _add_pattern(selector: Selector, word: bytes) -> None:
    """``~pattern``, or ``%RW~pattern`` with one letter or both."""
    if selector.all_keys:
        raise RuleError(AFTER_ALL_KEYS)
    permissions, text = READ_KEY | WRITE_KEY, word[1:]
    if word.startswith(b"%"):
        letters, _, text = word[1:].partition(b"~")
        permissions = 0
        for letter in letters.upper():
            permission = PERMISSIONS.get(letter, 0)
            if permission == 0 or permissions & permission:
                raise RuleError(SYNTAX)
            permissions |= permission
        if permissions == 0:
            raise RuleError(SYNTAX)
    if has_blanks(text):
        raise RuleError(SYNTAX)
    selector.add_pattern(text, permissions)


def _add_channel(selector: Selector, text: bytes) -> None:
    if selector.all_channels:
        raise RuleError(AFTER_ALL_CHANNELS)
    if has_blanks(text):
        raise RuleError(SYNTAX)
    selector.add_channel(text)


def _set_category(selector: Selector, word: bytes) -> None:
    """``+@category``, ``-@category``."""
    name = word[2:].decode("latin-1").lower()
    if name not in CATEGORIES:
        raise RuleError(UNKNOWN)
    rows = selector.catalogue.in_category(name)
    selector.set_rows(rows, allowed=word.startswith(b"+"), rule=word[1:])


def _allow(selector: Selector, name: bytes) -> None:
    """+command, +container|subcommand, +command with one first argument."""
    catalogue = selector.catalogue
    head, bar, last = name.rpartition(b"|")
    row = catalogue.find(head if bar else name)
    if row is None:
        raise RuleError(UNKNOWN)
    if not bar:
        selector.set_rows([row], allowed=True, rule=row.full_name)
    elif b"|" in row.full_name:
        raise RuleError(NO_ARGUMENT_OF_SUBCOMMAND)
    elif not last:
        raise RuleError(SYNTAX)
    elif row.is_container:
        row = catalogue.find(name)
        if row is None:
            raise RuleError(UNKNOWN)
        selector.set_rows([row], allowed=True, rule=name)
    else:
        selector.add_first_arg(row, last, name)
