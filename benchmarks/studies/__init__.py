"""Our own questions, each a study: ``python -m benchmarks.studies NAME``."""
