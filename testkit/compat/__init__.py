"""Two servers get the same commands: random scripts, comparing replies, and allowed differences.

scripts, generic_commands, string_commands, list_commands   the commands
differ, replies                                            sending, comparing, shrinking
differences                                                differences between Redis versions
"""
