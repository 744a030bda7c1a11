"""Settings of all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# Shells let background jobs ignore Ctrl-C, and these tests and their processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run; no deadline, because the first call of a kernel compiles it.
settings.register_profile("clew", deadline=None, derandomize=True)
settings.load_profile("clew")
