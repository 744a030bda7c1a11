"""Settings of all tests."""

from __future__ import annotations

import gc
import signal

from hypothesis import settings

# Shells let background jobs ignore Ctrl-C, and these tests and their processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run; no deadline, because the first call of a kernel compiles it.
settings.register_profile("clew", deadline=None, derandomize=True)
settings.load_profile("clew")

# With so many tests, the garbage collector goes through millions of objects again and again: it is
# off while tests are collected, and leaves these objects out afterwards.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but not among the tests."""
    gc.freeze()
    gc.enable()
