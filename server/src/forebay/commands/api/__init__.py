"""What every handler stands on: a row of the table, the context, a session, the settings."""
