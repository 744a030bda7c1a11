"""What all tests share."""

from __future__ import annotations

import signal

from hypothesis import settings

# Shells start background jobs deaf to Ctrl-C, and so would be these tests and what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run; no deadline, because the first call of a kernel compiles it.
settings.register_profile("clew", deadline=None, derandomize=True)
settings.load_profile("clew")
