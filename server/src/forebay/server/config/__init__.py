"""Directives: which there are, how they are read, changed and written back."""
