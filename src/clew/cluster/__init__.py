"""Groups from features or from a similarity; one method a file."""

from clew.cluster._constrained_linkage import ConstrainedLinkage
from clew.cluster._cop_kmeans import COPKMeans
from clew.cluster._dcrc import DCRC
from clew.cluster._kernel_kmeans import KernelKMeans
from clew.cluster._kernel_mean_shift import KernelMeanShift
from clew.cluster._mpckmeans import MPCKMeans
from clew.cluster._pckmeans import PCKMeans
from clew.cluster._similarity_clustering import SimilarityClustering
from clew.cluster._spectral import SpectralClustering
from clew.cluster._sssvad import SSSVaD
from clew.cluster.guided import GuidedClustering

__all__ = [
    "DCRC",
    "COPKMeans",
    "ConstrainedLinkage",
    "GuidedClustering",
    "KernelKMeans",
    "KernelMeanShift",
    "MPCKMeans",
    "PCKMeans",
    "SSSVaD",
    "SimilarityClustering",
    "SpectralClustering",
]
