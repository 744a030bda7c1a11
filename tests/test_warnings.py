"""Warnings name the line of the caller, however deep inside clew and scikit-learn they arise."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew._warnings import FILTERS, all_silenced
from clew.cluster import SimilarityClustering
from clew.similarity import E2CP, ITML, LSML, SKLR, DominantNeighbors
from clew.tables import TableFeatures

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.repeat([0, 1, 2], 20)
PAIRS = Constraints.from_labels(Y, 40, random_state=0)
TRIPLETS = Constraints.from_labels(Y, 0, n_triplets=40, random_state=0)
SLOW_LEARNERS = [
    (ITML(max_iter=1, gamma=1e6, random_state=0), PAIRS),
    (SKLR(C=1e6, tol=1e-9, max_iter=1, random_state=0), TRIPLETS),
    (LSML(max_iter=1), TRIPLETS),
    (DominantNeighbors(max_iter=1), None),
    (E2CP(form="sparse", alpha=1 - 1e-9), PAIRS),
]


@pytest.mark.parametrize(("method", "known"), SLOW_LEARNERS)
def test_warnings_name_the_line_that_called_fit(method, known, monkeypatch):
    monkeypatch.setattr("clew.similarity.graphs.e2cp.MAX_ITER", 1)
    answers = {} if known is None else {"constraints": known}
    with pytest.warns(ConvergenceWarning) as caught:
        method.fit(X, **answers)
    assert {warning.filename for warning in caught} == {__file__}


def test_warnings_in_a_pipeline_name_the_line_that_called_it():
    model = SimilarityClustering(LSML(max_iter=1), KMeans(3, n_init=1), random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    with pytest.warns(ConvergenceWarning) as caught:
        pipeline.fit(X, similarityclustering__constraints=TRIPLETS)
    assert {warning.filename for warning in caught} == {__file__}


def test_the_last_of_overlapping_blocks_restores_the_filters():
    before = list(warnings.filters)
    first, second = all_silenced(), all_silenced()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    warnings.warn("not shown", UserWarning, stacklevel=1)
    second.__exit__(None, None, None)
    assert list(warnings.filters) == before


def test_tables_wait_for_others_that_replace_the_filters():
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["2024-01-01", "2024-01-02", "2024-01-05"]})
    with FILTERS:
        thread = threading.Thread(target=TableFeatures().fit, args=(table,))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(60)
    assert not thread.is_alive()
