"""Sets: their members, members by chance, several sets together."""
