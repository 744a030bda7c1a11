"""Similarities from clustering forests."""
