"""The command line: one file for each command; only the requested command is imported."""
