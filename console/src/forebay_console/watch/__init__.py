"""What changes by itself, asked for once for all viewers: names, facts, rates, curves, INFO."""
