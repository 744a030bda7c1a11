"""Ctrl-C in the middle of growth leaves an estimator as it was."""

import logging
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from clew import Constraints
from clew.cluster import GuidedClustering, SimilarityClustering, SpectralClustering
from clew.similarity import COPRF, ClustRF

pytestmark = pytest.mark.usefixtures("small_search")

X, y = make_blobs(60, 4, centers=3, random_state=0)
ANSWERS = Constraints.from_labels(y, 40, error=0.1, random_state=0)


def estimators(n_jobs):
    forests = {"n_trees": 40, "n_jobs": n_jobs, "random_state": 0}
    return [
        (ClustRF(**forests), {}),
        (COPRF(**forests), {"constraints": ANSWERS}),
        (
            SimilarityClustering(COPRF(**forests), SpectralClustering(3), random_state=0),
            {"constraints": ANSWERS},
        ),
    ]


@pytest.fixture(autouse=True)
def as_in_a_terminal():
    """Shells let commands in the background ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c(done, n):
    assert n >= 4
    if done == 3:
        signal.raise_signal(signal.SIGINT)


def give_up(done, n):
    raise RuntimeError("enough")


each = pytest.mark.parametrize("number", [0, 1, 2], ids=["ClustRF", "COPRF", "joined"])
with_threads = pytest.mark.parametrize("n_jobs", [1, 2])
stopping = pytest.mark.parametrize(
    ("callback", "error"), [(press_ctrl_c, KeyboardInterrupt), (give_up, RuntimeError)]
)


@each
@with_threads
@stopping
def test_an_interrupted_first_fit_leaves_no_attributes(number, n_jobs, callback, error):
    model, answers = estimators(n_jobs)[number]
    with pytest.raises(error):
        model.fit(X, callback=callback, **answers)
    ask = model.predict if hasattr(model, "predict") else model.transform
    with pytest.raises(NotFittedError):
        ask(X)
    again = model.fit(X, **answers)
    fresh = clone(model).fit(X, **answers)
    np.testing.assert_array_equal(ask(X), getattr(fresh, ask.__name__)(X))
    assert again is model


@each
@with_threads
@stopping
def test_an_interrupted_refit_leaves_the_attributes_unchanged(number, n_jobs, callback, error):
    model, answers = estimators(n_jobs)[number]
    before = model.fit(X, **answers)
    ask = model.predict if hasattr(model, "predict") else model.transform
    expected, state = ask(X + 0.1), pickle.dumps(before)
    with pytest.raises(error):
        model.fit(X[::2] * 3, callback=callback)
    np.testing.assert_array_equal(ask(X + 0.1), expected)
    assert pickle.dumps(model) == state


@each
@with_threads
def test_callback_is_called_for_all_blocks(number, n_jobs):
    calls = []
    model, answers = estimators(n_jobs)[number]
    model.fit(X, callback=lambda done, n: calls.append((done, n)), **answers)
    n = calls[0][1]
    assert calls == [(done, n) for done in range(1, n + 1)]


@pytest.mark.parametrize("verbose", [0, 1, 2])
@pytest.mark.parametrize("model", [COPRF(n_trees=40, random_state=0), GuidedClustering(2)])
def test_progress_goes_to_the_log_and_nowhere_else(caplog, capsys, model, verbose):
    with caplog.at_level(logging.DEBUG, logger="clew"):
        clone(model).set_params(verbose=verbose).fit(X, constraints=ANSWERS)
    assert bool(caplog.records) == bool(verbose)
    assert capsys.readouterr() == ("", "")
