"""The append-only file: written while the server runs, read back at start, rewritten."""
