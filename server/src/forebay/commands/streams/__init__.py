"""Streams: the commands that begin with X, and FB.COLUMNS and FB.SPLIT."""
