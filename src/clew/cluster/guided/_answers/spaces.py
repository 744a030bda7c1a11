"""Spaces in which distances explain answers, fitted to all answers and to those of each fold."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, ward

from clew._limits import MANY_ROWS
from clew._once import Once
from clew.cluster._kmeans import group_means, kmeans
from clew.cluster.guided._answers.ordinal_groups import OrdinalGroups, are_groups_worth_sampling
from clew.cluster.guided._ensemble.ensemble import Clustering, Fold, Labels
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._refinement.smoothers import NeighborSmoother, Smoother
from clew.constraints import Constraints
from clew.constraints._tables import PARAMETER
from clew.similarity import OrdinalEmbedding

__all__ = ["SPACES", "Space", "SpaceScore", "Spaces", "about_three_rows"]

Floats = NDArray[np.float64]

#: Temperatures: slopes of a space are divided by the one that explains held-out answers best.
TEMPERATURES = (1.0, 1.4, 2.0, 3.0, 5.0, 10.0)
N_INIT = 5
N_NEIGHBORS = 10


class Space(NamedTuple):
    """Parameters of an `OrdinalEmbedding`."""

    name: str
    response: Literal["tste", "distance"]
    n_components: int
    features: Literal["ridge"] | None = None


#: Spaces that are compared; all but the last join the pool.
SPACES = (
    Space("space of 8 components", "tste", 8),
    Space("space of 4 components", "distance", 4),
    Space("space with features", "tste", 8, "ridge"),
    Space("space of 2 components", "tste", 2),
)
N_IN_POOL = 3


class SpaceScore(NamedTuple):
    """How well a space predicts held-out answers about three rows."""

    log_likelihood: float
    """Summed over all folds, at the best temperature."""
    accuracy: float
    """Share of answers that have the highest probability."""


class Spaces:
    """Spaces, each fitted once to the training answers of a fold or to all answers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or None
        Features; None leaves out the space that uses them.
    known : Constraints
        All answers.
    folds : sequence of Fold
        Their folds.
    seed : int
        Seed of the starts.
    """

    def __init__(
        self, X: Floats | None, known: Constraints, folds: Sequence[Fold], seed: int
    ) -> None:
        self._X, self._seed = X, seed
        self._folds = folds
        self._parts = [*(fold.kept for fold in folds), known]
        self._models, self._trees = Once(), Once()

    def judged_by(self, folds: Sequence[Fold]) -> Self:
        """Return the same spaces, judged by other answers in the same folds."""
        judged = copy(self)
        judged._folds = folds
        return judged

    @property
    def available(self) -> list[Space]:
        """The spaces that can be fitted."""
        return [space for space in SPACES if space.features is None or self._X is not None]

    def model(self, space: Space, fold: int | None) -> OrdinalEmbedding:
        """Return a space fitted to the training answers of a fold, or to all answers for None."""
        at = len(self._folds) if fold is None else fold
        model: OrdinalEmbedding = self._models((space, at), lambda: self._fitted(space, at))
        return model

    def _fitted(self, space: Space, at: int) -> OrdinalEmbedding:
        known = self._parts[at]
        embedding = OrdinalEmbedding(
            min(space.n_components, known.n_samples),
            response=space.response,
            features=space.features,
            random_state=self._seed,
        )
        return embedding.fit(self._X if space.features else None, constraints=known)

    def kmeans(self, space: Space, n_clusters: int, seed: int, fold: int | None) -> Labels:
        """Cluster the rows of a space by k-means."""
        rows = self.model(space, fold).embedding_
        return kmeans(rows, n_clusters, n_init=N_INIT, random_state=seed).labels

    def divided(self, space: Space, n_clusters: int, fold: int | None) -> Labels:
        """Cut Ward's tree of the rows of a space, which is kept; above 5,000 rows, use k-means."""
        rows = self.model(space, fold).embedding_
        if len(rows) > MANY_ROWS:
            return self.kmeans(space, n_clusters, self._seed, fold)
        tree: Floats = self._trees((space, fold), lambda: ward(rows))
        return np.asarray(fcluster(tree, n_clusters, "maxclust"), np.int64)

    def clusterings(self, space: Space, n_clusters: int, n_starts: int = 1) -> list[Clustering]:
        """Return k-means from some starts, and Ward's linkage up to 5,000 rows."""
        names = [f"{space.name}, k-means", *(f"{space.name}, k-means {i + 2}" for i in range(99))]
        found = [
            Clustering(names[at], partial(self.kmeans, space, n_clusters, self._seed + at))
            for at in range(n_starts)
        ]
        if self._parts[-1].n_samples <= MANY_ROWS:
            found.append(
                Clustering(f"{space.name}, ward", partial(self.divided, space, n_clusters))
            )
        return found

    def members(self, n_clusters: int) -> list[Clustering]:
        """Return the clusterings that join the pool."""
        joined = [space for space in SPACES[:N_IN_POOL] if space in self.available]
        return [one for space in joined for one in self.clusterings(space, n_clusters)]

    def has_groups(self, n_clusters: int) -> bool:
        """Whether `groups` are worth it: while answers are few."""
        return are_groups_worth_sampling(self._parts[-1], n_clusters)

    def groups(self, n_clusters: int, fold: int | None) -> OrdinalGroups:
        """Return groups with dissimilarities; some seconds at most, and kept."""
        at = len(self._folds) if fold is None else fold
        fitted = partial(OrdinalGroups.fit, self._parts[at], n_clusters, self._seed)
        model: OrdinalGroups = self._models(("groups", n_clusters, at), fitted)
        return model

    def divided_groups(self, n_clusters: int, fold: int | None) -> Labels:
        """Cluster the rows by the mean dissimilarities of their groups."""
        key = ("divided groups", n_clusters, fold)
        model = self.groups(n_clusters, fold)
        labels: Labels = self._trees(key, lambda: model.divided(n_clusters, self._seed))
        return labels

    def smoothers(self, space: Space) -> list[Smoother]:
        """Return smoothers over the nearest rows in a space, for each fold and for all answers."""
        folds = [*range(len(self._folds)), None]
        return [_neighbors_in(self.model(space, fold).embedding_) for fold in folds]

    def score(self, space: Space) -> SpaceScore:
        """Score held-out answers about three rows."""
        totals, n_right, weight = np.zeros(len(TEMPERATURES)), 0.0, 0.0
        for at, fold in enumerate(self._folds):
            held, model = about_three_rows(fold.held), self.model(space, at)
            in_fold = sum(float(table.weights.sum()) for table in held.tables)
            totals += in_fold * np.array([model.score(held, temperature=t) for t in TEMPERATURES])
            weight += in_fold
            for table in held.tables[1:]:
                found = model.predict_proba({table.kind: table.rows})
                assert isinstance(found, dict)
                p = found[table.kind]
                n_right += float(table.weights @ (p.argmax(axis=1) == table.answers))
        return SpaceScore(float(totals.max()), n_right / max(weight, 1e-300))

    def groups_score(self, n_clusters: int) -> float:
        """Return the log-likelihood of held-out answers about three rows, given `groups`."""
        held = [about_three_rows(fold.held) for fold in self._folds]
        return sum(self.groups(n_clusters, at).log_likelihood(part) for at, part in enumerate(held))

    def centered_score(self, space: Space, labels: Labels, fold: int, held: Constraints) -> float:
        """Score held-out answers with every row at the center of its group in the space."""
        model = self.model(space, fold)
        rows = model.embedding_
        empty = np.zeros((int(labels.max()) + 1, rows.shape[1]))
        positions = group_means(rows, np.ones(len(rows)), labels, empty)[labels]
        n_held = sum(float(table.weights.sum()) for table in held.tables)
        return n_held * max(
            model.score(held, temperature=t, embedding=positions) for t in TEMPERATURES
        )


def about_three_rows(known: Constraints) -> Constraints:
    """Return the answers about three rows that name one of the rows."""
    chosen = {
        PARAMETER[table.kind]: (table.answers >= 0) & (table.kind != "pair")
        for table in known.tables
    }
    return known.select(**chosen)


def _neighbors_in(rows: Floats) -> NeighborSmoother:
    n_neighbors = min(N_NEIGHBORS, max(2, len(rows) // 5))
    return NeighborSmoother(Views(rows, 0).read("neighbors", n_neighbors))
