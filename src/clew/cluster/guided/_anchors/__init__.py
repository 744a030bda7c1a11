"""Fits to many rows: members read anchors (means of near rows); all answers refine all rows."""
