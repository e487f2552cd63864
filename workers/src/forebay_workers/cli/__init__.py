"""The workers' part of the command line: ``forebay work`` and ``forebay dead``.

The package ``forebay`` has the command line and its libraries, cyclopts and rich.  It finds this
table through the entry point ``forebay.commands``, and imports the app of a command when it is
used.  So the two packages import nothing from each other, and this file imports nothing.
"""

#: name -> (where its app is, what it does in a few words)
COMMANDS = {
    "work": ("forebay_workers.cli.work:app", "run the handlers of an app, in several processes"),
    "dead": ("forebay_workers.cli.dead:app", "dead letters of workers: look, send back, drop"),
}
