"""Guided clustering compared with all other methods: ``python -m benchmarks.studies guided``."""
