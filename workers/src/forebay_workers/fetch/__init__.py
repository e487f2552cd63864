"""Entries from the server to this process: groups, new entries, claims from dead workers."""
