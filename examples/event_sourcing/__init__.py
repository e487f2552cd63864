"""Event sourcing: an account that is nothing but its events."""
