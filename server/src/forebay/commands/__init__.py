"""What each command means: one table, and families of handlers of one shape."""
