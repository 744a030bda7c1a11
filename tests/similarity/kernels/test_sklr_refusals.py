"""SKLR: invalid input raises, and leaves the fitted model unchanged."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from tests.similarity.hidden_groups import KNOWN, X, odd_ones

from clew.exceptions import InvalidDataError, InvalidParameterError, TooLargeError
from clew.similarity import SKLR


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"gamma": 0.5}, "gamma"),
        ({"C": 0.0}, "C must"),
        ({"slack": "l2"}, "slack"),
        ({"kernel": "rbf"}, "kernel must be one of 'adaptive'"),
        ({"kernel": 3}, "kernel must"),
        ({"kernel": PCA(2), "rank": 2}, "set by the transformer"),
        ({"rank": 0}, "rank"),
        ({"algorithm": "paper"}, "has no slack"),
        ({"C": 0.1, "slack": "none"}, "no effect without slack"),
        ({"dont_know": "same"}, "dont_know"),
    ],
)
def test_parameters_outside_their_range_are_refused(wrong, match) -> None:
    with pytest.raises(InvalidParameterError, match=match):
        SKLR(**wrong).fit(X, constraints=KNOWN)


def test_kernels_without_positive_entries_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="must be finite and somewhere positive"):
        SKLR(kernel="precomputed").fit(np.zeros((5, 5)))


def test_dense_kernels_of_many_rows_are_refused() -> None:
    many = np.random.default_rng(0).normal(size=(20_001, 2))
    model = SKLR(rank=3, kernel="fourier", random_state=0).fit(many)
    assert model.embedding_.shape == (20_001, 3)
    with pytest.raises(TooLargeError):
        model.kernel_  # noqa: B018


def test_a_refused_refit_leaves_the_model_as_it_was() -> None:
    model = SKLR(C=0.2, random_state=0).fit(X, constraints=KNOWN)
    before = model.embedding_.copy()

    def stop(done, n):
        raise KeyboardInterrupt

    for refit in (model.fit, model.partial_fit):
        with pytest.raises(KeyboardInterrupt):
            refit(X, constraints=odd_ones(50, error=0.5, seed=9), callback=stop)
        np.testing.assert_array_equal(model.embedding_, before)
        np.testing.assert_allclose(model.transform(X), before, atol=1e-8)


def test_partial_fit_refuses_another_problem_than_was_fitted() -> None:
    model = SKLR(C=0.2, random_state=0).fit(X, constraints=KNOWN)
    before = model.A_.copy()
    for name, value in (
        ("gamma", 3.0), ("C", 0.1), ("rank", 5), ("kernel", "fourier"), ("dont_know", "equal"),
        ("slack", "none"), ("algorithm", "paper"), ("random_state", 1),
    ):  # fmt: skip
        old = getattr(model, name)
        model.set_params(**{name: value})
        with pytest.raises(InvalidParameterError, match=rf"{name}=.*partial_fit continues a fit"):
            model.partial_fit(X, constraints=odd_ones(5, seed=2))
        model.set_params(**{name: old})
        np.testing.assert_array_equal(model.A_, before)
    model.set_params(tol=0.1, max_iter=5).partial_fit(X, constraints=odd_ones(5, seed=2))


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_kernels_too_large_or_small_to_compute_with_are_refused(factor) -> None:
    kernel = linear_kernel(X) * factor
    with pytest.raises(InvalidDataError, match="Rescale the data"):
        SKLR(kernel="precomputed").fit(kernel, constraints=KNOWN)
    assert SKLR(kernel="precomputed", C=0.2).fit(kernel / factor, constraints=KNOWN).rank_ == 5


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (lambda A, B: np.ones(3), r"shape \(80, 80\)"),
        (lambda A, B: 1.0, r"returned shape \(\)"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "not all finite"),
        (lambda A, B: np.zeros((len(A), len(B))), "must be finite and somewhere positive"),
        (lambda A, B: -rbf_kernel(A, B), "must be finite and somewhere positive"),
    ],
)
def test_functions_that_are_not_kernels_are_refused(kernel, match) -> None:
    with pytest.raises(InvalidDataError, match=match):
        SKLR(kernel=kernel).fit(X, constraints=KNOWN)
