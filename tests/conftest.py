"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# The same examples in every run; no deadline, because the first call of a kernel compiles it.
settings.register_profile("clew", deadline=None, derandomize=True)
settings.load_profile("clew")
