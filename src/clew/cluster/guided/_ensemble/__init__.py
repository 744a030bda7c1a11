"""Clusterings scored by held-out answers, their weights and their consensus."""
