"""Lists: at their ends, inside, and from one to another."""
