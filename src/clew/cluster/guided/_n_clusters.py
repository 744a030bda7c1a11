"""How many groups there are, by how far groups are apart, and by answers held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, ward
from scipy.linalg import qr
from scipy.sparse import csr_array
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.preprocessing import normalize

from clew._limits import MANY_ROWS
from clew.cluster._kmeans import kmeans
from clew.cluster.guided._answer_errors import weighted_folds
from clew.cluster.guided._ensemble import Clustering, Fold, Labels, held_out_log_likelihood
from clew.cluster.guided._progress import Step, no_step
from clew.cluster.guided._views import Views
from clew.cluster.spectral import spectral_embedding
from clew.constraints import Constraints
from clew.similarity import E2CP
from clew.trust.groups._outcomes import informative_tables

__all__ = ["choose_n_clusters", "most_tried", "rows_of_many"]

#: Numbers that are tried first; then those between the best and its neighbours.
FEWEST, MOST, STEP = 2, 100, 1.4
MAX_TRIED_BETWEEN = 6
#: Rows that tell how far groups are apart.
SAMPLE_ROWS = 1_000
#: By how much a number must foretell answers held out better than the one of groups that are
#: farthest apart, as a logarithm: the best of many numbers is ahead by some of that on guesses.
LEAST_LEAD = 4.0


def choose_n_clusters(views: Views, folds: Sequence[Fold], seed: int, step: Step = no_step) -> int:
    """Choose the number of groups.

    Parameters
    ----------
    views : Views
        What there is to read.
    folds : sequence of Fold
        Answers to learn from and answers held out; none where there are no answers.
    seed : int
        Seed of eigenvectors, and of the rows that take part.
    step : callable
        Called after each number that was tried, `most_tried` times at most.

    Returns
    -------
    int

    Notes
    -----
    Without answers, the number of the largest mean silhouette: of Ward's groups and of a spectral
    cut of the neighbours' graph. With answers, another one if these and a cut that is led by
    answers foretell those held out clearly better with it. Annotators count as far as all these
    groups, which saw no answers, have them believed.

    Of many rows 5,000 take part: those that random answers are about, then any.

    All cuts of a graph share their eigenvectors. k-means starts at the rows that QR with pivoting
    puts first: one start is as good as several random ones, and takes half of the time.

    References
    ----------
    A. Damle, V. Minden and L. Ying, "Simple, direct, and efficient multi-way spectral clustering",
    Information and Inference 8, 2019.
    """
    coarse = _coarse(len(views.X))
    if not coarse:
        return 1
    if len(views.X) > MANY_ROWS:
        rows = rows_of_many(folds, len(views.X), seed)
        views = Views(views.X[rows], seed)
        folds = [Fold(*(part.subset(rows) for part in fold)) for fold in folds]
    tried = _Tried(views, coarse[-1], seed)
    apart = _best(tried.silhouette, coarse, step)
    if not folds:
        return apart
    judged = _Judged(tried, tried.believed(folds))
    told = _best(judged.log_likelihood, coarse, step)
    lead = judged.log_likelihood(told) - judged.log_likelihood(apart)
    return told if lead >= LEAST_LEAD else apart


def most_tried(n_samples: int, n_folds: int) -> int:
    """Give the most numbers that are tried, those that answers judge twice."""
    return (len(_coarse(n_samples)) + MAX_TRIED_BETWEEN) * (2 if n_folds else 1)


def rows_of_many(folds: Sequence[Fold], n_rows: int, seed: int) -> NDArray[np.int64]:
    """Choose 5,000 of more rows: those that random answers are about, then any.

    Parameters
    ----------
    folds : sequence of Fold
        All answers, or nothing.
    n_rows : int
        How many rows there are.
    seed : int
        Seed of the choice.

    Returns
    -------
    ndarray of shape (5_000,)
        Ascending.
    """
    random = np.random.RandomState(seed)
    listed = [random.permutation(n_rows)]
    if folds:
        answers = informative_tables(folds[0].kept + folds[0].held, with_dont_know_pairs=False)
        ends = [said.rows[:, [0, 1, -1]] for said in answers]  # the last of a pair's two twice
        listed.insert(0, random.permutation(np.concatenate(ends)).ravel())
    rows, first = np.unique(np.concatenate(listed), return_index=True)
    return np.sort(rows[np.argsort(first)[:MANY_ROWS]])


def _coarse(n_samples: int) -> list[int]:
    """Give the numbers that are tried first; none of too few rows."""
    most = min(MOST, n_samples // 2)
    numbers = np.round(FEWEST * STEP ** np.arange(40))
    return np.unique(np.minimum(numbers, most)).astype(int).tolist() if most >= FEWEST else []


def _best(merit: Callable[[int], float], coarse: Sequence[int], step: Step) -> int:
    """Give the number of the largest merit, the smallest of these."""
    found: dict[int, float] = {}

    def try_all(numbers: Sequence[int]) -> int:
        for k in numbers:
            if k not in found:
                found[k] = merit(k)
                step()
        return max(found, key=lambda k: (found[k], -k))

    best = try_all(coarse)
    at = coarse.index(best)
    low, high = coarse[max(at - 1, 0)], coarse[min(at + 1, len(coarse) - 1)]
    between = np.unique(np.round(np.linspace(low, high, MAX_TRIED_BETWEEN + 2)).astype(int))
    return try_all(between.tolist())


class _Tried:
    """Groups that saw no answers, by their number, and how far they are apart."""

    def __init__(self, views: Views, most: int, seed: int) -> None:
        self.views = views
        self._most, self._seed = most, seed
        self._cut = self.cuts(views.read("neighbors", 20))
        self._made: dict[int, list[Labels]] = {}

    def partitions(self, n_clusters: int) -> list[Labels]:
        """Group in so many groups, in two ways."""
        if n_clusters not in self._made:
            self._made[n_clusters] = [self._by_distance(n_clusters), self._cut(n_clusters)]
        return self._made[n_clusters]

    def cuts(self, graph: csr_array) -> Callable[[int], Labels]:
        """Find the eigenvectors of a graph, once for all numbers of groups.

        Returns
        -------
        callable
            Gives spectral groups for a number of groups.
        """
        embedding = spectral_embedding(graph, self._most, self._seed)

        def cut(n_clusters: int) -> Labels:
            rows = normalize(embedding[:, -n_clusters:])
            start = rows[_far_apart(rows)]
            return kmeans(rows, n_clusters, n_init=1, random_state=0, init=start).labels

        return cut

    def silhouette(self, n_clusters: int) -> float:
        """Give the larger mean silhouette of a sample of rows."""
        rows, distances = self._sample
        found = [-1.0]
        for labels in self.partitions(n_clusters):
            if 1 < len(np.unique(labels[rows])) < len(rows):
                found.append(silhouette_score(distances, labels[rows], metric="precomputed"))
        return float(max(found))

    def believed(self, folds: Sequence[Fold]) -> list[Fold]:
        """Weigh answers by annotators, as far as all groups so far tell these apart."""
        if len(folds[0].held.annotators) < 2:
            return list(folds)
        ways = [
            Clustering(f"{k}, {at}", lambda _, labels=labels: labels)  # type: ignore[misc]
            for k, made in self._made.items()
            for at, labels in enumerate(made)
        ]
        return weighted_folds(folds, ways)[0]

    @cached_property
    def _sample(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        n = len(self.views.X)
        rows = np.arange(n)
        if n > SAMPLE_ROWS:
            rows = np.random.RandomState(self._seed).choice(n, SAMPLE_ROWS, replace=False)
        return rows, pairwise_distances(self.views.X[rows])

    @cached_property
    def _tree(self) -> NDArray[np.float64]:
        return np.asarray(ward(self.views.X))

    def _by_distance(self, n_clusters: int) -> Labels:
        return np.asarray(fcluster(self._tree, n_clusters, "maxclust"), dtype=np.int64)


def _far_apart(rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """Give as many rows as there are columns, each as far as can be from what those before span."""
    _, order = qr(rows.T, mode="r", pivoting=True, check_finite=False)
    return np.asarray(order[: rows.shape[1]])


class _Judged:
    """How well so many groups foretell answers held out."""

    def __init__(self, tried: _Tried, folds: Sequence[Fold]) -> None:
        self._tried, self._folds = tried, folds
        self._led = [self._led_by(fold.kept.as_pairs()) for fold in folds]
        self._found: dict[int, float] = {}

    def log_likelihood(self, n_clusters: int) -> float:
        """Give that of the best way to group."""
        if n_clusters not in self._found:
            unled = self._tried.partitions(n_clusters)
            made = [[labels] * len(self._folds) for labels in unled]
            made.append([cut(n_clusters) for cut in self._led])
            told = [held_out_log_likelihood(partitions, self._folds) for partitions in made]
            self._found[n_clusters] = max(likelihood for likelihood, _ in told)
        return self._found[n_clusters]

    def _led_by(self, answers: Constraints) -> Callable[[int], Labels]:
        """Spread answers over the neighbours' graph, to be cut."""
        spread = E2CP("precomputed", n_neighbors=None, form="sparse")
        graph = self._tried.views.read("neighbors", 20)
        return self._tried.cuts(spread.fit(graph, constraints=answers).affinity_matrix_)
