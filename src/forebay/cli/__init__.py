"""The command line: one file a command; imports are lazy, so that start-up is quick."""
