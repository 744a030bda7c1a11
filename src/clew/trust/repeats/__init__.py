"""Confusion matrices and true answers, estimated from repeated answers to the same questions."""
