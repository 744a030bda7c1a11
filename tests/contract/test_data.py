"""Every method × data of all kinds: accepted and not written to, or refused."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from tests.contract.methods import ANSWERS, N, X, every, result, y

import clew.cluster
from clew import Constraints
from clew.cluster import (
    DCRC,
    ConstrainedLinkage,
    COPKMeans,
    CorrelationClustering,
    KernelKMeans,
    MPCKMeans,
    PCKMeans,
    SimilarityClustering,
    SpectralClustering,
    SSSVaD,
)
from clew.exceptions import InvalidParameterError
from clew.similarity import COPRF, ClustRF

pytestmark = pytest.mark.usefixtures("small_search")


@every
def test_inputs_are_not_changed(method):
    given = {"X": X.copy()}
    given["X"].flags.writeable = False  # a write would raise
    before = clone(method).get_params()
    model = clone(method)
    if "constraints" in inspect.signature(model.fit).parameters:
        c = (
            ANSWERS["pairs"]
            if getattr(model, "supports", clew.constraints.Support()).pairs
            else None
        )
        copy = Constraints.from_labels(y, 30, random_state=0)
        model.fit(given["X"], constraints=c)
        assert c is None or c == copy
    else:
        model.fit(given["X"])
    for name in ("transform", "predict", "apply"):
        if hasattr(model, name):
            getattr(model, name)(given["X"])
    np.testing.assert_array_equal(given["X"], X)
    for name, value in before.items():
        now = model.get_params()[name]
        assert now == value or repr(now) == repr(value), name


@every
def test_constant_columns_and_duplicate_rows_are_fine(method):
    duplicated = np.repeat(X, 3, axis=0)
    constant = np.column_stack([X, np.full(N, 7.0), np.zeros(N)])
    for data in (duplicated, constant):
        out = result(clone(method).fit(data))
        assert len(out) == len(data)
        assert np.isfinite(out).all()
    has_diagonal = not getattr(method, "is_graph", False)
    if hasattr(clone(method).fit(X), "affinity_matrix_") and has_diagonal:
        A = clone(method).fit(duplicated).affinity_matrix_
        np.testing.assert_allclose(A[0, :3], 1)


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(method, bad):
    wrong = X.copy()
    wrong[3, 1] = bad
    with pytest.raises(ValueError, match="NaN" if np.isnan(bad) else "inf"):
        clone(method).fit(wrong)


@every
def test_one_row_is_refused(method):
    with pytest.raises(ValueError, match="minimum of 2"):
        clone(method).fit(X[:1])


@every
def test_two_rows_are_enough(method):
    method = clone(method)
    if hasattr(method, "size"):
        method.set_params(size=1)  # two rows are too few for the default number of examples
    assert len(result(method.fit(X[:2]))) == 2


@pytest.mark.parametrize(
    "model",
    [
        SpectralClustering(N + 1, affinity="nearest_neighbors"),
        ConstrainedLinkage(N + 1),
        COPKMeans(N + 1),
        CorrelationClustering(N + 1),
        DCRC(N + 1),
        PCKMeans(N + 1),
        MPCKMeans(N + 1),
        KernelKMeans(N + 1),
        SSSVaD(N + 1),
        SimilarityClustering(COPRF(n_trees=3), SpectralClustering(N + 1)),
        SimilarityClustering(ClustRF(n_trees=3), SpectralClustering(N + 1)),
    ],
)
def test_more_groups_than_rows_are_refused(model):
    with pytest.raises(InvalidParameterError, match=rf"n_clusters={N + 1}.* only {N} rows"):
        model.fit(X)


def test_as_many_groups_as_rows_are_fine():
    labels = SpectralClustering(4, affinity="nearest_neighbors").fit(X[[0, 1, 2, 3]]).labels_
    assert sorted(labels) == [0, 1, 2, 3]


@every
def test_huge_and_tiny_numbers_work(method):
    with np.errstate(over="raise", invalid="raise"):
        out = result(clone(method).fit(X * 1e150))
    assert np.isfinite(out).all()
