"""The number of groups: chosen by silhouettes and held-out answers, or the one that was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from clew._limits import MANY_ROWS
from clew._warnings import warn
from clew.cluster.guided._certainty import CERTAINTY, certainty_of_groups
from clew.cluster.guided._ensemble import (
    TEMPER,
    Fold,
)
from clew.cluster.guided._held_out_numbers import (
    HeldOutNumbers,
    NumberScores,
    clusterings_in_spaces,
    highest,
)
from clew.cluster.guided._prepared import Prepared
from clew.cluster.guided._progress import Step, no_step
from clew.cluster.guided._spaces import Spaces
from clew.cluster.guided._unconstrained_numbers import SAMPLE_ROWS, UnconstrainedNumbers
from clew.cluster.guided._views import Views
from clew.exceptions import FewerGroupsWarning, NoGroupsWarning
from clew.trust.groups._outcomes import informative_tables

__all__ = [
    "NumberOfGroups",
    "best_log_likelihood",
    "choose_n_clusters",
    "max_steps",
    "number_of_groups",
    "sampled_rows",
]

Floats = NDArray[np.float64]

#: The numbers 2, 3, 4, 5, 8, ... 100 are tried first, then those around the best of them.
FEWEST, MOST, RATIO = 2, 100, 1.4
MAX_TRIED_BETWEEN = 6
#: Answers decide the number of groups if they raise the held-out log-likelihood by this much over
#: the number of the largest silhouette: the largest of many log-likelihoods of random answers is
#: above the others by less.
LEAST_LEAD = 4.0
NOT_TRIED: Mapping[int, float] = {}


class NumberOfGroups(NamedTuple):
    """A number of groups, and how far data support it."""

    n_clusters: int
    certainty: float = 1.0
    """1, or in [0.05, 0.5] if neither features nor answers show groups."""
    log_likelihoods: Mapping[int, float] = NOT_TRIED
    """Held-out log-likelihood of each number that was tried; empty without answers."""

    @property
    def probabilities(self) -> dict[int, float]:
        """Probabilities of the numbers, by held-out answers, in ascending order of the numbers."""
        numbers = sorted(self.log_likelihoods)
        values = np.array([self.log_likelihoods[number] for number in numbers])
        found = softmax(TEMPER * values) if numbers else values
        return dict(zip(numbers, found.tolist(), strict=True))

    def shrunk(self, probabilities: Floats) -> Floats:
        """Shrink probabilities of groups toward ``1 / n_clusters`` where certainty is low."""
        even = 1 / probabilities.shape[1]
        return np.asarray(even + self.certainty * (probabilities - even))


def number_of_groups(
    given: int | None,
    prepared: Prepared | None,
    spaces: Spaces | None,
    folds: Sequence[Fold],
    seed: int,
    step: Step = no_step,
) -> NumberOfGroups:
    """Check the given number of groups, or choose one.

    Parameters
    ----------
    given : int or None
        The parameter `n_clusters`.
    prepared : Prepared or None
        Features, if there are any.
    spaces : Spaces or None
        Spaces of the answers.
    folds : sequence of Fold
        See `choose_n_clusters`.
    seed : int
        See `choose_n_clusters`.
    step : callable
        See `choose_n_clusters`.

    Returns
    -------
    NumberOfGroups

    Warns
    -----
    FewerGroupsWarning
        If fewer rows differ than groups are wanted. Without answers, there are then as many groups
        as different rows.
    NoGroupsWarning
        If the number was chosen, and neither features nor answers show groups.
    """
    if prepared is None:
        assert spaces is not None
        return NumberOfGroups(given) if given else number_in_spaces(spaces, folds, step)
    views = prepared.views
    if given is None:
        chosen = choose_n_clusters(views, folds, seed, step, spaces)
        if chosen.certainty < 1:
            why = (
                "all rows are equal"
                if chosen.n_clusters == 1
                else f"features look like data without groups, and answers do not show any; the "
                f"{chosen.n_clusters} groups of the result have low probabilities"
            )
            warn(
                f"GuidedClustering(n_clusters=None) found no groups: {why}. Use other features, "
                "add answers, or give n_clusters",
                NoGroupsWarning,
            )
        return chosen
    n_different = n_different_rows(views.X, given)
    if n_different == given:
        return NumberOfGroups(given)
    warn(
        f"GuidedClustering(n_clusters={given}): there are only {n_different} different rows",
        FewerGroupsWarning,
    )
    return NumberOfGroups(given if folds else n_different)


def number_in_spaces(spaces: Spaces, folds: Sequence[Fold], step: Step = no_step) -> NumberOfGroups:
    """Choose the number of groups that predicts held-out answers best, without features.

    Parameters
    ----------
    spaces : Spaces
        Spaces of the answers; rows are divided by Ward's linkage in them.
    folds : sequence of Fold
        The answers.
    step : callable
        Called after each number that was tried.

    Returns
    -------
    NumberOfGroups
        From 2 to the number of rows less one.
    """
    n_samples = folds[0].kept.n_samples
    numbers = _first_tried(n_samples, n_samples - 1)
    if not numbers:
        return NumberOfGroups(1)
    scores = NumberScores(folds)

    def log_likelihood(n_clusters: int) -> float:
        return scores.add(n_clusters, clusterings_in_spaces(spaces, n_clusters, len(folds)))

    best = _best(log_likelihood, numbers, step, scores.smallest_near_best)
    return NumberOfGroups(best, 1.0, scores.log_likelihoods)


def n_different_rows(X: Floats, at_most: int) -> int:
    """Count different rows, up to `at_most`."""
    n_rows = max(SAMPLE_ROWS, at_most)
    while True:
        n_different = len(np.unique(X[:n_rows], axis=0))
        if n_different >= at_most or n_rows >= len(X):
            return min(n_different, at_most)
        n_rows *= 4


def choose_n_clusters(
    views: Views,
    folds: Sequence[Fold],
    seed: int,
    step: Step = no_step,
    spaces: Spaces | None = None,
) -> NumberOfGroups:
    """Choose the number of groups.

    Parameters
    ----------
    views : Views
        Features and graphs.
    folds : sequence of Fold
        Answers; none where there are no answers.
    seed : int
        Seed of eigenvectors, of sampled rows and of data without groups.
    step : callable
        Called after each number that was tried, at most `max_steps` times.
    spaces : Spaces, default=None
        Spaces of the answers. With them, answers may choose up to as many groups as rows.

    Returns
    -------
    NumberOfGroups

    Notes
    -----
    Rows are clustered by Ward's linkage and by spectral clustering of the neighbor graph. The
    number of the largest mean silhouette is chosen, if that silhouette exceeds those of data
    without groups by .03 (by .7/√n for n < 544 rows): uniform and normal samples with the ranges,
    or the variances, of the principal components, in as many clusters. Tibshirani, Walther and
    Hastie compare with the uniform ones. Otherwise the number is 2, and the difference determines
    the certainty.

    With answers, spectral clusterings that follow the training answers are added, and the number of
    the largest held-out log-likelihood is chosen if it exceeds that of the first number by 4.
    Answers are weighted by annotator, judged by all clusterings that saw no answers.

    A strategy asks where groups meet, and hardly about rows that are surely together. Splitting
    those costs asked answers (`origin`) nothing, so that numbers which are too large come near the
    largest log-likelihood. Therefore the smallest number is chosen whose log-likelihood is within
    .75 standard errors of the largest. The standard error is that of the difference, summed over
    asked answers only: without these, the largest is chosen.

    If there are more than 5,000 rows, 5,000 take part: those that random answers name, then any.
    All spectral clusterings of a graph share their eigenvectors. k-means starts at the rows that QR
    with pivoting puts first, which is as good as several random starts.

    Time O(n²) for n rows; silhouettes of data without groups are computed of 1,000 rows at most.

    References
    ----------
    A. Damle, V. Minden and L. Ying, "Simple, direct, and efficient multi-way spectral clustering",
    Information and Inference 8, 2019.

    R. Tibshirani, G. Walther and T. Hastie, "Estimating the number of clusters in a data set via
    the gap statistic", Journal of the Royal Statistical Society B 63, 2001.
    """
    numbers = _first_tried(len(views.X))
    if not numbers:
        return NumberOfGroups(1)
    if len(views.X) > MANY_ROWS:
        spaces = None
        rows = sampled_rows(folds, len(views.X), seed)
        views = Views(views.X[rows], seed)
        folds = [Fold(*(part.subset(rows) for part in fold)) for fold in folds]
    n_different = n_different_rows(views.X, numbers[-1])
    if n_different < FEWEST:
        return NumberOfGroups(1, CERTAINTY[0])
    numbers = [k for k in numbers if k <= n_different]
    unconstrained: UnconstrainedNumbers
    by_features: NumberOfGroups
    unconstrained, by_features = views.once(
        ("number of groups", seed), lambda: _by_features(views, numbers, seed, step)
    )
    if not folds:
        return by_features
    held_out = HeldOutNumbers(unconstrained, unconstrained.weighted(folds), spaces)
    if spaces is not None:
        numbers = _first_tried(len(views.X), len(views.X) - 1)
    scores = held_out.scores
    by_answers = _best(held_out.log_likelihood, numbers, step, scores.smallest_near_best)
    lead = scores.largest - held_out.log_likelihood(by_features.n_clusters)
    chosen = NumberOfGroups(by_answers) if lead >= LEAST_LEAD else by_features
    return chosen._replace(log_likelihoods=scores.log_likelihoods)


def _by_features(
    views: Views, numbers: Sequence[int], seed: int, step: Step
) -> tuple[UnconstrainedNumbers, NumberOfGroups]:
    """Choose the number of the largest silhouette; also return the clusterings so far."""
    unconstrained = UnconstrainedNumbers(views, numbers[-1], seed)
    largest = _best(unconstrained.silhouette, numbers, step)
    certainty = certainty_of_groups(unconstrained, largest, seed)
    chosen = NumberOfGroups(largest if certainty == 1 else FEWEST, certainty)
    unconstrained.keep_judges()
    return unconstrained, chosen


def best_log_likelihood(views: Views, folds: Sequence[Fold], seed: int) -> float:
    """Return the largest held-out log-likelihood of all numbers of groups.

    Parameters
    ----------
    views : Views
        Features and graphs, of 5,000 rows at most.
    folds : sequence of Fold
        Answers.
    seed : int
        Seed of eigenvectors.

    Returns
    -------
    float
        Of Ward's linkage, spectral clustering, and spectral clustering that follows the training
        answers, with 2 to 100 groups.
    """
    numbers = [k for k in _first_tried(len(views.X)) if k <= n_different_rows(views.X, MOST)]
    if not numbers:
        return -np.inf
    held_out = HeldOutNumbers(UnconstrainedNumbers(views, numbers[-1], seed), folds)
    return held_out.log_likelihood(_best(held_out.log_likelihood, numbers, no_step))


def max_steps(n_samples: int, n_folds: int) -> int:
    """Return how many numbers may be tried; with answers, each counts twice."""
    return (len(_first_tried(n_samples)) + MAX_TRIED_BETWEEN) * (2 if n_folds else 1)


def sampled_rows(folds: Sequence[Fold], n_rows: int, seed: int) -> NDArray[np.int64]:
    """Sample 5,000 rows: those that random answers name, then any.

    Parameters
    ----------
    folds : sequence of Fold
        All answers; may be empty.
    n_rows : int
        Number of rows.
    seed : int
        Seed of the sample.

    Returns
    -------
    ndarray of shape (5_000,)
        Ascending.
    """
    random = np.random.RandomState(seed)
    candidates = [random.permutation(n_rows)]
    if folds:
        tables = informative_tables(folds[0].kept + folds[0].held, with_dont_know_pairs=False)
        named = [table.rows[:, [0, 1, -1]] for table in tables]  # pairs repeat their second row
        candidates.insert(0, random.permutation(np.concatenate(named)).ravel())
    rows, first = np.unique(np.concatenate(candidates), return_index=True)
    return np.sort(rows[np.argsort(first)[:MANY_ROWS]])


def _first_tried(n_samples: int, most: int | None = None) -> list[int]:
    """Return the numbers that are tried first; none if there are fewer than 4 rows."""
    most = min(MOST, n_samples // 2) if most is None else most
    numbers = np.round(FEWEST * RATIO ** np.arange(40))
    return np.unique(np.minimum(numbers, most)).astype(int).tolist() if most >= FEWEST else []


def _best(
    score: Callable[[int], float],
    numbers: Sequence[int],
    step: Step,
    chosen: Callable[[Mapping[int, float]], int] = highest,
) -> int:
    """Score numbers, then those around the chosen one, and choose again."""
    scores: dict[int, float] = {}

    def best_with(more: Sequence[int]) -> int:
        for k in more:
            if k not in scores:
                scores[k] = score(k)
                step()
        return chosen(scores)

    at = numbers.index(best_with(numbers))
    low, high = numbers[max(at - 1, 0)], numbers[min(at + 1, len(numbers) - 1)]
    between = np.unique(np.round(np.linspace(low, high, MAX_TRIED_BETWEEN + 2)).astype(int))
    return best_with(between.tolist())
