"""Similarities read off clustering forests."""
