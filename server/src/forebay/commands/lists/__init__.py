"""Lists: commands at their ends, inside them, and from one list to another."""
