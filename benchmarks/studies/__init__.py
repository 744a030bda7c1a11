"""Studies that are in no paper: ``python -m benchmarks.studies NAME``."""
