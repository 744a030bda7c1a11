"""Embeddings of rows, learned from answers alone or with features."""
