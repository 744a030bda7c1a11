"""Clusterings that follow answers alone, and when they are worth fitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from clew._limits import MANY_ROWS
from clew._warnings import silenced
from clew.cluster.correlation.correlation_clustering import CorrelationClustering
from clew.cluster.guided._answers.group_model import groups_of_answers
from clew.cluster.guided._answers.spaces import SPACES, Space, Spaces, SpaceScore, about_three_rows
from clew.cluster.guided._ensemble.ensemble import (
    TEMPER,
    Clustering,
    Ensemble,
    Fold,
    Labels,
    as_labels,
    held_out_log_likelihood,
)
from clew.cluster.guided._ensemble.folds import Answers
from clew.cluster.guided._ensemble.weighted_consensus import Consensus, consensus_of
from clew.cluster.guided._members.members import BEST_PRIOR
from clew.constraints import Constraints

__all__ = [
    "ALONE",
    "CORRELATION",
    "MAX_MEMBERS",
    "are_answers_dense",
    "are_pairs_foremost",
    "blended_with_spaces",
    "follows_answers_alone",
    "members_of_answers",
    "spaces_worth_fitting",
]

Floats = NDArray[np.float64]

#: Largest number of members that follow answers alone: two in each of three spaces, and two more.
MAX_MEMBERS = 8
ALONE, CORRELATION = "groups of answers", "correlation clustering"
#: Answers alone can form groups if there are this many different questions for each row on average.
LEAST_DEGREE = 3.0
#: With fewer answers about three rows, spaces are not compared with groups.
FEWEST_ANSWERS = 10
#: A space must raise the held-out log-likelihood of answers about three rows by this much over
#: the best partition.
LEAST_LEAD = 4.0
#: Spaces that predict fewer held-out answers by more than one standard error get less weight.
LEAST_SPACE_WEIGHT = 0.1
N_STARTS = 3
SO_FAR = "groups of features and answers"
GRADED = "groups with dissimilarities"


def are_answers_dense(known: Constraints) -> bool:
    """Whether there are enough answers to form groups without features."""
    pairs, *three = known.tables
    is_definite = (pairs.answers >= 0) & (pairs.weights > 0)
    n_asked = 2 * len(np.unique(np.sort(pairs.rows[is_definite], axis=1), axis=0))
    n_asked += 3 * sum(int(((table.answers >= 0) & (table.weights > 0)).sum()) for table in three)
    return n_asked >= LEAST_DEGREE * known.n_samples


def spaces_worth_fitting(X: Floats | None, answers: Answers, seed: int) -> Spaces | None:
    """Return spaces of the answers; None if there are too few answers or too many rows.

    Parameters
    ----------
    X : ndarray or None
        Features, if there are any. Without features, spaces are always worth it.
    answers : Answers
        The answers.
    seed : int
        Seed of the spaces.

    Returns
    -------
    Spaces or None
    """
    known = answers.known
    if not answers.folds:
        return None
    if X is not None and (known.n_samples >= MANY_ROWS or not are_answers_dense(known)):
        return None
    return Spaces(X, known, answers.folds, seed)


def are_pairs_foremost(known: Constraints) -> bool:
    """Whether most answers other than don't-know are about pairs."""
    n_pairs, *n_three = (float(table.weights[table.answers >= 0].sum()) for table in known.tables)
    return n_pairs > sum(n_three)


def members_of_answers(
    spaces: Spaces, answers: Answers, n_clusters: int, seed: int
) -> list[Clustering]:
    """Return the clusterings that follow answers alone, or mainly.

    Parameters
    ----------
    spaces : Spaces
        Spaces of the same answers.
    answers : Answers
        The answers.
    n_clusters : int
        Number of groups.
    seed : int
        Seed of the search.

    Returns
    -------
    list of Clustering
        k-means and Ward's linkage in the spaces. If most answers are about pairs, also belief
        propagation and correlation clustering. From answers about three rows these two would make
        fewer and larger groups than wanted, because groups imply no answer to questions about rows
        of three groups.
    """
    found = spaces.members(n_clusters)
    if are_pairs_foremost(answers.known):
        alone = partial(_alone, spaces, answers, n_clusters, seed)
        found.append(Clustering(ALONE, alone, BEST_PRIOR))
        found.append(Clustering(CORRELATION, partial(_correlation, answers, n_clusters, seed)))
    return found


def follows_answers_alone(name: str) -> bool:
    """Whether a member of this name uses no features."""
    alone = [space.name for space in SPACES if space.features is None]
    return name in (ALONE, CORRELATION) or name.startswith(tuple(f"{of}, " for of in alone))


def _alone(
    spaces: Spaces, answers: Answers, n_clusters: int, seed: int, fold: int | None
) -> Labels | Floats:
    known = answers.known if fold is None else answers.folds[fold].kept
    start = spaces.kmeans(SPACES[0], n_clusters, seed, fold)
    return groups_of_answers(known, n_clusters, seed, start)


def _correlation(answers: Answers, n_clusters: int, seed: int, fold: int | None) -> Labels:
    known = answers.known if fold is None else answers.folds[fold].kept
    model = CorrelationClustering(n_clusters, random_state=seed)
    with silenced():  # held-out answers judge the result
        return model.fit(constraints=known.as_pairs()).labels_


