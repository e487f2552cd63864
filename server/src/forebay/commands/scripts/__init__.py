"""EVAL and SCRIPT, for the scripts that are known here."""
