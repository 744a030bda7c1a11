"""Groups without answers: an average of base clusterings, and their number.

Their number is by silhouettes and modularity, or by latent classes in tables of categories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.linalg import svd
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from scipy.special import softmax
from sklearn.metrics import pairwise_distances, silhouette_score

from clew._composition import graph_of
from clew._warnings import silenced, warn
from clew.cluster._kmeans import kmeans
from clew.cluster.guided._cuts import Cuts, ward_of
from clew.cluster.guided._features import N_NEIGHBORS, Floats, Prepared
from clew.cluster.guided._latent_classes import (
    LEAST_DIFFERENT,
    LEAST_ROWS,
    MAX_VALUES,
    evidence_of_numbers,
)
from clew.cluster.guided._partitions import Labels, renumbered
from clew.cluster.spectral import SpectralClustering
from clew.exceptions import FewerGroupsWarning, NoGroupsWarning
from clew.similarity import AdaptiveKNN

#: The numbers 2, 3, 4, 6, 8, ... up to `MOST` are tried first, then those around the best of them.
MOST, RATIO, MAX_TRIED_BETWEEN = 100, 1.4, 6
#: Silhouettes are means over at most this number of rows.
SAMPLE_ROWS = 1_000
#: Silhouettes of groups of fewer rows than this are large in random data too: those are subtracted.
FEW_ROWS_A_GROUP = 10
N_INIT = 5
#: n rows have groups if their score (silhouette times modularity) is 1.2 times that of data without
#: groups, or, in nats, 1.5/√n if that is more. From `CLEAR_NATS` on, no further data are drawn.
LEAST_NATS, NATS_OF_ONE_ROW, CLEAR_NATS = 0.2, 1.5, 0.7
#: Scores below this are none.
LEAST_SCORE = 1e-3
#: Gap between the silhouettes of a clustering and of data without groups from which it is clear.
CLEAR_GAP = 0.2
#: Exponent of ``1 - 1/k``, the largest modularity of k groups, which the modularity is divided by.
MODULARITY_OF_FEW = 0.25
#: The number of groups is that of the largest silhouette if it exceeds those of data without groups
#: by so much.
WIDE_GAP = 0.28
#: If the silhouette of one clustering exceeds that of data without groups by `CLEAR_GAP`, others
#: whose silhouette is lower by so much are left out.
CLEAR_LEAD = 0.1
#: A clustering does not count as the best if it has a larger share than `MOST_TINY` of groups of
#: fewer rows than `LEAST_OF_GROUP`, or a group with a larger share of the rows than `MOST_OF_ROWS`.
LEAST_OF_GROUP, MOST_TINY, MOST_OF_ROWS = 3, 0.1, 0.9
#: A clustering is left out if another has a larger silhouette, and a modularity so many times its.
BETTER_MODULARITY = 1.02
#: Less is that of normal columns.
LEAST_SKEWNESS = 0.05
#: Number of draws of data without groups: for up to `FEW_ROWS` rows, and for more.
N_DRAWS, N_DRAWS_OF_MANY, FEW_ROWS = 10, 3, 300
#: Groups are clear if their score exceeds that of data without by so many nats.
SURE_NATS = 1.0
#: Factors that shrink probabilities to ``1 / n_clusters`` for data without groups.
CERTAINTY = (0.05, 0.5)
#: Differences of silhouettes that change the probability of a number of groups e-fold.
SILHOUETTE_SCALE = 0.01


class Unconstrained(NamedTuple):
    """Groups of rows by features alone."""

    labels: Labels
    probabilities: Floats
    """(n_samples, n_clusters)"""
    numbers: Mapping[int, float]
    """Probability of each number of groups; empty if it was given."""
    members: Mapping[str, float]
    """Agreement of each base clustering with the groups (Rand index of pairs of rows)."""
    are_groups: bool
    """Whether there are groups at all."""
    lead: float = 0.0
    """Nats by which the score of the groups exceeds that of data without; 0 if not compared."""

    @property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def clear(self) -> Labels | None:
        """The groups, if they are so clear that to join two of them has a cost."""
        return self.labels if self.lead >= SURE_NATS else None


def groups_without_answers(
    prepared: Prepared,
    n_clusters: int | None,
    seed: int,
    members: Mapping[str, Callable[[], Labels]] | None = None,
    step: Callable[[], None] = lambda: None,
) -> Unconstrained:
    """Average base clusterings: those of the default pool, or a user's `members`."""
    certainty, lead = 1.0, 0.0
    numbers: Mapping[int, float] = {}
    if n_clusters is None:
        n_clusters, numbers, certainty, lead = _number_of_groups(prepared, seed)
    else:
        n_clusters = n_different_rows(prepared, n_clusters)
    labels = {}
    classes = None if members is not None else _latent_classes(prepared, n_clusters, seed)
    if classes is not None:
        group, probabilities = np.asarray(classes.argmax(axis=1), np.int64), classes
        labels["latent classes"] = group
        step()
    else:
        are_own = members is None
        members = members or _default_members(prepared, n_clusters, seed)
        with silenced():
            for name, make in members.items():
                labels[name] = renumbered(make())
                step()
        if are_own and 1 < n_clusters < len(prepared.X):
            labels = _clear(labels, prepared, n_clusters, seed)
        group, probabilities = _averaged([*labels.values()], n_clusters)
    present = np.unique(group)
    probabilities = probabilities[:, present] / probabilities[:, present].sum(axis=1, keepdims=True)
    group = renumbered(group)
    order = np.argsort([int(np.argmax(group == k)) for k in range(len(present))])
    probabilities = certainty * probabilities[:, order] + (1 - certainty) / len(present)
    share = {name: float((_pairs(one) == _pairs(group)).mean()) for name, one in labels.items()}
    group = np.argsort(order)[group]
    return Unconstrained(group, probabilities, numbers, share, certainty == 1.0, lead)


