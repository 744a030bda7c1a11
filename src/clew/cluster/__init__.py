"""Clusterers of features, similarities and answers; one method a file."""

from clew.cluster.correlation.correlation_clustering import CorrelationClustering
from clew.cluster.dcrc.dcrc import DCRC
from clew.cluster.distances.distance_clustering import DistanceClustering
from clew.cluster.guided import GuidedClustering
from clew.cluster.kernel.kernel_kmeans import KernelKMeans
from clew.cluster.kernel.kernel_mean_shift import KernelMeanShift
from clew.cluster.kmeans.cop_kmeans import COPKMeans
from clew.cluster.kmeans.mpckmeans import MPCKMeans
from clew.cluster.kmeans.pckmeans import PCKMeans
from clew.cluster.kmeans.sssvad import SSSVaD
from clew.cluster.linkage.constrained_linkage import ConstrainedLinkage
from clew.cluster.linkage.hacc import HACC, consensus_probabilities
from clew.cluster.medoids.clarans import CLARANS
from clew.cluster.medoids.fast_pam import FastPAM
from clew.cluster.medoids.k_medoids import KMedoids
from clew.cluster.medoids.purest_examples import purest_examples
from clew.cluster.medoids.subclustering import Subclustering
from clew.cluster.similarity_clustering import SimilarityClustering
from clew.cluster.spectral import SpectralClustering

__all__ = [
    "CLARANS",
    "DCRC",
    "HACC",
    "COPKMeans",
    "ConstrainedLinkage",
    "CorrelationClustering",
    "DistanceClustering",
    "FastPAM",
    "GuidedClustering",
    "KMedoids",
    "KernelKMeans",
    "KernelMeanShift",
    "MPCKMeans",
    "PCKMeans",
    "SSSVaD",
    "SimilarityClustering",
    "SpectralClustering",
    "Subclustering",
    "consensus_probabilities",
    "purest_examples",
]
