"""The base of every handler: a row of the table, the context, a session, the settings."""
