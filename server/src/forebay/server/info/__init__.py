"""The answer to INFO, and the sources of its numbers."""
