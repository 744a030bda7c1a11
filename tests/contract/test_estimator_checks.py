"""scikit-learn's own checks, on every estimator."""

from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import check_estimator

from clew.cluster import (
    CLARANS,
    DCRC,
    HACC,
    ConstrainedLinkage,
    COPKMeans,
    CorrelationClustering,
    DistanceClustering,
    FastPAM,
    GuidedClustering,
    KernelKMeans,
    KernelMeanShift,
    KMedoids,
    MPCKMeans,
    PCKMeans,
    SimilarityClustering,
    SpectralClustering,
    SSSVaD,
    Subclustering,
)
from clew.similarity import (
    COPRF,
    E2CP,
    ITML,
    KISSME,
    LSML,
    MMC,
    SKLR,
    SKMS,
    AdaptiveKNN,
    ClustRF,
    ConsensusKNN,
    DistLQP,
    DominantNeighbors,
    LinkedAffinity,
    OrdinalEmbedding,
    ShortestPaths,
    SparseLP,
    SpectralLearning,
)

pytestmark = pytest.mark.usefixtures("small_search")


class Gaussian:
    """A kernel whose ``repr``, which becomes part of test names, is the same in every process."""

    def __call__(self, rows: Any, others: Any) -> Any:
        return rbf_kernel(rows, others)

    def __repr__(self) -> str:
        return "Gaussian()"


class WithoutQuestions(OrdinalEmbedding):
    """Hides methods that take questions and answers; the checks would call them with rows."""

    @property
    def predict_proba(self) -> Any:
        raise AttributeError

    @property
    def score(self) -> Any:
        raise AttributeError


class WithoutScore(GuidedClustering):
    """Hides `score`, which takes answers; the checks would call it without."""

    @property
    def score(self) -> Any:
        raise AttributeError


ESTIMATORS = [
    ClustRF(n_trees=10),
    COPRF(n_trees=10),
    SpectralClustering(3),
    SimilarityClustering(COPRF(n_trees=10), SpectralClustering(3)),
    AdaptiveKNN(),
    AdaptiveKNN(metric="precomputed"),
    E2CP(),
    E2CP("precomputed"),
    SpectralLearning(),
    LinkedAffinity(),
    LinkedAffinity("precomputed"),
    DominantNeighbors(),
    DominantNeighbors("precomputed"),
    ConsensusKNN(),
    ConsensusKNN("precomputed"),
    ConstrainedLinkage(3),
    ConstrainedLinkage(3, metric="precomputed"),
    HACC(3, n_runs=5, random_state=0),
    COPKMeans(3),
    COPKMeans(3, metric="precomputed"),
    CorrelationClustering(3),
    DCRC(3),
    WithoutScore(3),
    PCKMeans(3),
    MPCKMeans(3),
    KernelKMeans(3),
    KernelKMeans(3, kernel="precomputed"),
    KernelMeanShift(),
    KernelMeanShift(kernel="precomputed"),
    KMedoids(3),
    KMedoids(3, metric="precomputed"),
    FastPAM(3),
    CLARANS(3),
    Subclustering(3, size=3),
    Subclustering(3, size=3, metric="precomputed"),
    SSSVaD(3),
    KISSME(),
    MMC(),
    LSML(),
    SparseLP(),
    SKLR(),
    SKLR(kernel="precomputed", slack="none"),
    SKMS(),
    WithoutQuestions(),
    ITML(),
    DistLQP(),
    DistanceClustering(clusterer=COPKMeans(3, metric="precomputed"), metric="euclidean"),
    DistLQP(metric="euclidean"),
    ShortestPaths(),
    ShortestPaths("euclidean"),
]


#: Of classes that are checked above with the same kind of input.
OTHER_SETTINGS = [
    ClustRF(n_trees=10, proximity="leaf"),
    COPRF(n_trees=10, mode="hard", proximity="adaptive"),
    SpectralClustering(3, affinity="nearest_neighbors"),
    SimilarityClustering(ClustRF(n_trees=10), SpectralClustering(3)),
    SimilarityClustering(E2CP(), SpectralClustering(3)),
    E2CP(ClustRF(n_trees=10), form="sparse"),
    ConstrainedLinkage(3, linkage="ward"),
    COPKMeans(3, algorithm="paper"),
    DCRC(3, kernel="adaptive"),
    MPCKMeans(3, diagonal=False, per_cluster=True),
    KernelKMeans(3, batch_size=64),
    KernelKMeans(3, kernel=Gaussian()),
    MMC(diagonal=True),
    SKLR(kernel="fourier", rank=20),
    WithoutQuestions(features="ridge"),
    ITML(prior="covariance"),
]


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Return the checks that an estimator is expected to fail, with the reasons."""
    if isinstance(estimator, SpectralClustering) and estimator.affinity == "precomputed":
        return {"check_clustering": "fits features, where a precomputed affinity is wanted"}
    if getattr(estimator, "metric", None) == "precomputed":
        return {"check_clustering": "fits features, where precomputed distances are wanted"}
    if isinstance(estimator, Subclustering):
        return {"check_clustering": "compares the labels of all rows; most are in no subcluster"}
    if isinstance(estimator, KernelKMeans | KernelMeanShift) and estimator.kernel == "precomputed":
        reason = "fits a matrix that cannot hold inner products"
        checks = "check_clustering", "check_estimators_dtypes", "check_positive_only_tag_during_fit"
        return dict.fromkeys(checks, reason)
    if isinstance(estimator, GuidedClustering):
        reason = "reads the classifier tags of whatever has predict_proba; a clusterer has none"
        checks = "check_estimator_sparse_array", "check_estimator_sparse_matrix"
        return dict.fromkeys(checks, reason)
    return {}


# Not `parametrize_with_checks`: it makes 3,000 tests, which take longer to count than to run.
@pytest.mark.parametrize(
    "estimator",
    [*ESTIMATORS, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHER_SETTINGS)],
    ids=lambda one: " ".join(str(one).split()),
)
def test_scikit_learn_checks(estimator: BaseEstimator) -> None:
    reasons = expected_failures(estimator)
    done = check_estimator(estimator, expected_failed_checks=reasons, on_fail=None, on_skip=None)
    assert len(done) > 40
    wrong = {one["check_name"]: one["exception"] for one in done if one["status"] == "failed"}
    assert wrong == {}
    unexpected = [one["check_name"] for one in done if one["status"] == "passed"]
    assert set(unexpected) & set(reasons) == set()
