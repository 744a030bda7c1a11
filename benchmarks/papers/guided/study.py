"""What the study measures, and where."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import roc_auc_score

from benchmarks.papers._identity import seed_of, seeded
from benchmarks.papers._relative.study import OfOneTrial, Results, Study
from benchmarks.papers.guided.methods import N_TREES, Method
from benchmarks.papers.guided.parts import PARTS, Part, part_named
from benchmarks.papers.guided.protocol import (
    AMOUNTS,
    ERRORS,
    NO_ANSWERS,
    SETS,
    Cell,
    problem_named,
)
from clew import Constraints
from clew.answers import NONE_DIFFERS
from clew.exceptions import InvalidConstraintsError, TooLargeError
from clew.metrics import adjusted_rand_score
from clew.similarity import ClustRF

__all__ = ["Drawn", "GuidedResults", "GuidedStudy"]

Floats = NDArray[np.floating]

#: Answers that are refused, and affinities of which no eigenvectors are found.
REFUSALS = (InvalidConstraintsError, TooLargeError, ArpackError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class GuidedStudy(Study):
    """The study of guided clustering."""

    n_trials: int = 3
    sets: tuple[str, ...] = SETS
    stem: str = "guided"
    parts: tuple[str, ...] = tuple(part.name for part in PARTS)
    """Names: processes have their own methods."""
    methods: tuple[str, ...] = ()
    """Names of those that are run; none given: all."""
    amounts: tuple[str, ...] = AMOUNTS
    errors: tuple[float, ...] = ERRORS

    def cells(self, name: str) -> list[Cell]:
        """Give all cells of a set, those that take longest first."""
        found = {cell for part in self.parts for cell in self.cells_of(part_named(part), name)}
        n_answers = {cell: _n_answers(name, cell.amount) for cell in found}
        return sorted(found, key=lambda cell: (-n_answers[cell], cell.name))

    def methods_at(self, name: str, cell: Cell) -> tuple[Method, ...]:
        """Give the methods of a cell: those of all parts that it belongs to."""
        size = _n_rows(name), _n_answers(name, cell.amount)
        found = {
            method: None
            for part in map(part_named, self.parts)
            if cell in self.cells_of(part, name)
            for method in part.methods(cell)
            if method.is_run(*size) and (not self.methods or method.name in self.methods)
        }
        return tuple(found)

    def is_of(self, record: dict[str, Any]) -> bool:
        """Whether a result of the log is of these methods and parts, too."""
        if not super().is_of(record) or (self.methods and record["method"] not in self.methods):
            return False
        parts = (self.cells_of(part_named(part), record["set"]) for part in self.parts)
        return record["cell"] in {cell.name for cells in parts for cell in cells}

    def scene(self, name: str, cell: Cell, trial: int) -> Drawn:
        """Draw the answers of a trial."""
        return Drawn(problem_named(name), cell, trial)

    def cells_of(self, part: Part, name: str) -> list[Cell]:
        """Give the cells of one part on a set."""
        found = part.cells if name in part.sets else ()
        return [
            cell
            for cell in found
            if cell == NO_ANSWERS or (cell.amount in self.amounts and cell.error in self.errors)
        ]


GuidedResults = Results[GuidedStudy]


@dataclass(frozen=True)
class Drawn(OfOneTrial):
    """A set and the answers of one trial."""

    def run(self, method: Method) -> dict[str, Any]:
        """Score the groups of one method.

        Returns
        -------
        dict
            "ari" and "fit_seconds", and what there is to note. "failure" says how a method refused
            the answers; its groups are then those of Ward.
        """
        seed = seed_of("method", self.problem.name, self.trial)
        X = self.problem.X
        if method.sees == "forest":
            X = _forest(self.problem.name, seed)
        model = seeded(method.make(self.problem.n_classes), seed)
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            found = self._scored(model, X, method)
        if given:
            found["warnings"] = sorted({warning.category.__name__ for warning in given})
        return found

    def _scored(self, model: Any, X: Floats, method: Method) -> dict[str, Any]:
        extra = {}
        if method.hears != "nothing" and self.cell != NO_ANSWERS:
            extra["constraints"] = _heard(self.answers, method)
        start = time.process_time()
        try:
            labels = model.fit(X, **extra).labels_
        except REFUSALS as error:
            labels = AgglomerativeClustering(self.problem.n_classes).fit(self.problem.X).labels_
            return {"failure": type(error).__name__, "ari": self._ari(labels)}
        found = {"ari": self._ari(labels), "fit_seconds": round(time.process_time() - start, 3)}
        return found | (self._judged(model) if hasattr(model, "error_interval_") else {})

    def _ari(self, labels: NDArray[np.int64]) -> float:
        return float(adjusted_rand_score(self.problem.y, labels))

    def _judged(self, model: Any) -> dict[str, Any]:
        """Judge what was said about the answers: pairs alone."""
        known = self.answers
        if not len(known.pairs) or len(known) != len(known.pairs):
            return {}
        is_wrong = self.problem.is_wrong(known)
        low, high = model.error_interval_
        share = float(is_wrong.mean())
        found = {
            "true_error": share,
            "error_rate": float(model.error_rate_),
            "error_low": float(low),
            "error_high": float(high),
        }
        if 0 < share < 1:
            found["is_held"] = float(low <= share <= high)
            found["auc"] = float(roc_auc_score(is_wrong, model.answer_posterior_.pairs))
        return found


def _heard(answers: Constraints, method: Method) -> Constraints:
    """Give the answers that a method takes, in the form that it takes."""
    if method.hears == "threes":
        compares = answers.odd_one_out_answers != NONE_DIFFERS
        return answers.select(pairs=[], odd_one_out=compares)
    return answers.as_pairs() if method.hears == "pairs" else answers


@lru_cache(maxsize=2)
def _forest(name: str, seed: int) -> Floats:
    """Give the affinities of the unconstrained forest; all cells of a trial share them."""
    forest = ClustRF(N_TREES, random_state=seed).fit(problem_named(name).X)
    found: Floats = forest.affinity_matrix_
    return found


@cache
def _n_rows(name: str) -> int:
    return len(problem_named(name).y)


@cache
def _n_answers(name: str, amount: str) -> int:
    return problem_named(name).n_answers(amount) if amount else 0
