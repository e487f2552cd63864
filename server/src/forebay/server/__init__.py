"""Sockets, the loop and the clock begin here, and nowhere below."""
