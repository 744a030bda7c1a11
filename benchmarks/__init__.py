"""Measurements of speed and quality, run by hand; not part of the installed package."""
