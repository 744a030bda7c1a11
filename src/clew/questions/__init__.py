"""What to ask next: strategies, and the information in the answer to a question."""

from clew.questions._strategy import Strategy
from clew.questions.active_spectral import ActiveSpectral
from clew.questions.active_subclustering import ActiveSubclustering
from clew.questions.baselines import MostProbable, RandomPairs, Uncertain
from clew.questions.cac1 import CAC1
from clew.questions.cobras import COBRA, COBRAS
from clew.questions.expected_change import ExpectedChange
from clew.questions.explore_consolidate import ExploreConsolidate, MinMax
from clew.questions.guided import Guided
from clew.questions.information import (
    CorrelationInformation,
    odd_one_out_information,
    pair_information,
    triplet_information,
)
from clew.questions.margin import Margin

__all__ = [
    "CAC1",
    "COBRA",
    "COBRAS",
    "ActiveSpectral",
    "ActiveSubclustering",
    "CorrelationInformation",
    "ExpectedChange",
    "ExploreConsolidate",
    "Guided",
    "Margin",
    "MinMax",
    "MostProbable",
    "RandomPairs",
    "Strategy",
    "Uncertain",
    "odd_one_out_information",
    "pair_information",
    "triplet_information",
]
