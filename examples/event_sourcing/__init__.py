"""Event sourcing: an account that consists of its events."""
