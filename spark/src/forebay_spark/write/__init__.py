"""The way back: rows of a table become entries.

sink.py        what Spark calls to write
rows.py        a row becomes an XADD
delivery.py    three retry-safe ways to send them, and one that writes at least once
"""
