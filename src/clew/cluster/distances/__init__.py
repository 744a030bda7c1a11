"""Clusterers of learned distances; one method a file."""
