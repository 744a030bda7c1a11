"""SKMS: must-linked rows near and cannot-linked ones far apart, in the features of a kernel."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import linear_kernel

from clew import Constraints
from clew.exceptions import InconsistentConstraintsError
from clew.similarity import SKLR, SKMS

rng = np.random.default_rng(0)
GROUP = rng.integers(2, size=80)
X = np.column_stack([rng.normal(size=(80, 4)) * 1.5, GROUP * 2.0 + rng.normal(size=80) * 0.5])
KNOWN = Constraints.from_labels(GROUP, 60, random_state=0)


def squared(model, pairs):
    return np.square(model.embedding_[pairs[:, 0]] - model.embedding_[pairs[:, 1]]).sum(axis=1)


def test_bounds_are_those_of_the_paper_and_hold_without_slack() -> None:
    model = SKMS(np.inf, random_state=0).fit(X, constraints=KNOWN)
    upper, lower = model.bounds_
    assert upper <= 0.05
    assert lower >= 1.95
    assert squared(model, KNOWN.must_link).max() <= upper * 1.001
    assert squared(model, KNOWN.cannot_link).min() >= lower * 0.999


def test_on_pairs_it_equals_sklr_without_slack() -> None:
    a = SKMS(np.inf, tol=1e-5, max_iter=2000, random_state=0).fit(X, constraints=KNOWN)
    b = SKLR(slack="none", tol=1e-5, max_iter=2000, random_state=0).fit(X, constraints=KNOWN)
    np.testing.assert_allclose(a.kernel_, b.kernel_, atol=1e-3)


@pytest.mark.slow
def test_bounds_move_farther_with_a_smaller_penalty() -> None:
    near, far = KNOWN.must_link, KNOWN.cannot_link
    gaps = []
    for gamma in (0.1, 1.0, 100.0):
        model = SKMS(gamma, random_state=0).fit(X, constraints=KNOWN)
        gaps.append(squared(model, far).mean() - squared(model, near).mean())
        assert abs(model.duality_gap_) < 0.01
    assert gaps == sorted(gaps)


@pytest.mark.slow
def test_answers_reveal_groups_that_features_hide() -> None:
    found = [
        KMeans(2, n_init=5, random_state=0).fit_predict(
            SKMS(random_state=0).fit(X, constraints=known).embedding_
        )
        for known in (None, KNOWN)
    ]
    before, after = (adjusted_rand_score(GROUP, labels) for labels in found)
    assert before < 0.3
    assert after > 0.7


def test_contradictions_move_bounds_or_are_refused() -> None:
    known = KNOWN + Constraints.from_pairs(
        must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], n_samples=80
    )
    assert np.isfinite(SKMS(random_state=0).fit(X, constraints=known).embedding_).all()
    with pytest.raises(InconsistentConstraintsError):
        SKMS(np.inf).fit(X, constraints=known)


def test_units_of_a_linear_kernel_do_not_matter() -> None:
    a, b = (
        SKMS(kernel=linear_kernel, random_state=0).fit(X * unit, constraints=KNOWN)
        for unit in (1.0, 100.0)
    )
    np.testing.assert_allclose(b.embedding_, a.embedding_ * 100, rtol=1e-3, atol=1e-2)


def test_fitted_rows_are_embedded_as_new_ones_are() -> None:
    model = SKMS(random_state=0).fit(X, constraints=KNOWN)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
