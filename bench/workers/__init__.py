"""Measures the workers against a bare loop on redis-py and against FastStream, in one run."""
