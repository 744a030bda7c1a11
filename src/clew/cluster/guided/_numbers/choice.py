"""The number of groups, chosen by silhouettes and held-out answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clew._limits import MANY_ROWS
from clew.cluster.guided._answers.spaces import Spaces
from clew.cluster.guided._ensemble.ensemble import Fold, held_out_log_likelihood_of_one_group
from clew.cluster.guided._ensemble.progress import Step, no_step
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._numbers.certainty import CERTAINTY, certainty_of_groups
from clew.cluster.guided._numbers.held_out import (
    HeldOutNumbers,
    NumberScores,
    clusterings_in_spaces,
)
from clew.cluster.guided._numbers.number import NumberOfGroups
from clew.cluster.guided._numbers.rows import n_different_rows, sampled_rows
from clew.cluster.guided._numbers.search import (
    FEWEST,
    MOST,
    best_number,
    first_tried,
    larger_numbers,
)
from clew.cluster.guided._numbers.unconstrained import UnconstrainedNumbers

__all__ = ["best_log_likelihood", "choose_n_clusters", "number_in_spaces"]

#: Answers replace the number with the largest silhouette if another number has a held-out
#: log-likelihood that is higher by this much. With random answers, the largest of many
#: log-likelihoods exceeds the others by less.
LEAST_LEAD = 4.0


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
        Folds of the answers; empty if there are no answers.
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
    number with the largest mean silhouette is chosen, if that silhouette exceeds those of data
    without groups, in as many clusters, by .03 (by .7/√n for n < 544 rows). Data without groups
    are uniform samples with the ranges of the principal components, as in the gap statistic
    (Tibshirani, Walther and Hastie), and normal samples with their variances. If the test fails,
    the number is 2, and the difference of the silhouettes determines the certainty.

    With answers, spectral clusterings that follow the training answers are added, and the number
    with the largest held-out log-likelihood is chosen if it exceeds that of the first number by 4.
    Answers are weighted by the error rate of their annotator, estimated from the clusterings that
    use no answers.

    A strategy asks about pairs at borders of groups, and hardly about rows that are surely
    together. Splitting such rows hardly lowers the likelihood of asked answers (`origin`), so
    numbers of groups that are too large come near the largest log-likelihood. Therefore the
    smallest number is chosen whose log-likelihood is within .75 standard errors of the largest. The
    standard error is that of the difference, summed over asked answers only; if there are none, the
    number with the largest log-likelihood is chosen. In `probabilities`, the largest log-likelihood
    counts for the chosen number.

    2 to 100 groups are tried. If answers choose the largest of these, Ward's linkage is cut into
    up to a fifth as many groups as there are rows; spectral clustering would take too long.

    If there are more than 5,000 rows, 5,000 are used: those in answers to random questions first,
    then random ones. All spectral clusterings of a graph share their eigenvectors. k-means starts
    at the rows that QR with pivoting puts first, which is as good as several random starts.

    Time O(n²) for n rows; silhouettes of data without groups are computed from 1,000 rows at most.

    References
    ----------
    A. Damle, V. Minden and L. Ying, "Simple, direct, and efficient multi-way spectral clustering",
    Information and Inference 8, 2019.

    R. Tibshirani, G. Walther and T. Hastie, "Estimating the number of clusters in a data set via
    the gap statistic", Journal of the Royal Statistical Society B 63, 2001.
    """
    numbers = first_tried(len(views.X))
    if not numbers:
        return NumberOfGroups(1)
    if len(views.X) > MANY_ROWS:
        spaces = None
        rows = sampled_rows(folds, len(views.X), seed)
        views = views.of_rows(rows, seed)
        folds = [Fold(*(part.subset(rows) for part in fold)) for fold in folds]
    n_different = n_different_rows(views.X, numbers[-1], views.distances)
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
        numbers = first_tried(len(views.X), len(views.X) - 1)
    scores = held_out.scores
    by_answers = best_number(held_out.log_likelihood, numbers, step, scores.smallest_near_best)
    if spaces is None and numbers[-1] == MOST and by_answers > numbers[-2]:
        n_different = n_different_rows(views.X, len(views.X), views.distances)
        numbers = numbers + larger_numbers(n_different)
        by_answers = best_number(held_out.log_likelihood, numbers, step, scores.smallest_near_best)
    largest = scores.largest
    lead = largest - held_out.log_likelihood(by_features.n_clusters)
    chosen = NumberOfGroups(by_answers) if lead >= LEAST_LEAD else by_features
    return chosen._replace(log_likelihoods=scores.log_likelihoods | {by_answers: largest})


def _by_features(
    views: Views, numbers: Sequence[int], seed: int, step: Step
) -> tuple[UnconstrainedNumbers, NumberOfGroups]:
    """Choose the number with the largest silhouette; also return the clusterings so far."""
    unconstrained = UnconstrainedNumbers(views, numbers[-1], seed)
    largest = best_number(unconstrained.silhouette, numbers, step)
    certainty = certainty_of_groups(unconstrained, largest, seed)
    chosen = NumberOfGroups(largest if certainty == 1 else FEWEST, certainty)
    unconstrained.keep_judges()
    return unconstrained, chosen


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
        From 2 to the number of rows minus 1.
    """
    n_samples = folds[0].kept.n_samples
    numbers = first_tried(n_samples, n_samples - 1)
    if not numbers:
        return NumberOfGroups(1)
    scores = NumberScores(folds)

    def log_likelihood(n_clusters: int) -> float:
        return scores.add(n_clusters, clusterings_in_spaces(spaces, n_clusters, len(folds)))

    best = best_number(log_likelihood, numbers, step, scores.smallest_near_best)
    return NumberOfGroups(best, 1.0, scores.log_likelihoods | {best: scores.largest})


def best_log_likelihood(views: Views, folds: Sequence[Fold], seed: int) -> float:
    """Return the largest held-out log-likelihood of all numbers of groups.

    Parameters
    ----------
    views : Views
        Features and graphs.
    folds : sequence of Fold
        Answers.
    seed : int
        Seed of eigenvectors.

    Returns
    -------
    float
        The largest value among Ward's linkage, spectral clustering, and spectral clustering that
        follows the training answers, with 2 to 100 groups. Above 5,000 rows, the value of a
        single group of all rows.
    """
    if len(views.X) > MANY_ROWS:
        return held_out_log_likelihood_of_one_group(folds)[0]
    n_different = n_different_rows(views.X, MOST, views.distances)
    numbers = [k for k in first_tried(len(views.X)) if k <= n_different]
    if not numbers:
        return -np.inf
    held_out = HeldOutNumbers(UnconstrainedNumbers(views, numbers[-1], seed), folds)
    return held_out.log_likelihood(best_number(held_out.log_likelihood, numbers, no_step))
