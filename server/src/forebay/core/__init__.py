"""The data and its invariants: knows no socket, no disk, no clock."""
