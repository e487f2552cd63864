"""Measurements against a real redis-server, in the same run; see bench/README.md."""
