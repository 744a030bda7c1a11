"""Guided clustering against the other methods: ``python -m benchmarks.papers guided``."""
