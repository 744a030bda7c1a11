"""Correlation clustering: groups from pair answers, without their number."""
