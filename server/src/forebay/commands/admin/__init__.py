"""The server as its operators see it: INFO, CONFIG, COMMAND, SAVE, DEBUG, MEMORY and others."""
