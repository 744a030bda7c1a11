"""Solver for log-det divergences under constraints on distances: for ITML, SKLR and SKMS."""
