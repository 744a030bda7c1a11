"""Agreement with a reference, constraints violated, and areas under curves."""

from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from clew.metrics._scores import (
    area_under_curve,
    jaccard_score_pairs,
    n_violated,
    pairwise_f_score,
    subclustering_jaccard,
)
from clew.metrics.likelihood import answer_log_likelihood

__all__ = [
    "adjusted_rand_score",
    "answer_log_likelihood",
    "area_under_curve",
    "jaccard_score_pairs",
    "n_violated",
    "normalized_mutual_info_score",
    "pairwise_f_score",
    "subclustering_jaccard",
]
