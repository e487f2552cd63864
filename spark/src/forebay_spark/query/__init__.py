"""Streams and their lake as tables: for PySpark and for `forebay sql`.

table.py                   cold files, hot entries, and one cut between them
pruning.py                 which hours a query asks for, from its WHERE alone
sql.py, shell.py           the statements of a person, from a command line or a prompt
statements.py, results.py  text in and text out
"""
