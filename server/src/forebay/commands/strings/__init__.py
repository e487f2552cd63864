"""Strings: whole, in parts, as numbers, as bits."""
