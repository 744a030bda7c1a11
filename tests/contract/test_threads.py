"""Simultaneous fits in threads: results as without threads, and no change of global state."""

import sys
import threading
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from tests.contract.methods import ANSWERS, GUIDED, UNGUIDED, X, result
from threadpoolctl import ThreadpoolController, threadpool_info

from clew._parallel import one_blas_thread
from clew.cluster import KernelKMeans, SimilarityClustering, SpectralClustering
from clew.similarity import COPRF, E2CP, SKLR

pytestmark = pytest.mark.usefixtures("small_search")

METHODS = [(m, next(iter(sorted(kinds - {"dont_know"})), None)) for m, kinds in GUIDED]
METHODS += [(m, None) for m in UNGUIDED]
METHODS += [(SimilarityClustering(SKLR(), KMeans(2), random_state=0), "pairs")]
#: So many features that scikit-learn searches neighbors by brute force, which limits BLAS threads.
WIDE = np.hstack([X] * 6)

each = pytest.mark.parametrize(
    ("method", "kind"), METHODS, ids=[f"{type(m).__name__}-{k}" for m, k in METHODS]
)


def blas_threads():
    return [
        (info["filepath"], info["num_threads"])
        for info in threadpool_info()
        if info["user_api"] == "blas"
    ]


def fitted(method, kind, features=X):
    given = {"constraints": ANSWERS[kind]} if kind else {}
    return clone(method).fit(features, **given)


def overlapping(*calls):
    """Call functions at the same time, each in its own thread; raise the first exception."""
    barrier = threading.Barrier(len(calls))

    def run(call):
        barrier.wait(timeout=60)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(run, call) for call in calls]]


@each
def test_two_fits_at_once(method, kind):
    alone = result(fitted(method, kind))
    before = blas_threads(), list(warnings.filters), warnings.showwarning
    both = overlapping(*[lambda: result(fitted(method, kind))] * 2)
    assert (blas_threads(), list(warnings.filters), warnings.showwarning) == before
    for found in both:
        # With more than one BLAS thread, sums round differently when another fit limits them.
        np.testing.assert_allclose(found, alone, rtol=1e-10, atol=1e-12)


@contextmanager
def global_changes():
    """Collect who limits BLAS outside of the counted block, and who replaces warning filters."""
    found = []
    limit, catch, block = ThreadpoolController.limit, warnings.catch_warnings, one_blas_thread()

    def watched_limit(controller, **limits):
        has_blas = any(library.user_api == "blas" for library in controller.lib_controllers)
        # The block holds its lock while it limits BLAS itself.
        is_ours = block._n_inside > 0 or block._lock.locked()
        if has_blas and limits.get("user_api") != "openmp" and not is_ours:
            found.append(caller())
        return limit(controller, **limits)

    def watched_catch(*args, **kwargs):
        # scikit-learn's checks of arrays do so too: those of users' data take turns (see below),
        # and those of arrays that need no conversion take no time.
        if sys._getframe(1).f_code.co_name != "check_array":
            found.append(caller())
        return catch(*args, **kwargs)

    def caller():
        return "".join(traceback.format_stack(limit=6)[:-2])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ThreadpoolController, "limit", watched_limit)
        patch.setattr(warnings, "catch_warnings", watched_catch)
        yield found


@each
@pytest.mark.parametrize("features", [X, WIDE], ids=["narrow", "wide"])
def test_no_fit_changes_what_belongs_to_the_process(method, kind, features):
    fit_and_use(method, kind, features)  # compiles kernels, with other filters for a while
    with global_changes() as found:
        fit_and_use(method, kind, features)
    assert not found, found[0]


def fit_and_use(method, kind, features):
    model = fitted(method, kind, features)
    for name in ("transform", "predict"):
        if hasattr(model, name):
            getattr(model, name)(features)
    if hasattr(model, "kneighbors_graph"):
        model.kneighbors_graph(3)


class Slow:
    """Data whose conversion takes time, during which other threads run."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __array__(self, dtype=None, copy=None):
        time.sleep(self.seconds)
        return X


CHECKING = [
    KernelKMeans(2, n_init=1),
    SpectralClustering(2, affinity="nearest_neighbors"),
    SimilarityClustering(COPRF(10), SpectralClustering(2)),
    E2CP(),
]


@pytest.mark.parametrize("method", CHECKING)
def test_checks_of_data_do_not_change_the_warning_filters(method):
    before = list(warnings.filters)
    # The second check begins during the first, and would end after it.
    overlapping(
        lambda: clone(method).fit(Slow(0.05)),
        lambda: (time.sleep(0.025), clone(method).fit(Slow(0.1))),
    )
    assert list(warnings.filters) == before


def test_global_changes_are_seen():
    with global_changes() as found:
        KMeans(2, n_init=1).fit(X)
        assert len(found) == 1
        with one_blas_thread():
            KMeans(2, n_init=1).fit(X)
        assert len(found) == 1
        with warnings.catch_warnings():
            pass
    assert len(found) == 2
