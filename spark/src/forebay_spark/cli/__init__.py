"""The connector's part of the command line: ``forebay pipeline``, ``lake`` and ``sql``.

The package ``forebay`` has the command line and its library, cyclopts.  It finds this table
through the entry point ``forebay.commands``, and imports the app of a command when it is used.  So
the two packages import nothing from each other, and this file imports nothing at all.
"""

#: name -> (where its app is, what it does in a few words)
COMMANDS = {
    "pipeline": (
        "forebay_spark.cli.pipeline:app",
        "jobs on Spark: streams to a lake, windows, replay",
    ),
    "lake": ("forebay_spark.cli.lake:app", "the contents and history of a lake; vacuum it"),
    "sql": ("forebay_spark.cli.sql:app", "SQL over streams and their lake as one table"),
}
