"""How alike are two items, given data and answers; one method a file."""

from clew.similarity._adaptive_knn import AdaptiveKNN
from clew.similarity._clustrf import ClustRF
from clew.similarity._consensus_knn import ConsensusKNN
from clew.similarity._coprf import COPRF
from clew.similarity._dominant_neighbors import DominantNeighbors
from clew.similarity._e2cp import E2CP
from clew.similarity._itml import ITML
from clew.similarity._linked_affinity import LinkedAffinity
from clew.similarity._lsml import LSML
from clew.similarity._mmc import MMC
from clew.similarity._sklr import SKLR
from clew.similarity._skms import SKMS
from clew.similarity._sparse_lp import SparseLP
from clew.similarity._spectral_learning import SpectralLearning

__all__ = [
    "COPRF",
    "E2CP",
    "ITML",
    "LSML",
    "MMC",
    "SKLR",
    "SKMS",
    "AdaptiveKNN",
    "ClustRF",
    "ConsensusKNN",
    "DominantNeighbors",
    "LinkedAffinity",
    "SparseLP",
    "SpectralLearning",
]
