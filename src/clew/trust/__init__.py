"""Probabilities that answers are wrong, and error rates of annotators."""

from clew.trust.annotators import ConfusionMatrices
from clew.trust.doubts import AnswerPosterior, PairPosterior, answer_posterior, pair_posterior
from clew.trust.inconsistency import answer_evidence, constraint_inconsistency, out_of_bag_vote
from clew.trust.repeats import DawidSkene
from clew.trust.screens import ScreenErrors, screen_errors

__all__ = [
    "AnswerPosterior",
    "ConfusionMatrices",
    "DawidSkene",
    "PairPosterior",
    "ScreenErrors",
    "answer_evidence",
    "answer_posterior",
    "constraint_inconsistency",
    "out_of_bag_vote",
    "pair_posterior",
    "screen_errors",
]
