"""Wide and sparse features: reduced to components, the same from sparse and from dense."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, euclidean_distances

from clew import Constraints
from clew._parallel import one_library_thread
from clew._units import WIDE_COLUMNS
from clew.cli._models import build_model, features_for
from clew.cluster.guided._features import N_COMPONENTS, FeatureSpace, principal_axes
from clew.exceptions import InvalidParameterError
from clew.session._items import session_items

pytestmark = pytest.mark.usefixtures("small_search")

N, WIDTH = 60, 1_000
Y = np.repeat([0, 1, 2], N // 3)


def word_counts():
    """Documents of three topics and different lengths, with 1,000 words, most of them rare."""
    random = np.random.default_rng(0)
    frequency = 1 / np.arange(1, WIDTH + 1)
    topics = frequency * np.exp(random.normal(0, 1.5, (3, WIDTH)))
    topics /= topics.sum(axis=1, keepdims=True)
    lengths = random.integers(60, 400, N)
    return np.stack([random.multinomial(m, topics[y]) for m, y in zip(lengths, Y, strict=True)])


COUNTS = word_counts().astype(float)
KNOWN = Constraints.from_labels(Y, 60, error=0.05, random_state=0)
SPACES = [("euclidean", False), ("euclidean", True), ("cosine", False), ("cosine", True)]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Use one BLAS thread, as `fit` does."""
    with one_library_thread():
        yield


@pytest.fixture(scope="module")
def documents(fitted):
    """A model of sparse documents."""
    return fitted(csr_array(COUNTS), KNOWN, metric="cosine")


@pytest.mark.parametrize("is_sparse", [False, True])
def test_components_are_the_leading_principal_ones(is_sparse):
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 20)) * 0.7 ** np.arange(20) @ random.normal(size=(20, 300)) + 3.0
    center = X.mean(axis=0)
    axes = principal_axes(csr_array(X) if is_sparse else X, center, 8)
    np.testing.assert_allclose(axes.T @ axes, np.eye(8), atol=1e-10)
    expected = PCA(8, svd_solver="full").fit_transform(X)
    found = (X - center) @ axes
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(("metric", "standardize"), SPACES)
def test_few_wide_rows_keep_their_distances(metric, standardize):
    space = FeatureSpace.fit(COUNTS, metric, standardize)
    rows = space.transform(COUNTS)
    assert rows.shape[1] == N - 1 < N_COMPONENTS  # no column of rounding errors
    scaled = COUNTS.copy()
    if standardize:
        deviation = COUNTS.std(axis=0)
        scaled /= np.where(deviation > 0, deviation, 1.0)
    if metric == "cosine":
        scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    expected, found = euclidean_distances(scaled), euclidean_distances(rows)
    np.testing.assert_allclose(found * (expected.max() / found.max()), expected, atol=1e-6)


@pytest.mark.parametrize("width", [WIDE_COLUMNS, WIDTH])
@pytest.mark.parametrize(("metric", "standardize"), SPACES)
def test_sparse_features_give_the_columns_of_dense_ones(width, metric, standardize):
    dense = COUNTS[:, :width]
    spaces = [FeatureSpace.fit(X, metric, standardize, 3) for X in (dense, csr_array(dense))]
    for space in spaces:
        rows = [space.transform(X) for X in (dense, csr_array(dense))]
        np.testing.assert_allclose(*rows, atol=1e-9)
    np.testing.assert_allclose(*(space.transform(dense) for space in spaces), atol=1e-9)


def test_a_sparse_table_is_standardized_as_a_dense_one_in_all_places(fitted):
    X, y = load_wine(return_X_y=True)
    for standardize in ("auto", True, False):
        dense, sparse = (FeatureSpace.fit(Z, standardize=standardize) for Z in (X, csr_array(X)))
        np.testing.assert_array_equal(sparse.transform(csr_array(X)), dense.transform(X))
    known = Constraints.from_labels(y, n_pairs=89, error=0.1, random_state=0)
    assert adjusted_rand_score(y, fitted(csr_array(X), known).labels_) > 0.9
    for made in (build_model("guided", 3), build_model("dcrc", 3)):
        dense, sparse = (features_for(made, Z, "auto", is_scaled=False) for Z in (X, csr_array(X)))
        np.testing.assert_array_equal(sparse.X, dense.X)
        assert sparse[1:] == dense[1:]


def test_wide_sparse_features_are_no_table_in_any_place():
    X = csr_array(COUNTS * np.geomspace(1, 1e4, WIDTH))
    as_given = FeatureSpace.fit(X, standardize=False).transform(X)
    np.testing.assert_allclose(FeatureSpace.fit(X).transform(X), as_given)
    assert features_for(build_model("guided", 3), X, "auto", is_scaled=False).X is X
    dense, sparse = (session_items(Z, None, None, None) for Z in (X.toarray(), X))
    assert (dense.standardize, sparse.standardize) == ("auto", False)


def test_narrow_features_stay_as_they_are():
    X = COUNTS[:, :WIDE_COLUMNS]
    assert FeatureSpace.fit(X).axes is None
    n_varying = int((np.ptp(X, axis=0) > 0).sum())
    assert FeatureSpace.fit(X).transform(X).shape == (len(X), n_varying)
    assert FeatureSpace.fit(COUNTS[:, : WIDE_COLUMNS + 1]).axes is not None


def test_wide_sparse_features_are_never_made_dense(monkeypatch):
    X = csr_array(COUNTS)
    monkeypatch.setattr(csr_array, "toarray", lambda self, *_: pytest.fail("made dense"))
    for metric, standardize in SPACES:
        found = FeatureSpace.fit(X, metric, standardize).transform(X)
        assert found.shape == (X.shape[0], found.shape[1])
        assert found.shape[1] <= WIDE_COLUMNS < X.shape[1]


@pytest.mark.slow
def test_no_square_overflows():
    for metric, standardize in SPACES:
        for X in (COUNTS, csr_array(COUNTS)):
            plain, huge = (FeatureSpace.fit(x, metric, standardize) for x in (X, X * 1e200))
            np.testing.assert_allclose(huge.transform(X * 1e200), plain.transform(X), atol=1e-9)


@pytest.mark.slow
def test_rows_of_zeros_and_features_that_do_not_vary():
    X = COUNTS.copy()
    X[:5], X[:, 7] = 0.0, 2.0
    for metric, standardize in SPACES:
        for rows in (X, csr_array(X), np.zeros((4, WIDTH)), csr_array((4, WIDTH))):
            found = FeatureSpace.fit(rows, metric, standardize).transform(rows)
            assert np.isfinite(found).all()


def test_sparse_documents_give_the_groups_of_dense_ones(fitted, documents):
    dense = fitted(COUNTS, KNOWN, metric="cosine")
    # Rounding may number the groups differently.
    assert adjusted_rand_score(documents.labels_, dense.labels_) == 1
    for X in (COUNTS, csr_array(COUNTS)):
        np.testing.assert_array_equal(documents.predict(X), documents.labels_)


def test_lengths_of_documents_do_not_matter_to_cosine(fitted, documents):
    longer = COUNTS * np.linspace(1, 9, N)[:, None]
    found = fitted(csr_array(longer), KNOWN, metric="cosine", n_jobs=2)
    assert adjusted_rand_score(documents.labels_, found.labels_) == 1
    assert adjusted_rand_score(Y, documents.labels_) > 0.8


def test_an_unknown_metric_is_refused(fitted):
    with pytest.raises(InvalidParameterError, match="'euclidean' or 'cosine'"):
        fitted(COUNTS, metric="manhattan")
