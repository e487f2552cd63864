"""Streams and their lake as tables: for PySpark and for `forebay sql`.

table.py                   cold files, hot entries, and one cut between them
sql.py, shell.py           statements of a user, from a command line or a prompt
statements.py, results.py  text in and text out
"""
