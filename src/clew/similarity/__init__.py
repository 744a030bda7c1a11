"""Similarities of rows, learned from features and answers; one method per file."""

from clew.similarity.adaptive_knn import AdaptiveKNN
from clew.similarity.clustrf import ClustRF
from clew.similarity.coprf import COPRF
from clew.similarity.distances.dist_lqp import DistLQP
from clew.similarity.distances.shortest_paths import ShortestPaths
from clew.similarity.graphs.consensus_knn import ConsensusKNN
from clew.similarity.graphs.dominant_neighbors import DominantNeighbors
from clew.similarity.graphs.e2cp import E2CP
from clew.similarity.graphs.linked_affinity import LinkedAffinity
from clew.similarity.graphs.spectral_learning import SpectralLearning
from clew.similarity.kernels.sklr import SKLR
from clew.similarity.kernels.skms import SKMS
from clew.similarity.metrics.itml import ITML
from clew.similarity.metrics.kissme import KISSME
from clew.similarity.metrics.lsml import LSML
from clew.similarity.metrics.mmc import MMC
from clew.similarity.metrics.sparse_lp import SparseLP
from clew.similarity.ordinal_embedding import OrdinalEmbedding

__all__ = [
    "COPRF",
    "E2CP",
    "ITML",
    "KISSME",
    "LSML",
    "MMC",
    "SKLR",
    "SKMS",
    "AdaptiveKNN",
    "ClustRF",
    "ConsensusKNN",
    "DistLQP",
    "DominantNeighbors",
    "LinkedAffinity",
    "OrdinalEmbedding",
    "ShortestPaths",
    "SparseLP",
    "SpectralLearning",
]
