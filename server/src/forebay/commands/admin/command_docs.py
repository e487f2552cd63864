"""COMMAND DOCS: the purpose and the syntax of commands, for clients that show hints."""

from __future__ import annotations

from itertools import count

from forebay.commands.admin.command_facts import REPLACED, history_of, since_of
from forebay.commands.admin.command_syntax import Argument, arguments_of
from forebay.commands.api.spec import Command
from forebay.wire.resp_writer import RespWriter


def write_docs(out: RespWriter, row: Command) -> None:
    """One command: its full name and the map of facts about it."""
    name = row.full_name.decode()
    arguments = arguments_of(row.syntax, row.group)
    replaced, history = REPLACED.get(name), history_of(name)
    fields = (arguments, history, row.subcommands)
    out.bulk(row.full_name)
    out.map(3 + sum(map(bool, fields)) + (3 if replaced else 0))
    _pair(out, "summary", row.summary)
    _pair(out, "since", row.since)
    _pair(out, "group", row.group)
    if replaced:
        _write_replaced(out, *replaced)
    if history:
        _write_history(out, history)
    if arguments:
        out.bulk(b"arguments")
        _Writer(out, row).write(arguments)
    if row.subcommands:
        out.bulk(b"subcommands")
        out.map(len(row.subcommands))
        for subcommand in row.subcommands.values():
            write_docs(out, subcommand)


def _pair(out: RespWriter, name: str, value: str) -> None:
    out.bulk(name.encode())
    out.bulk(value.encode())


def _write_words(out: RespWriter, name: str, words: list[str]) -> None:
    out.bulk(name.encode())
    out.set(len(words))
    for word in words:
        out.status(word.encode())


def _write_replaced(out: RespWriter, since: str, by: str) -> None:
    _write_words(out, "doc_flags", ["deprecated"])
    _pair(out, "deprecated_since", since)
    _pair(out, "replaced_by", by)


def _write_history(out: RespWriter, history: list[tuple[str, list[str]]]) -> None:
    out.bulk(b"history")
    out.set(len(history))
    for version, added in history:
        out.array(2)
        out.bulk(version.encode())
        out.bulk(f"Added {', '.join(added)}.".encode())


class _Writer:
    """The arguments of one command; the keys among them are counted on the way."""

    def __init__(self, out: RespWriter, row: Command) -> None:
        self.out = out
        self.name = row.full_name.decode()
        self.keys = count()
        self.last_spec = len(row.keys.parts) - 1

    def write(self, arguments: list[Argument]) -> None:
        self.out.array(len(arguments))
        for argument in arguments:
            self.write_one(argument)

    def write_one(self, argument: Argument) -> None:
        out, flags, parts = self.out, argument.flags(), argument.parts
        is_key = argument.type == "key"
        since = since_of(self.name, argument.token or argument.name)
        fields = (not parts, is_key, argument.token, since, flags, parts)
        out.map(2 + sum(map(bool, fields)))
        _pair(out, "name", argument.name)
        _pair(out, "type", argument.type)
        if not parts:
            _pair(out, "display_text", argument.name)
        if is_key:
            out.bulk(b"key_spec_index")
            out.integer(self.last_spec if next(self.keys) else 0)
        if argument.token:
            _pair(out, "token", argument.token)
        if since:
            _pair(out, "since", since)
        if flags:
            _write_words(out, "flags", flags)
        if parts:
            out.bulk(b"arguments")
            self.write(parts)
