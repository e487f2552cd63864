"""Connections of viewers, and words on the wire as JSON."""
