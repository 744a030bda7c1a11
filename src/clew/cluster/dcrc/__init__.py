"""Discriminative clustering with relative constraints."""