def _latent_classes(prepared: Prepared, n_clusters: int, seed: int) -> Floats | None:
    """Return memberships if rows are read as categories and there are as many classes."""
    if n_clusters == 1 or (categories := prepared.categories) is None:
        return None
    starts = Cuts(prepared.X, prepared.tree, seed)(n_clusters)
    memberships, _ = categories.best_classes(starts)
    is_complete = len(np.unique(memberships.argmax(axis=1))) == n_clusters
    return memberships if is_complete else None


def _clear(
    labels: dict[str, Labels], prepared: Prepared, n_clusters: int, seed: int
) -> dict[str, Labels]:
    """Leave out clusterings that split or join what another one shows to be clearly apart.

    One large group beside many small ones is split by most of them.
    """
    cuts = Cuts(prepared.X, prepared.tree, seed)
    silhouette = _Silhouettes(cuts, prepared.distances, prepared.graph)
    scores = {name: silhouette.of(one) for name, one in labels.items()}
    modular = {name: silhouette.modularity(one) for name, one in labels.items()}
    counts = [name for name, one in labels.items() if not _are_outliers(one)]
    labels = {
        name: labels[name]
        for name, score in scores.items()
        if not any(
            scores[other] > score and modular[other] > BETTER_MODULARITY * modular[name]
            for other in counts
        )
    }
    scores = {name: scores[name] for name in labels}
    average = renumbered(fcluster(_average_linkage(prepared), n_clusters, "maxclust"))
    if silhouette.of(average) > max(scores.values()) + CLEAR_LEAD and not _are_outliers(average):
        labels = {"average linkage": average, **labels}
        scores["average linkage"] = silhouette.of(average)
    whole = [scores[name] for name, one in labels.items() if not _are_outliers(one)]
    best = max(whole, default=-1.0)
    if min(scores.values()) > best - CLEAR_LEAD:
        return labels
    if not silhouette.exceeds(n_clusters, best, CLEAR_GAP):
        return labels
    return {name: one for name, one in labels.items() if scores[name] > best - CLEAR_LEAD}


def _average_linkage(prepared: Prepared) -> Floats:
    if prepared.distances is None:
        of_pairs = pdist(prepared.X)
    else:
        of_pairs = squareform(np.asarray(prepared.distances, np.float64), checks=False)
    return np.asarray(linkage(of_pairs, "average"))


def _are_outliers(labels: Labels) -> bool:
    """Whether a few rows are apart from all others: their silhouette is large too."""
    size = np.bincount(labels)
    is_tiny = size < LEAST_OF_GROUP
    return bool(is_tiny.mean() > MOST_TINY or size.max() > MOST_OF_ROWS * size.sum())


