"""Sets: their members, random members, several sets together."""
