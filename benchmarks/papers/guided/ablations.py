"""Guided clustering with one of its steps left out, or another in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from benchmarks.papers.guided.methods import Method
from clew.cluster import GuidedClustering
from clew.cluster.guided._ensemble import Ensemble, Fold, Way
from clew.cluster.guided._pool import Candidate
from clew.cluster.guided._refinement import FLOOR, MAX_ROUNDS, START, TOL, TiedRows
from clew.cluster.guided._smoothers import Smoother
from clew.cluster.guided._steps import Joined, Steps, Unled
from clew.constraints import Constraints
from clew.kernels.mean_field import NEVER, Messages, mean_field

__all__ = ["ABLATIONS", "UNCREDITED", "mean_field_refined", "messages_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = 1e-12
MAX_SWEEPS, TIE = 20, 1e-9


class Unrefined(Steps):
    """Nothing is refined: the second consensus is of the first and of groups without answers."""

    def smoothers(self) -> dict[str, Smoother]:
        """Give none."""
        return {}


class BestAlone(Steps):
    """In place of the second consensus, what foretells most of the answers held out."""

    def refined(self, first: Joined) -> Joined:
        """Keep the best of what came of refining."""
        found = super().refined(first)
        scores, best = found.ensemble.scores, found.ensemble.best
        chosen = max(best, key=lambda name: scores[name])
        weights = {name: float(name == chosen) for name in scores}
        return self._join(found.ensemble._replace(weights=weights), found.judges)


class NeighborsAlone(Steps):
    """One smoother: neighbours."""

    def smoothers(self) -> dict[str, Smoother]:
        """Give it."""
        return {"neighbors": super().smoothers()["neighbors"]}


class RidgeAlone(Steps):
    """One smoother: kernel ridge regression."""

    def smoothers(self) -> dict[str, Smoother]:
        """Give it."""
        return {"ridge": super().smoothers()["ridge"]}


class UnledPool(Steps):
    """No way of the pool is led by answers."""

    def grouped(self, pool: list[Candidate]) -> Joined:
        """Join those that are left."""
        return super().grouped([way for way in pool if not way.follows_answers])


class NoRace(Steps):
    """All ways go through all folds."""

    def raced(self, ways: list[Way], judges: list[Fold]) -> Ensemble:
        """End none before the last fold."""
        return Ensemble.of(ways, judges, self.step, margin=np.inf)


class NoPriors(Steps):
    """Answers alone say how much ways count."""

    def raced(self, ways: list[Way], judges: list[Fold]) -> Ensemble:
        """Take all for as likely."""
        return super().raced([way._replace(log_prior=0.0) for way in ways], judges)


class Unguarded(Steps):
    """Groups without answers vote with the others."""

    def guarded(self, last: Joined, unled: Unled) -> Joined:
        """Leave the consensus."""
        return last


class Uncredited(Steps):
    """All annotators count alike for the ways of the pool."""

    def weighed(self, unled: list[Way]) -> tuple[Constraints, list[Fold]]:
        """Leave answers as they are."""
        return self.known, self.folds


class MeanField(Steps):
    """Mean field in place of belief propagation."""

    def _refine(
        self,
        starts: list[Ints],
        tied: list[TiedRows],
        smoother: Smoother,
        strength: float,
        at: int | None,
    ) -> Floats:
        part = -1 if at is None else at
        return mean_field_refined(starts[part], self.n_clusters, tied[part], smoother, strength)


def mean_field_refined(
    labels: Ints, n_clusters: int, tied: TiedRows, smoother: Smoother, strength: float
) -> Floats:
    """Refine groups as `clew.cluster.guided.refine` does, but for the messages of answers.

    Returns
    -------
    ndarray of shape (n_samples, n_clusters)
        Chances of groups.
    """
    q = np.full((tied.n_samples, n_clusters), (1 - START) / n_clusters)
    q[np.arange(tied.n_samples), labels] += START
    messages = messages_of(tied)
    for _ in range(MAX_ROUNDS):
        before = q.copy()
        predicted = np.maximum(smoother.smooth(q), 0.0) + FLOOR
        log_prior = strength * np.log(predicted)
        q = softmax(log_prior, axis=1)
        mean_field(log_prior, messages, False, TIE, NEVER, MAX_SWEEPS, TOL, q)
        if np.abs(q - before).max() < TOL:
            break
    return q


def messages_of(tied: TiedRows) -> Messages:
    """Turn likelihoods of answers into what their logarithms say to each row."""
    ties, row = tied.ties, np.append(tied.row_of_end, -1)

    def logarithm(*factors: Floats) -> Floats:
        return ties.weight * np.log(np.maximum(ties.constant + np.sum(factors, axis=0), LEAST))

    none = logarithm(np.zeros_like(ties.constant))
    by_first, by_second, by_rest = (
        logarithm(factor) - none for factor in (ties.by_first, ties.by_second, ties.by_rest)
    )
    every = logarithm(ties.by_first, ties.by_second, ties.by_rest, ties.by_both)
    by_both = every - none - by_first - by_second - by_rest
    return Messages(ties.start, row[ties.first], row[ties.second], by_first, by_second, by_both)


class Ablated(GuidedClustering):
    """Guided clustering with other steps."""

    steps: ClassVar[type[Steps]] = Steps

    def _steps(self) -> type[Steps]:
        return self.steps


def _ablation(name: str, label: str, steps: type[Steps]) -> Method:
    kind = type(f"Ablated_{name}", (Ablated,), {"steps": steps, "__module__": __name__})
    return Method(f"guided_{name}", label, lambda k: kind(k, standardize=False), "all")


ABLATIONS: Sequence[Method] = (
    _ablation("unrefined", "no refinement", Unrefined),
    _ablation("best_alone", "no second consensus", BestAlone),
    _ablation("neighbors", "neighbours as the only smoother", NeighborsAlone),
    _ablation("ridge", "ridge as the only smoother", RidgeAlone),
    _ablation("unled", "no led candidates", UnledPool),
    _ablation("no_race", "no race", NoRace),
    _ablation("no_priors", "no priors", NoPriors),
    _ablation("unguarded", "no guard", Unguarded),
    _ablation("mean_field", "mean field", MeanField),
)
#: Of several annotators alone.
UNCREDITED = _ablation("uncredited", "annotators alike", Uncredited)
