"""When data is written, synced, saved, rewritten and loaded."""
