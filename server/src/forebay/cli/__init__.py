"""The command line: one file for each command; nothing is imported which is not asked for."""
