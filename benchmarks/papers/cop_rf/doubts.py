"""Figure 14: scores that tell how doubtful an answer is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.papers._identity import tag_of
from benchmarks.papers.cop_rf.measures import Floats, Inputs, Measure
from benchmarks.papers.cop_rf.protocol import TABLE_III_ERROR, Cell, Problem
from clew import Constraints
from clew.trust import answer_evidence, constraint_inconsistency, out_of_bag_vote, posterior

__all__ = ["DOUBTS", "QUANTILES", "SETS", "Doubt", "doubt_cells"]

SETS = ("ionosphere", "glass")
#: Size of the forest that judges the answers, as `clew.trust` has it by default.
N_TREES = 500
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Score = Callable[[Floats, Constraints, int, int], NDArray[np.float64]]


def _inconsistency(X: Floats, answers: Constraints, n_trees: int, seed: int) -> NDArray[np.float64]:
    return constraint_inconsistency(X, answers, n_trees=n_trees, random_state=seed)


def _against_vote(X: Floats, answers: Constraints, n_trees: int, seed: int) -> NDArray[np.float64]:
    vote = out_of_bag_vote(X, answers, n_trees=n_trees, random_state=seed)
    return np.where(answers.is_must_link, 1 - vote, vote)


def _p_wrong(X: Floats, answers: Constraints, n_trees: int, seed: int) -> NDArray[np.float64]:
    evidence = answer_evidence(X, answers, n_trees=n_trees, random_state=seed)
    return posterior(evidence, answers).p_wrong


@dataclass(frozen=True)
class Doubt:
    """One way to doubt answers: the higher its score, the more likely wrong."""

    name: str
    label: str
    score: Score
    uses_answers: bool = True

    def version(self, n_trees: int) -> str:
        """Hash the parameters."""
        return tag_of(self.name, min(n_trees, N_TREES), QUANTILES)

    def run(
        self, inputs: Inputs, n_trees: int, answers: Constraints | None, seed: int
    ) -> dict[str, Any]:
        """Score every answer, and say how far wrong ones stand out.

        Returns
        -------
        dict
            "auc", and under "right" and "wrong" five quantiles of the scores of such answers.
        """
        if answers is None:
            raise TypeError(f"{self.name} scores answers; there are none")
        i, j = answers.pairs.T
        y = inputs.problem.y
        is_wrong = answers.is_must_link != (y[i] == y[j])
        score = self.score(inputs.features, answers, min(n_trees, N_TREES), seed)
        quantiles = {
            kind: [round(float(q), 5) for q in np.quantile(score[which], QUANTILES)]
            for kind, which in (("right", ~is_wrong), ("wrong", is_wrong))
        }
        return {"auc": float(roc_auc_score(is_wrong, score)), **quantiles}


DOUBTS = (
    Doubt("doubt_inconsistency", "inconsistency (paper, eq. 11)", _inconsistency),
    Doubt("doubt_vote", "out-of-bag vote against it", _against_vote),
    Doubt("doubt_posterior", "posterior p_wrong", _p_wrong),
)


def doubt_cells(problem: Problem, measure: Measure) -> list[Cell]:
    """Give the points: every number of answers of Table III."""
    return [Cell(amount, TABLE_III_ERROR) for amount in problem.amounts]
