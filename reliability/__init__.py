"""The reliability goals, measured: programs attack each promise and count what breaks.

    python -m reliability.run [--only R1,R5] [--full] [--seed N]    one JSON line for each goal
    python -m reliability.table lines.jsonl                         the table in docs/durability.md

``goals.py`` is the list; each goal is a function that tests/reliability calls
with small numbers too, so the tests and the table run the same code.
"""
