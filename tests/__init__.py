"""The suite: see CONTRIBUTING.md for how to run it, conftest.py for what it shares."""
