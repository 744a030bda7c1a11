"""Which estimators take distances between all pairs of rows, and what the others do with them."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.datasets import make_blobs
from tests.contract.methods import GUIDED, UNGUIDED, result

from clew import Constraints
from clew.cluster import (
    CLARANS,
    HACC,
    ConstrainedLinkage,
    COPKMeans,
    DistanceClustering,
    FastPAM,
    GuidedClustering,
    KernelKMeans,
    KMedoids,
    SimilarityClustering,
    SpectralClustering,
    Subclustering,
)
from clew.exceptions import DistancesAsFeaturesWarning, InvalidDataError
from clew.similarity import (
    E2CP,
    AdaptiveKNN,
    ConsensusKNN,
    DistLQP,
    DominantNeighbors,
    LinkedAffinity,
    ShortestPaths,
    SpectralLearning,
)

pytestmark = pytest.mark.usefixtures("small_search")

X, y = make_blobs(36, 3, centers=3, random_state=0)
D = squareform(pdist(X))
ANSWERS = Constraints.from_labels(y, 30, random_state=0)

BASE = AdaptiveKNN(metric="precomputed")
#: A pool of one fast member.
POOL = [("k-means", KernelKMeans(3, n_init=1, random_state=0))]
#: Every class that takes distances: alone, or through the similarity that it is made of.
OF_DISTANCES = [
    AdaptiveKNN(metric="precomputed"),
    COPKMeans(3, metric="precomputed", random_state=0),
    ConstrainedLinkage(3, metric="precomputed"),
    GuidedClustering(3, metric="precomputed", pool=POOL, random_state=0),
    HACC(3, metric="precomputed"),
    DistLQP(5),
    ShortestPaths(),
    CLARANS(3, metric="precomputed", random_state=0),
    DistanceClustering(clusterer=COPKMeans(3, metric="precomputed", random_state=0)),
    FastPAM(3, metric="precomputed", random_state=0),
    KMedoids(3, metric="precomputed", random_state=0),
    Subclustering(3, size=5, metric="precomputed", random_state=0),
    ConsensusKNN(BASE),
    DominantNeighbors(BASE),
    E2CP(BASE),
    LinkedAffinity(BASE),
    SpectralLearning(BASE),
    SimilarityClustering(E2CP(BASE), SpectralClustering(3), random_state=0),
]
NAMES = [type(model).__name__ for model in OF_DISTANCES]
of_distances = pytest.mark.parametrize("model", OF_DISTANCES, ids=NAMES)


def fitted(model, distances):
    model = clone(model)
    takes_answers = hasattr(model, "supports") and model.supports.pairs
    return model.fit(distances, **({"constraints": ANSWERS} if takes_answers else {}))


def in_order(values):
    """Number groups in the order of their first rows, as rounding may exchange their numbers."""
    if not np.issubdtype(values.dtype, np.integer):
        return values
    _, first, group = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


@of_distances
def test_condensed_distances_give_the_same(model):
    square, condensed = fitted(model, D), fitted(model, squareform(D))
    assert np.array_equal(result(square), result(condensed))
    assert square.n_features_in_ == condensed.n_features_in_ == len(D)


@of_distances
def test_rounding_and_memory_maps_are_taken_and_not_changed(model, tmp_path):
    noise = 1 + 1e-7 * np.random.RandomState(0).normal(size=D.shape)
    np.save(tmp_path / "D.npy", (D * noise).astype(np.float32))
    mapped = np.load(tmp_path / "D.npy", mmap_mode="r")
    found, expected = (in_order(result(fitted(model, each))) for each in (mapped, D))
    assert np.mean(~np.isclose(found, expected, rtol=1e-3, atol=1e-4)) < 0.05


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (D[:, :5], "square"),
        (np.triu(D), "upper triangle"),
        (D + np.diag(np.ones(36)), "diagonal"),
        (-D, "Negative values"),
        (np.where(D > 3, np.nan, D), "NaN"),
        (squareform(D)[1:], "not the condensed distances"),
    ],
    ids=["shape", "triangle", "diagonal", "negative", "missing", "condensed"],
)
@of_distances
def test_what_is_no_distance_matrix_is_refused(model, bad, words):
    with pytest.raises(InvalidDataError, match=words):
        fitted(model, bad)


TWO, OF_TWO = make_blobs(40, 3, centers=2, random_state=0)


@pytest.mark.parametrize("model", [one for one, _ in GUIDED] + UNGUIDED, ids=str)
def test_distances_given_as_features_raise_a_warning(model):
    if type(model).__name__ == "OrdinalEmbedding" and model.features is None:
        pytest.skip("it takes no features")
    supports, given = getattr(model, "supports", None), {}
    if supports is not None and (supports.pairs or supports.triplets):
        numbers = {"n_pairs": 20 * supports.pairs, "n_triplets": 20 * supports.triplets}
        given = {"constraints": Constraints.from_labels(OF_TWO, **numbers, random_state=0)}
    with pytest.warns(DistancesAsFeaturesWarning, match="square and symmetric"):
        clone(model).fit(squareform(pdist(TWO)), **given)
