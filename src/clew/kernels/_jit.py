"""The decorators that kernels wear."""

from __future__ import annotations

import numba

__all__ = ["bare_kernel", "kernel"]

#: Compiles without the GIL and caches on disk; division by zero follows NumPy, as IEEE 754 has it.
kernel = numba.njit(nogil=True, cache=True, error_model="numpy", boundscheck=False)

#: The same without Numba's runtime, for what runs once a tree node or once a pair. Such a kernel
#: owns no memory: its caller allocates every buffer. With the runtime on, every array that a
#: function touches is counted by an atomic operation, which cost 0.3 µs a tree node, and threads
#: that share an array wait for each other's counts.
bare_kernel = numba.njit(  # type: ignore[call-overload]
    nogil=True,
    cache=True,
    error_model="numpy",
    boundscheck=False,
    _nrt=False,
)
