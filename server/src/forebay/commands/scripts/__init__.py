"""EVAL and SCRIPT, for the scripts that this server knows."""
