"""The suite: CONTRIBUTING.md says how to run it, conftest.py has the shared fixtures."""
