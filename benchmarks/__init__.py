"""Measures of speed and of quality, run by hand: none of it is installed with clew."""
