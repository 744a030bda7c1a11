"""Duplicates in tables: clew, dedupe, Splink and three lines of SciPy, with the same answers."""
