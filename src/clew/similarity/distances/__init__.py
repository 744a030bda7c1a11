"""Distances learned from distances and answers; one method per file."""
