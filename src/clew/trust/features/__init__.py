"""Probabilities that answers about pairs are wrong, from features."""
