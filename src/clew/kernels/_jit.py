"""The decorators of all kernels."""

from __future__ import annotations

import numba

#: Compiles a function that runs without the GIL, and caches it on disk. Division by zero follows
#: NumPy (IEEE 754).
kernel = numba.njit(nogil=True, cache=True, error_model="numpy", boundscheck=False)
#: The same for long sums of products: terms are added in whichever order is fastest. The order is
#: the same in every call, but not on every processor.
summing_kernel = numba.njit(
    nogil=True,
    cache=True,
    error_model="numpy",
    boundscheck=False,
    fastmath={"reassoc", "nsz", "contract"},
)
#: `kernel` without Numba's runtime, for functions that are called for each tree node or each pair.
#: Such a kernel cannot allocate memory: its caller passes every buffer. The runtime counts
#: references to arrays by atomic operations, which took 0.3 µs for each tree node, and for which
#: threads that share an array wait for each other.
bare_kernel = numba.njit(  # type: ignore[call-overload]
    nogil=True, cache=True, error_model="numpy", boundscheck=False, _nrt=False
)
