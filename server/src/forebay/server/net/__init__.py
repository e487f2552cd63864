"""Sockets, the loop, and the only clock."""