def _averaged(partitions: Sequence[Labels], n_clusters: int) -> tuple[Labels, Floats]:
    group = _agreed(partitions, n_clusters)
    onehot = np.eye(int(group.max()) + 1)[group]
    total = sum((_translated(one, onehot) for one in partitions), start=np.zeros(onehot.shape))
    probabilities = total / len(partitions)
    is_other = probabilities.argmax(axis=1) != group
    probabilities[is_other] = (probabilities[is_other] + onehot[is_other]) / 2
    return np.asarray(probabilities.argmax(axis=1), np.int64), probabilities


def n_different_rows(prepared: Prepared, n_clusters: int) -> int:
    """Count the different rows, up to `n_clusters`; warn if there are fewer."""
    X, distances, n_rows = prepared.X, prepared.distances, max(SAMPLE_ROWS, n_clusters)
    if distances is not None:
        is_first = (not (row[:at] == 0).any() for at, row in enumerate(distances))
        n_different = sum(1 for _ in islice(filter(None, is_first), n_clusters))
    else:
        n_different = len(np.unique(X[:n_rows], axis=0))
        while n_different < n_clusters and n_rows < len(X):
            n_rows *= 4
            n_different = len(np.unique(X[:n_rows], axis=0))
    if n_different < n_clusters:
        few = f"there are only {n_different} different rows"
        few = "all rows are equal" if n_different == 1 else few
        warn(f"GuidedClustering(n_clusters={n_clusters}): {few}", FewerGroupsWarning)
    return min(n_different, n_clusters)


def _default_members(
    prepared: Prepared, n_clusters: int, seed: int
) -> dict[str, Callable[[], Labels]]:
    cut: Any = SpectralClustering(n_clusters, n_neighbors=None, n_init=N_INIT, random_state=seed)
    members: dict[str, Callable[[], Labels]] = {
        "ward": lambda: renumbered(fcluster(prepared.tree, n_clusters, "maxclust")),
        "k-means": lambda: kmeans(prepared.X, n_clusters, n_init=N_INIT, random_state=seed).labels,
    }
    if 1 < n_clusters < len(prepared.X) - 1:
        members |= {
            "10 neighbors": lambda: cut.fit_predict(prepared.neighbors(10)),
            "20 neighbors": lambda: cut.fit_predict(prepared.neighbors(20)),
            "forest": lambda: cut.fit_predict(prepared.forest_neighbors(20)),
        }
    return members


