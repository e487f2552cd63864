"""Handlers: the argument that a function wants, and how it is called."""
