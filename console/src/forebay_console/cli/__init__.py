"""The console's part of the command line: ``forebay console``.  This file imports nothing."""

#: name -> (where its app is, what it does in a few words)
COMMANDS = {
    "console": ("forebay_console.cli.console:app", "a web page over the streams of a server"),
}
