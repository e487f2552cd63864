"""COMMAND DOCS: what a command is for and how it is written, for clients that give hints."""

from __future__ import annotations

from forebay.commands.command_syntax import Argument, arguments_of
from forebay.commands.spec import Command
from forebay.wire.reply import Reply


def write_docs(out: Reply, row: Command) -> None:
    """One command: its full name and the map of what is known of it."""
    arguments = arguments_of(row.syntax)
    out.bulk(row.full_name)
    out.map(3 + bool(arguments) + bool(row.subcommands))
    _pair(out, "summary", row.summary)
    _pair(out, "since", row.since)
    _pair(out, "group", row.group)
    if arguments:
        out.bulk(b"arguments")
        _write_arguments(out, arguments)
    if row.subcommands:
        out.bulk(b"subcommands")
        out.map(len(row.subcommands))
        for subcommand in row.subcommands.values():
            write_docs(out, subcommand)


def _pair(out: Reply, name: str, value: str) -> None:
    out.bulk(name.encode())
    out.bulk(value.encode())


def _write_arguments(out: Reply, arguments: list[Argument]) -> None:
    out.array(len(arguments))
    for argument in arguments:
        _write_argument(out, argument)


def _write_argument(out: Reply, argument: Argument) -> None:
    flags = argument.flags()
    is_key = argument.type == "key"
    out.map(2 + is_key + bool(argument.token) + bool(flags) + bool(argument.parts))
    _pair(out, "name", argument.name)
    _pair(out, "type", argument.type)
    if is_key:
        out.bulk(b"key_spec_index")
        out.integer(0)
    if argument.token:
        _pair(out, "token", argument.token)
    if flags:
        out.bulk(b"flags")
        out.set(len(flags))
        for flag in flags:
            out.status(flag.encode())
    if argument.parts:
        out.bulk(b"arguments")
        _write_arguments(out, argument.parts)
