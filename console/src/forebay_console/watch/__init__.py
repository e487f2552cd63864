"""Live figures, asked once for all viewers: names, facts, rates, curves, INFO."""
