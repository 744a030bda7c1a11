"""Every public estimator, with the kinds of answers that it honors."""

import pytest
from scipy.sparse import issparse
from sklearn.datasets import make_blobs

from clew import Constraints
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

X, y = make_blobs(40, 3, centers=2, random_state=0)
N = len(X)

ALL = ("pairs", "triplets", "odd_one_out", "dont_know")
#: A pool of one fast member.
FAST_POOL = [("k-means", KernelKMeans(2, n_init=1, random_state=0))]
#: Methods that take answers, each with the kinds that it honors.
GUIDED = [
    (COPRF(n_trees=8, random_state=0), {"pairs", "dont_know"}),
    (COPRF(n_trees=8, mode="hard", random_state=0), {"pairs", "dont_know"}),
    (
        SimilarityClustering(COPRF(n_trees=8), SpectralClustering(2), random_state=0),
        {"pairs", "dont_know"},
    ),
    (SimilarityClustering(ClustRF(n_trees=8), SpectralClustering(2), random_state=0), set()),
    (SimilarityClustering(E2CP(), SpectralClustering(2), random_state=0), {"pairs", "dont_know"}),
    (E2CP(random_state=0), {"pairs", "dont_know"}),
    (E2CP(form="sparse", random_state=0), {"pairs", "dont_know"}),
    (SpectralLearning(random_state=0), {"pairs", "dont_know"}),
    (LinkedAffinity(ClustRF(n_trees=8), random_state=0), {"pairs", "dont_know"}),
    (DominantNeighbors(), set()),
    (ConsensusKNN(), set()),
    (ConsensusKNN(COPRF(n_trees=8), random_state=0), {"pairs", "dont_know"}),
    (ConstrainedLinkage(2), {"pairs", "dont_know"}),
    (HACC(2, n_runs=10, random_state=0), {"pairs", "dont_know"}),
    (ConstrainedLinkage(2, linkage="ward"), {"pairs", "dont_know"}),
    (CorrelationClustering(2, random_state=0), {"pairs", "dont_know"}),
    (COPKMeans(2, random_state=0), {"pairs", "dont_know"}),
    (PCKMeans(2, random_state=0), {"pairs", "dont_know"}),
    (MPCKMeans(2, random_state=0), {"pairs", "dont_know"}),
    (MPCKMeans(2, diagonal=False, per_cluster=True, random_state=0), {"pairs", "dont_know"}),
    (KISSME(), {"pairs", "dont_know"}),
    (MMC(), {"pairs", "dont_know"}),
    (MMC(diagonal=True), {"pairs", "dont_know"}),
    (LSML(), {"triplets", "odd_one_out", "dont_know"}),
    (SparseLP(), {"triplets", "odd_one_out", "dont_know"}),
    (SSSVaD(2, random_state=0), {"triplets", "odd_one_out", "dont_know"}),
    (SKLR(random_state=0), set(ALL)),
    (SKLR(slack="none", dont_know="equal", random_state=0), set(ALL)),
    (SKMS(random_state=0), {"pairs", "dont_know"}),
    (OrdinalEmbedding(random_state=0), set(ALL)),
    (OrdinalEmbedding(2, response="distance", features="ridge", random_state=0), set(ALL)),
    (ITML(random_state=0), {"pairs", "dont_know"}),
    (DistLQP(5, metric="euclidean"), {"pairs", "dont_know"}),
    (ShortestPaths("euclidean"), {"pairs", "dont_know"}),
    (
        DistanceClustering(
            2,
            clusterer=COPKMeans(2, metric="precomputed", n_init=1),
            metric="euclidean",
            random_state=0,
        ),
        {"pairs", "dont_know"},
    ),
    (DCRC(2, n_init=2, random_state=0), set(ALL)),
    (GuidedClustering(2, random_state=0), set(ALL)),
    (GuidedClustering(random_state=0), set(ALL)),
    (GuidedClustering(2, pool=FAST_POOL, scale="anchors", n_anchors=20, random_state=0), set(ALL)),
    (
        DCRC(2, epsilon="annotators", kernel="adaptive", init="kmeans", n_init=2, random_state=0),
        set(ALL),
    ),
]
#: Methods that take features alone.
UNGUIDED = [
    ClustRF(n_trees=8, random_state=0),
    AdaptiveKNN(),
    SpectralClustering(2, affinity="nearest_neighbors", random_state=0),
    KernelKMeans(2, random_state=0),
    KernelMeanShift(random_state=0),
    KMedoids(2, random_state=0),
    FastPAM(2, random_state=0),
    CLARANS(2, random_state=0),
    Subclustering(2, size=5, random_state=0),
]

ANSWERS = {
    "pairs": Constraints.from_labels(y, 30, random_state=0),
    "dont_know": Constraints.from_pairs(dont_know=[(0, 1), (2, 3)], n_samples=N),
    "triplets": Constraints.from_triplets([(0, 1, 2)], [0], n_samples=N),
    "odd_one_out": Constraints.from_odd_one_out([(0, 1, 2)], [1], n_samples=N),
}

guided = pytest.mark.parametrize(
    ("method", "honored"), GUIDED, ids=[f"{type(m).__name__}-{len(k)}" for m, k in GUIDED]
)
every = pytest.mark.parametrize("method", [m for m, _ in GUIDED] + UNGUIDED)


def result(model):
    """The labels, or the dense affinities, of a fitted method."""
    found = model.labels_ if hasattr(model, "labels_") else model.affinity_matrix_
    return found.toarray() if issparse(found) else found
