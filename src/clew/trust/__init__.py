"""How far to believe an answer and an answerer."""

from clew.trust._answer_posterior import AnswerDoubts, answer_posterior
from clew.trust._confusion import ConfusionMatrices
from clew.trust._inconsistency import constraint_inconsistency
from clew.trust._posterior import AnswerPosterior, answer_evidence, posterior
from clew.trust._vote import out_of_bag_vote

__all__ = [
    "AnswerDoubts",
    "AnswerPosterior",
    "ConfusionMatrices",
    "answer_evidence",
    "answer_posterior",
    "constraint_inconsistency",
    "out_of_bag_vote",
    "posterior",
]
