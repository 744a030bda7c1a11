"""Similarities on neighbor graphs."""
