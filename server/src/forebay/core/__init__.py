"""The data and its invariants: no sockets, no disk, no clock."""