def blended_with_spaces(
    spaces: Spaces,
    so_far: Consensus,
    first: Consensus,
    answers: Answers,
    n_clusters: int,
    seed: int,
) -> tuple[Consensus, float, Space] | None:
    """Combine the result with clusterings of graded answers, if these explain answers better.

    Answers about three rows are often graded: their probabilities follow from distances, and
    groups explain them badly. Distances are those of a space, or while answers are few, mean
    dissimilarities of the rows' groups.

    Parameters
    ----------
    spaces : Spaces
        Spaces of the same answers.
    so_far : Consensus
        The last consensus of features and answers.
    first : Consensus
        The consensus of the members; they are compared with the spaces, too.
    answers : Answers
        The answers.
    n_clusters : int
        Number of groups.
    seed : int
        Seed of the consensus.

    Returns
    -------
    consensus : Consensus
        The blend.
    share : float
        Weight of the clusterings of graded answers in it, in [0, 1].
    best : Space
        The space that predicts most held-out answers.

    Returns None if neither explains held-out answers clearly better than groups alone.
    """
    folds = [Fold(fold.kept, about_three_rows(fold.held)) for fold in answers.folds]
    n_held = sum(float(table.weights.sum()) for fold in folds for table in fold.held.tables)
    if n_held < FEWEST_ANSWERS or are_pairs_foremost(answers.known):
        return None
    scores = {space: spaces.score(space) for space in spaces.available}
    of_partitions = max(_best_of(one.ensemble, folds) for one in (first, so_far))
    of_spaces = max(score.log_likelihood for score in scores.values())
    has_groups = spaces.has_groups(n_clusters)
    of_groups = spaces.groups_score(n_clusters) if has_groups else -np.inf
    if max(of_spaces, of_groups) - of_partitions < LEAST_LEAD:
        return None
    best = max(scores, key=lambda space: scores[space].accuracy)
    graded = float(expit(TEMPER * (of_groups - of_spaces)))
    share = _share(spaces, best, so_far, folds, n_clusters, seed)
    every, prior = _graded_clusterings(spaces, _space_weights(scores, n_held), n_clusters)
    prior = {name: (1 - graded) * share * weight for name, weight in prior.items()}
    prior[SO_FAR] = (1 - graded) * (1 - share)
    if has_groups:
        every.append(Clustering(GRADED, partial(spaces.divided_groups, n_clusters)))
        prior[GRADED] = graded
    ensemble = Ensemble(
        whole={one.name: one.fitted_to(None) for one in every} | {SO_FAR: so_far.labels},
        of_folds=[
            {one.name: as_labels(one.fitted_to(at)) for one in every}
            | {SO_FAR: so_far.of_folds[at]}
            for at in range(len(folds))
        ],
        scores=dict.fromkeys(prior, np.nan),
        weights={name: w if w > 1e-3 else 0.0 for name, w in prior.items()},
    )
    return consensus_of(ensemble, answers, n_clusters, seed), 1 - prior[SO_FAR], best


def _graded_clusterings(
    spaces: Spaces, weights: Mapping[Space, float], n_clusters: int
) -> tuple[list[Clustering], dict[str, float]]:
    """Return the clusterings of spaces, and their shares of the weight of all spaces."""
    every: list[Clustering] = []
    shares: dict[str, float] = {}
    total = sum(weights.values()) * 2
    for space, weight in weights.items():
        *starts, ward = spaces.clusterings(space, n_clusters, N_STARTS)
        every += [*starts, ward]
        shares |= {one.name: weight / total / len(starts) for one in starts}
        shares[ward.name] = weight / total
    return every, shares


def _best_of(ensemble: Ensemble, folds: Sequence[Fold]) -> float:
    """Return the largest held-out log-likelihood of the members fitted to all folds."""
    names = set.intersection(*(set(of_fold) for of_fold in ensemble.of_folds))
    return max(
        held_out_log_likelihood([of_fold[name] for of_fold in ensemble.of_folds], folds)[0]
        for name in names
    )


def _space_weights(scores: dict[Space, SpaceScore], n_held: float) -> dict[Space, float]:
    """Weigh spaces by accuracy; likelihoods depend on the response model, too."""
    best = max(score.accuracy for score in scores.values())
    error = np.sqrt(0.25 / n_held)
    weights = {
        space: float(np.exp(-max(0.0, (best - score.accuracy) / error - 1)))
        for space, score in scores.items()
    }
    return {space: weight for space, weight in weights.items() if weight >= LEAST_SPACE_WEIGHT}


def _share(
    spaces: Spaces,
    best: Space,
    so_far: Consensus,
    folds: Sequence[Fold],
    n_clusters: int,
    seed: int,
) -> float:
    """Compute the weight of the clusterings of spaces in the result.

    Each row is moved to the center of its group in the best space, once for the groups of the space
    and once for the groups so far. The weight grows with the difference of the log-likelihoods of
    the held-out answers.
    """
    lead = 0.0
    for at, fold in enumerate(folds):
        own = spaces.kmeans(best, n_clusters, seed, at)
        lead += spaces.centered_score(best, own, at, fold.held)
        lead -= spaces.centered_score(best, so_far.of_folds[at], at, fold.held)
    return float(expit(TEMPER * lead))
