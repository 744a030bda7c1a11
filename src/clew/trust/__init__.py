"""How far to believe an answer and an answerer."""

from clew.trust._inconsistency import constraint_inconsistency
from clew.trust._posterior import AnswerPosterior, answer_evidence, posterior
from clew.trust._vote import out_of_bag_vote

__all__ = [
    "AnswerPosterior",
    "answer_evidence",
    "constraint_inconsistency",
    "out_of_bag_vote",
    "posterior",
]
