"""Fits of many rows: members see anchors, means of near rows, and all answers refine all rows."""
