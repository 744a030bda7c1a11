"""Guided clustering beside all other methods: ``python -m benchmarks.studies guided``."""
