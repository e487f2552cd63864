"""The connector's part of the command line: ``forebay pipeline``, ``lake`` and ``sql``."""
