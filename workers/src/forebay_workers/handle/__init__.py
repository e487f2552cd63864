"""Handlers: what a function wants of a message, and how it is called."""