def _agreed(partitions: Sequence[Labels], n_clusters: int) -> Labels:
    """Cut the tree of the share of partitions that put two rows together."""
    n = len(partitions[0])
    if n == 1 or n_clusters == 1:
        return np.zeros(n, np.int64)
    apart = np.zeros(n * (n - 1) // 2)
    for one in partitions:
        apart += squareform(one[:, None] != one, checks=False)
    tree = linkage(apart / len(partitions), "ward")
    tree[:, 2] += 1e-9 * np.arange(len(tree))  # so that ties can be cut
    return renumbered(fcluster(tree, n_clusters, "maxclust"))


def _translated(labels: Labels, onehot: Floats) -> Floats:
    """Shares of the groups among the rows of each row's own group, (n_samples, n_clusters)."""
    own = np.eye(int(labels.max()) + 1)[labels]
    shared = own.T @ onehot
    return np.asarray((shared / shared.sum(axis=1, keepdims=True))[labels])


def _pairs(labels: Labels) -> NDArray[np.bool_]:
    sample = labels[:: max(1, len(labels) // SAMPLE_ROWS)]
    return np.asarray(sample[:, None] == sample)


def _number_of_groups(prepared: Prepared, seed: int) -> tuple[int, dict[int, float], float, float]:
    """Find the best number of groups, scores of others, how sure groups are, and their lead.

    Silhouettes are compared with those of uniform samples (Tibshirani, Walther and Hastie, JRSS B
    2001), and normal ones.
    """
    n = len(prepared.X)
    if n < 4:
        return 1, {1: 1.0}, 1.0, 0.0
    n_different = len(np.unique(prepared.X, axis=0))
    most = min(MOST, n // 2, n_different)
    if most < 2:
        _warn_of_no_groups("all rows are equal")
        return 1, {1: 1.0}, CERTAINTY[0], 0.0
    numbers = np.unique(np.minimum(np.round(2 * RATIO ** np.arange(40)), most)).astype(int).tolist()
    cuts = Cuts(prepared.X, prepared.tree, seed)
    if (categories := prepared.categories) is not None:
        scores = evidence_of_numbers(categories, [1, *numbers], cuts)
        scores |= evidence_of_numbers(categories, _between(scores, most), cuts)
        best = max(scores, key=lambda k: scores[k])
        certainty, scale, lead = CERTAINTY[0] if best == 1 else 1.0, 1.0, 0.0
    else:
        if prepared.distances is None and MAX_VALUES < n_different < LEAST_DIFFERENT * n:
            # The silhouette of equal rows is 1 in a group of their own.
            is_jittered = prepared.jittered is not prepared.X
            rows = prepared.jittered if is_jittered else np.unique(prepared.X, axis=0)
            cuts = Cuts(rows, ward_of(rows), seed)
        graph = prepared.graph
        if len(cuts.X) < n:
            graph = graph_of(AdaptiveKNN().fit(cuts.X), len(cuts.X), N_NEIGHBORS)
        silhouette = _Silhouettes(cuts, prepared.distances, graph)
        found = silhouette.of_numbers(numbers, most)
        scores = {k: of.silhouette for k, of in found.items()}
        best = max(scores, key=lambda k: scores[k])
        if best * FEW_ROWS_A_GROUP > len(silhouette.rows):
            drawn = next(_without_groups(silhouette.rows, seed))
            of_drawn = _Silhouettes(Cuts(drawn, ward_of(drawn), seed), None)
            scores = {k: scores[k] - of_drawn(k).silhouette for k in scores}
            best = max(scores, key=lambda k: scores[k])
        joint = {k: of.joint for k, of in found.items()}
        of_joint = max(joint, key=lambda k: joint[k])
        certainty, lead = _certainty(silhouette, of_joint, joint[of_joint], seed)
        scale = SILHOUETTE_SCALE
        if not silhouette.exceeds(best, found[best].silhouette, WIDE_GAP):
            best, scores = of_joint, joint
    if certainty < 1:
        _warn_of_no_groups(
            "features look like data without groups; the 2 groups of the result have low "
            "probabilities"
        )
        return 2, {1: 1 - certainty, 2: certainty}, certainty, lead
    share = softmax(np.array([*scores.values()]) / scale)
    return best, dict(sorted(zip(scores, share.tolist(), strict=True))), certainty, lead


def _between(scores: Mapping[int, float], most: int) -> list[int]:
    """Numbers around the best one that have no score, in increasing order."""
    numbers = sorted(scores)
    at = numbers.index(max(scores, key=lambda k: scores[k]))
    low, high = numbers[max(at - 1, 0)], numbers[min(at + 1, len(numbers) - 1)]
    between = np.round(np.linspace(low, high, MAX_TRIED_BETWEEN + 2)).astype(int).tolist()
    return sorted({*between} - scores.keys())


class _Score(NamedTuple):
    """How good the groups of a number are."""

    silhouette: float = -1.0
    joint: float = -1.0
    """Silhouette times the modularity in the graph of neighbors; large silhouettes are also those
    of two groups of many, large modularities those of large groups cut into pieces."""


class _Silhouettes:
    """Mean silhouettes of cuts, by number of groups, and their modularities."""

    def __init__(self, cuts: Cuts, distances: Any, graph: csr_array | None = None) -> None:
        n = len(cuts.X)
        chosen = np.arange(n)
        if n > SAMPLE_ROWS:
            chosen = np.random.RandomState(cuts.seed).choice(n, SAMPLE_ROWS, replace=False)
        self.rows, self._chosen, self._cuts, self._graph = cuts.X[chosen], chosen, cuts, graph
        self.is_sample = len(chosen) < n
        self._distances = (
            pairwise_distances(self.rows)
            if distances is None
            else np.asarray(distances[np.ix_(chosen, chosen)], np.float64)
        )
        np.fill_diagonal(self._distances, 0.0)

    def of_numbers(self, numbers: Sequence[int], most: int) -> dict[int, _Score]:
        """Score numbers of groups, and those between the neighbors of the best two."""
        found = {k: self(k, with_outliers=False) for k in numbers}
        for at in range(len(_Score._fields)):
            between = _between({k: of[at] for k, of in found.items()}, most)
            found |= {k: self(k, with_outliers=False) for k in between}
        return found

    def __call__(self, n_clusters: int, *, with_outliers: bool = True) -> _Score:
        cuts = (one for one in self._cuts(n_clusters) if with_outliers or not _are_outliers(one))
        every = [(self.of(one), self.modularity(one)) for one in cuts]
        if not every:
            return _Score()
        joint = [max(silhouette, 0.0) * modularity for silhouette, modularity in every]
        return _Score(
            max(silhouette for silhouette, _ in every),
            max(joint) / (1 - 1 / n_clusters) ** MODULARITY_OF_FEW,
        )

    def of(self, labels: Labels) -> float:
        """Return the mean silhouette of one clustering, -1 of one group."""
        own = labels[self._chosen]
        if not 1 < len(np.unique(own)) < len(own):
            return -1.0
        return float(silhouette_score(self._distances, own, metric="precomputed"))

    def exceeds(self, n_clusters: int, silhouette: float, by: float) -> bool:
        """Whether a silhouette exceeds those of data without groups by so much."""
        every = islice(_without_groups(self.rows, self._cuts.seed), 2)
        of_drawn = (_Silhouettes(Cuts(one, ward_of(one), self._cuts.seed), None) for one in every)
        return all(silhouette >= one(n_clusters).silhouette + by for one in of_drawn)

    def modularity(self, labels: Labels) -> float:
        """Share of the affinity within groups, less what their sizes let expect (Newman)."""
        if self._graph is None:
            return 1.0
        of_group = np.eye(int(labels.max()) + 1)[labels]
        degree, linked = self._graph.sum(axis=1), self._graph @ of_group
        total = degree.sum()
        return float((of_group * linked).sum() / total - ((degree @ of_group / total) ** 2).sum())


def _certainty(
    silhouette: _Silhouettes, n_clusters: int, score: float, seed: int
) -> tuple[float, float]:
    """How sure the groups are: 1, or in [.05, .5]; and the lead of their score, in nats.

    The joint score is compared with those of data without groups.
    """
    rows = silhouette.rows
    if len(rows) < LEAST_ROWS:  # too few for a test
        return 1.0, 0.0
    if silhouette.is_sample:  # modularity falls with fewer rows
        score = _of_rows(rows, seed)(n_clusters, with_outliers=False).joint
    score = max(score, LEAST_SCORE)
    gaps, least = np.zeros(3), max(LEAST_NATS, NATS_OF_ONE_ROW / np.sqrt(len(rows)))
    n_draws = N_DRAWS if len(rows) <= FEW_ROWS else N_DRAWS_OF_MANY
    drawn = _without_groups(rows, seed)
    for at in range(1, n_draws + 1):
        of_drawn = [_of_rows(next(drawn), seed)(n_clusters).joint for _ in gaps]
        gaps += np.log(score / np.maximum(of_drawn, LEAST_SCORE))
        gap = float(gaps.min()) / at
        if not 0.0 <= gap <= CLEAR_NATS:
            break
    return float(np.interp(gap, (0.0, least), CERTAINTY)) if gap < least else 1.0, gap


def _of_rows(rows: Floats, seed: int) -> _Silhouettes:
    """Silhouettes and modularities of rows that have no tree and no graph yet."""
    graph = graph_of(AdaptiveKNN().fit(rows), len(rows), N_NEIGHBORS)
    return _Silhouettes(Cuts(rows, ward_of(rows), seed), None, graph)


def _without_groups(X: Floats, seed: int) -> Iterator[Floats]:
    """Draw rows without groups, by turns uniform, normal, and skewed.

    The first two span the same space. Columns of the last are independent, with the same skewness:
    the long tails of independent columns look like groups.
    """
    components, size, _ = svd(X - X.mean(axis=0), full_matrices=False, check_finite=False)
    components *= size
    sd = X.std(axis=0)
    third = ((X - X.mean(axis=0)) ** 3).mean(axis=0)
    skewness = np.divide(third, sd**3, out=np.zeros_like(sd), where=sd > 0)
    shape = 4 / np.maximum(np.abs(skewness), LEAST_SKEWNESS) ** 2
    random = np.random.RandomState(seed)
    while True:
        yield random.uniform(components.min(axis=0), components.max(axis=0), components.shape)
        yield random.normal(scale=components.std(axis=0), size=components.shape)
        gamma = random.gamma(shape, size=X.shape)
        yield np.sign(skewness) * (gamma - shape) / np.sqrt(shape) * sd


def _warn_of_no_groups(why: str) -> None:
    warn(
        f"GuidedClustering(n_clusters=None) found no groups: {why}. Use other features, "
        "add answers, or give n_clusters",
        NoGroupsWarning,
    )
