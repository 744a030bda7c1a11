"""What a fit found: groups, doubts, what decided them, and explanations."""
