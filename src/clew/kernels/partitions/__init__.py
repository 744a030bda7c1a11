"""Sampling partitions of rows from pairwise log-odds and answers."""
