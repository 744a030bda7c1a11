"""Clustering by inner products."""
