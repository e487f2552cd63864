"""The commands: one table, and families of handlers that all have the same shape."""
