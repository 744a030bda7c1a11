"""More features than rows: metrics are learned in the space that the rows span."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from clew import Constraints
from clew.similarity import ITML, KISSME, LSML, MMC

RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1, 2], 10)
X = RNG.normal(size=(30, 50)) * RNG.uniform(0.5, 2, 50) + TRUTH[:, None]
NEW = RNG.normal(size=(7, 50))
PAIRS = Constraints.from_labels(TRUTH, 60, random_state=0)
#: More must-links than cannot-links: the metric is not 0 where no rows differ.
MORE_MUST_LINKS = PAIRS.select(pairs=PAIRS.is_must_link) + Constraints.from_pairs(
    cannot_link=[(0, 29), (1, 15)], n_samples=30
)
TRIPLETS = Constraints.from_labels(TRUTH, 0, n_triplets=60, random_state=0)
METHODS = [
    (ITML(tol=1e-8, random_state=0), PAIRS),
    (ITML(prior="covariance", tol=1e-8, random_state=0), PAIRS),
    (KISSME(), PAIRS),
    (KISSME(shrinkage=5), MORE_MUST_LINKS),
    (MMC(), PAIRS),
    (LSML(tol=1e-8), TRIPLETS),
]
methods = pytest.mark.parametrize(("method", "known"), METHODS)


def fitted(method, known, monkeypatch, *, in_basis):
    monkeypatch.setattr(type(method), "_is_rotation_invariant", in_basis)
    return clone(method).fit(X, constraints=known)


@methods
def test_the_metric_is_that_of_all_features(method, known, monkeypatch):
    narrow = fitted(method, known, monkeypatch, in_basis=True)
    wide = fitted(method, known, monkeypatch, in_basis=False)
    scale = np.abs(wide.metric_).max()
    np.testing.assert_allclose(narrow.metric_, wide.metric_, atol=1e-4 * scale)
    root = narrow.components_
    np.testing.assert_allclose(root.T @ root, narrow.metric_, atol=1e-8 * scale)


@methods
def test_distances_of_new_rows_are_those_of_the_metric(method, known):
    model = clone(method).fit(X, constraints=known)
    rows = np.vstack([X, NEW])
    embedded = model.transform(rows)
    for i, j in ((0, 1), (0, 29), (3, 33), (31, 36)):
        difference = rows[i] - rows[j]
        expected = difference @ model.metric_ @ difference
        assert ((embedded[i] - embedded[j]) ** 2).sum() == pytest.approx(expected, rel=1e-6)


@methods
@pytest.mark.parametrize("answers", [True, False])
def test_no_matrix_of_all_features_is_made(method, known, answers):
    n_features = 12_288
    rows = RNG.normal(size=(30, n_features)) + 0.3 * TRUTH[:, None]
    tracemalloc.start()
    model = clone(method).fit(rows, constraints=known if answers else None)
    model.transform(rows[:5])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * n_features**2 / 10
