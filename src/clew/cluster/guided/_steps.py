"""The steps of guided clustering: a pool competes and is joined, then refined and joined again."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._beliefs import Beliefs, beliefs_about, believed, credited
from clew.cluster.guided._ensemble import Ensemble, Fold, Labels, Way, as_labels
from clew.cluster.guided._pool import AGAIN, MANY_ROWS, REFINED_BY, STEADY, UNLED, Candidate
from clew.cluster.guided._progress import Step
from clew.cluster.guided._refinement import TiedRows, refine
from clew.cluster.guided._smoothers import NeighborSmoother, RidgeSmoother, Smoother
from clew.cluster.guided._views import Views
from clew.constraints import Constraints
from clew.constraints._folds import held_out_folds

__all__ = ["MOST_REFINED", "Joined", "Steps", "folds_of"]

#: Parts of the answers; fewer of many rows, with which each takes long.
N_FOLDS, N_FOLDS_OF_MANY = 3, 2
#: How much smoothers count beside answers.
STRENGTHS = (1.0, 3.0)
#: Ways in the second consensus, at most: two smoothers with two strengths, and three from before.
MOST_REFINED = 7
#: How much likelier groups without answers are right than any others, as a logarithm.
UNLED_PRIOR = 0.5
#: By how much groups must foretell the answers held out better than groups without answers do, as
#: a logarithm; else the latter stand.
LEAST_LEAD = 1.0


def folds_of(known: Constraints, seed: int) -> list[Fold]:
    """Part the answers; none that lead to anything, no parts."""
    pairs = known.as_pairs()
    if not (pairs.pair_weights[~pairs.is_dont_know] > 0).any():
        return []
    random = np.random.RandomState(seed)
    n_folds = N_FOLDS_OF_MANY if known.n_samples > MANY_ROWS else N_FOLDS
    return [Fold(*parts) for parts in held_out_folds(known, n_folds, random)]


class Unled(NamedTuple):
    """The consensus of ways that saw no answers."""

    labels: Labels
    chances: NDArray[np.float64]


class Joined(NamedTuple):
    """A consensus, and what it was made of."""

    ensemble: Ensemble
    judges: list[Fold]
    """The answers, as far as their annotators are believed."""
    labels: Labels
    of_folds: list[Labels]
    chances: NDArray[np.float64]
    beliefs: Beliefs
    unled: Unled | None = None
    saw_answers: bool = True


class Steps(NamedTuple):
    """What all steps need."""

    views: Views
    ridge: RidgeSmoother
    known: Constraints
    folds: list[Fold]
    n_clusters: int
    seed: int
    step: Step

    def grouped(self, pool: list[Candidate]) -> Joined:
        """Let the pool compete, and join it."""
        led = [candidate for candidate in pool if candidate.follows_answers]
        others = [candidate for candidate in pool if not candidate.follows_answers]
        unled = [_once(candidate, self.views) for candidate in others]
        priors = [candidate.alone_prior for candidate in others]
        alone = [way._replace(log_prior=prior) for way, prior in zip(unled, priors, strict=True)]
        if not self.folds:
            every = alone or [_once(candidate, self.views) for candidate in led]
            return self._join(Ensemble.of(every, [], self.step), [])
        known, judges = self.weighed(alone)
        views = [self.views.given(fold.kept.as_pairs()) for fold in judges]
        views.append(self.views.given(known.as_pairs()))
        ways = [*unled, *(_led(candidate, views) for candidate in led)]
        joined = self._join(self.raced(ways, judges), judges)
        if not alone:
            return joined
        without = Ensemble.of(alone, [])
        labels, _ = without.joined(self.n_clusters, self.seed)
        return joined._replace(unled=Unled(labels, _voted(labels, self.n_clusters, without)))

    def weighed(self, unled: list[Way]) -> tuple[Constraints, list[Fold]]:
        """Weigh answers by annotators, where ways that saw no answers can tell these apart."""
        if len(self.known.annotators) < 2 or not unled:
            return self.known, self.folds
        folds, credit = believed(self.folds, unled)
        return credited(self.known, credit), folds

    def refined(self, first: Joined) -> Joined:
        """Refine the consensus in several ways, and join what comes of it."""
        ways = [Way("consensus", lambda at: first.labels if at is None else first.of_folds[at])]
        if first.ensemble.weights.get(STEADY):
            ways.append(Way(AGAIN, lambda at: _of(first.ensemble, STEADY, at)))
        if (unled := first.unled) is not None:
            ways.append(Way(UNLED, lambda at: unled.labels, UNLED_PRIOR))
        parts = [*(fold.kept for fold in self.folds), self.known]
        tied = [TiedRows(part, first.beliefs.confusion) for part in parts]
        starts = [*first.of_folds, first.labels]
        for name, smoother in self.smoothers().items():
            for strength in STRENGTHS:
                run = partial(self._refine, starts, tied, smoother, strength)
                ways.append(Way(f"{REFINED_BY}{name}, {strength:g}", run))
        last = self._join(self.raced(ways, first.judges), first.judges)
        return last if unled is None else self.guarded(last, unled)

    def guarded(self, last: Joined, unled: Unled) -> Joined:
        """Let groups without answers stand where nothing foretells answers clearly better."""
        if last.ensemble.lead_over(UNLED) >= LEAST_LEAD:
            return last
        weights = dict.fromkeys(last.ensemble.weights, 0.0) | {UNLED: 1.0}
        return last._replace(
            ensemble=last.ensemble._replace(weights=weights),
            labels=unled.labels,
            chances=unled.chances,
            saw_answers=False,
        )

    def raced(self, ways: list[Way], judges: list[Fold]) -> Ensemble:
        """Let ways to group compete."""
        return Ensemble.of(ways, judges, self.step)

    def smoothers(self) -> dict[str, Smoother]:
        """Give what says which groups the rows around each row speak for."""
        graph = self.views.read("neighbors", 10)
        return {"neighbors": NeighborSmoother(graph), "ridge": self.ridge}

    def _refine(
        self,
        starts: list[Labels],
        tied: list[TiedRows],
        smoother: Smoother,
        strength: float,
        at: int | None,
    ) -> NDArray[np.float64]:
        part = -1 if at is None else at
        return refine(starts[part], self.n_clusters, tied[part], smoother, strength)

    def _join(self, ensemble: Ensemble, judges: list[Fold]) -> Joined:
        labels, of_folds = ensemble.joined(self.n_clusters, self.seed)
        chances = _voted(labels, self.n_clusters, ensemble)
        beliefs = beliefs_about(ensemble, self.folds, self.known.annotators)
        return Joined(ensemble, judges, labels, of_folds, chances, beliefs)


def _once(candidate: Candidate, views: Views) -> Way:
    """Make a way of a candidate that no answers lead: its groups are always the same."""
    made = cache(lambda: candidate.partition(views, None))
    return Way(candidate.name, lambda at: made(), candidate.log_prior)


def _led(candidate: Candidate, views: list[Views]) -> Way:
    """Make a way of a candidate that is led by the answers of a fold, or by all, the last."""

    def group(at: int | None) -> Labels:
        led = views[-1 if at is None else at]
        return candidate.partition(led, led.answers)

    return Way(candidate.name, group, candidate.log_prior)


def _of(ensemble: Ensemble, name: str, at: int | None) -> Any:
    return ensemble.whole[name] if at is None else ensemble.of_folds[at][name]


def _voted(labels: Labels, n_clusters: int, ensemble: Ensemble) -> NDArray[np.float64]:
    """Let partitions vote: the groups of each stand for those that their rows have in `labels`."""
    groups = np.eye(n_clusters)[labels]
    votes = np.zeros_like(groups)
    for name in ensemble.best:
        votes += ensemble.weights[name] * _translated(ensemble.whole[name], groups)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _translated(partition: Any, groups: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give rows, by their chances in a partition, the groups that its groups' rows have.

    Whose rows these are is told by the likeliest groups: chances would mix what they are unsure of,
    until all rows went to the largest group.
    """
    n_groups = partition.shape[1] if partition.ndim == 2 else partition.max() + 1
    likeliest = np.eye(n_groups)[as_labels(partition)]
    members = partition if partition.ndim == 2 else likeliest
    shared = likeliest.T @ groups
    return np.asarray(members @ (shared / np.maximum(shared.sum(axis=1, keepdims=True), 1.0)))
