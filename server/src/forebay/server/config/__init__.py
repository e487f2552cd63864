"""Directives: which exist, and how they are read, changed and written back."""
