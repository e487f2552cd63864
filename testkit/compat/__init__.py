"""Two servers asked the same: random scripts, how to compare replies, and what may differ.

scripts, generic_commands, string_commands, list_commands   what is asked
differ, replies                                            asking, comparing, making smaller
differences                                                what a version of Redis explains
"""
