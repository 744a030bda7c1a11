"""Memory of this process. Does not import clew, which environments of other packages lack."""

import resource
import sys
from contextlib import suppress
from pathlib import Path


def memory_now() -> float:
    """Return the resident memory of this process in MiB."""
    return _status("VmRSS") or memory_peak()


def memory_peak() -> float:
    """Return the largest resident memory of this process in MiB."""
    # `getrusage` of a process that was just started may report the peak of the one that started it.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _status("VmHWM") or peak / (2**20 if sys.platform == "darwin" else 2**10)


def reset_memory_peak() -> None:
    """Reset the peak if the system allows it, because compiling takes more memory than running."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _status(name: str) -> float | None:
    path = Path("/proc/self/status")
    text = path.read_text(encoding="ascii", errors="replace") if path.exists() else ""
    found = [line.split()[1] for line in text.splitlines() if line.startswith(f"{name}:")]
    return int(found[0]) / 1024 if found else None
