"""Probabilities that answers are wrong, and confusion matrices, from groups."""
