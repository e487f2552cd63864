"""Requests that no real client sends; the server must reply and stay unharmed.

words.py       lines from the command table: every row, its own words, wrong words
mutations.py   good requests with bytes wrong; the kept corpus (corpus/*.txt)
replies.py     the rule for any output: whole replies, and no line with a line end inside
target.py      a whole server in this process, without a socket: it gets the requests
program.py     ``python -m reliability.fuzz.program``: N requests, one JSON line; it also
               runs on the build with sanitizers (reliability/sanitized.py)
"""
