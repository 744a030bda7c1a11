"""Probabilities that answers are wrong, and error rates of annotators."""

from clew.trust.features.inconsistency import constraint_inconsistency
from clew.trust.features.out_of_bag_vote import out_of_bag_vote
from clew.trust.features.posterior import AnswerPosterior, answer_evidence, posterior
from clew.trust.groups.confusion import ConfusionMatrices
from clew.trust.groups.posterior import AnswerDoubts, answer_posterior
from clew.trust.repeats.dawid_skene import DawidSkene

__all__ = [
    "AnswerDoubts",
    "AnswerPosterior",
    "ConfusionMatrices",
    "DawidSkene",
    "answer_evidence",
    "answer_posterior",
    "constraint_inconsistency",
    "out_of_bag_vote",
    "posterior",
]
