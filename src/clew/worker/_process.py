"""A worker in a process of its own, which is started again when it dies."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Self

logger = logging.getLogger("clew")

#: A worker that lived for less than this number of seconds has died early.
EARLY = 60.0
#: Longest pause before it is started again, in seconds.
LONGEST_PAUSE = 60.0


class WorkerProcess:
    """Runs ``clew worker`` in a process, and starts it again if it dies.

    The process that takes answers stays small, and goes on if the worker is killed, for example
    because memory ran out. If it is killed itself, the worker ends after the step that it is at.
    Use it as a context manager.

    Parameters
    ----------
    place : str
        Folder of the project.
    options : sequence of str, default=()
        Further options of ``clew worker``.

    Attributes
    ----------
    n_deaths : int
        How often it died.

    Examples
    --------
    >>> from clew.worker import WorkerProcess
    >>> with WorkerProcess("birds") as worker:  # doctest: +SKIP
    ...     serve_the_app()
    """

    def __init__(self, place: str, options: Sequence[str] = ()) -> None:
        worker = [sys.executable, "-m", "clew.cli", "worker", "--project", place]
        self._command = [*worker, "--until-closed", *options]
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="clew-worker-watch", daemon=True)
        self.n_deaths = 0

    def start(self) -> Self:
        """Start the process.

        Returns
        -------
        self
        """
        self._process = self._started()
        self._thread.start()
        return self

    @property
    def pid(self) -> int | None:
        """Number of the process; None before it is started."""
        return None if self._process is None else self._process.pid

    def stop(self, timeout: float = 10.0) -> None:
        """End the process, at once if it does not end within `timeout` seconds.

        Parameters
        ----------
        timeout : float, default=10.0
            Seconds that it may take to finish a step and to save a snapshot.
        """
        self._is_over.set()
        process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _started(self) -> subprocess.Popen[bytes]:
        # In a group of its own, so that Ctrl-C reaches it through `stop` alone. If this process is
        # killed, the system closes the pipe, and the worker ends too.
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, start_new_session=True)

    def _watch(self) -> None:
        pause = 1.0
        while not self._is_over.is_set():
            assert self._process is not None
            assert self._process.stdin is not None
            began = time.monotonic()
            code = self._process.wait()
            self._process.stdin.close()
            if self._is_over.is_set() or code == 0:
                return
            self.n_deaths += 1
            logger.warning("the worker %s; it is started again", _death(code))
            pause = 1.0 if time.monotonic() - began > EARLY else min(2 * pause, LONGEST_PAUSE)
            if self._is_over.wait(pause):
                return
            self._process = self._started()


def _death(code: int) -> str:
    if code < 0:
        name = signal.Signals(-code).name
        memory = ", perhaps because memory ran out" if code == -signal.SIGKILL else ""
        return f"was ended by {name}{memory}"
    return f"ended with status {code}"
