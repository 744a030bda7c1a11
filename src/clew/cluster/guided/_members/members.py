"""Members of the ensemble: base clusterings, some of which follow answers."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import AgglomerativeClustering

from clew._composition import takes_distances
from clew._limits import MANY_ROWS
from clew._warnings import silenced
from clew.cluster.guided._features.views import CONSTRAINED_VIEWS, View, Views
from clew.cluster.guided._members.mixture import GaussianMixture
from clew.cluster.guided._members.routing import check_routing, fitted_labels, supports_of
from clew.cluster.guided._members.ward import WardOfDistances
from clew.cluster.kernel.kernel_kmeans import KernelKMeans
from clew.cluster.similarity_clustering import SimilarityClustering
from clew.cluster.spectral import SpectralClustering
from clew.exceptions import InvalidParameterError
from clew.similarity import ITML

__all__ = [
    "Member",
    "checked_members",
    "default_members",
    "is_default",
    "is_of_second",
    "members_of",
]

N_INIT = 5
#: With more groups and more rows than these, each member that cuts a graph takes minutes.
MANY_GROUPS, LEAST_OF_MANY = 50, 2_500
GOOD_PRIOR, BEST_PRIOR = 0.7, 1.4
#: Log prior weight of each of the two graphs that are computed from one forest: together they weigh
#: a little more than "forest" alone (`BEST_PRIOR`).
SHARED_PRIOR = 1.0

#: Names of the clusterings of the refinement, which are in `scores_` like members.
STEADY, AGAIN = "E2CP on constrained forest", ", again"
REFINED_BY = "refined by "
#: Names in the second round of refinement: its start, and the refined ones.
REFINED_CONSENSUS, REFINED_AGAIN_BY = "refined consensus", "refined again by "
#: The smoother that predicts the groups' shares for every row.
SHARES = "shares"
UNCONSTRAINED = "unconstrained"
#: Names of clusterings of all rows, if the members are fitted to anchors.
ROWS_BY = "rows by "
RESERVED = ("consensus", REFINED_CONSENSUS, UNCONSTRAINED, STEADY)


def is_of_second(name: str) -> bool:
    """Whether a clustering of this name is in the second consensus."""
    return (
        name in ("consensus", REFINED_CONSENSUS, UNCONSTRAINED)
        or name.startswith((REFINED_BY, REFINED_AGAIN_BY))
        or name.endswith(AGAIN)
    )


class Member(NamedTuple):
    """A base clustering: an estimator, and the view that it is fitted to."""

    name: str
    """Key of the member in `scores_` and `weights_`."""
    estimator: Any
    """A clusterer; its parts with `supports` get the answers in the kinds that they honor."""
    view: View = "features"
    """The view that it is fitted to, see `Views`."""
    n_neighbors: int | Literal["auto", "paper"] | None = None
    """Neighbors in the graph that it reads; None for features."""
    alpha: float | None = None
    """How far E2CP propagates the answers over that graph; None for the graph as it is."""
    log_prior: float = 0.0
    """Log prior weight among all members."""
    unconstrained_log_prior: float = 0.0
    """Log prior weight among the members that follow no answers."""

    @property
    def is_constrained(self) -> bool:
        """Whether it follows answers."""
        reads_answers = self.alpha is not None or self.view in CONSTRAINED_VIEWS
        return reads_answers or bool(supports_of(self.estimator))

    def partition(self, views: Views) -> NDArray[np.int64]:
        """Cluster the rows.

        Parameters
        ----------
        views : Views
            What to read; their answers, if any, are those to follow.

        Returns
        -------
        ndarray of shape (n_samples,), int64
            Groups, numbered from 0; noise (-1) is a group of its own.

        Raises
        ------
        Exception
            Whatever the estimator raises, with a note that names the member.
        """
        rows = views.read(self.view, self.n_neighbors, self.alpha)
        # No warnings here: held-out answers score the result, and `consensus` warns of too few
        # groups.
        with silenced():
            try:
                labels = fitted_labels(clone(self.estimator), rows, views.answers)
            except Exception as error:
                error.add_note(f"Raised by {self.name!r}, a member of the pool.")
                raise
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


def default_members(
    n_clusters: int, n_samples: int, seed: int = 0, *, has_distances: bool = False
) -> list[Member]:
    """Return the default pool.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    n_samples : int
        Number of rows; above 5,000 the slow members are left out. With more than 50 groups and more
        than 2,500 rows, only k-means and Ward's linkage are returned.
    seed : int, default=0
        Seed of the estimators.
    has_distances : bool, default=False
        Whether distances are given, which Ward's linkage then reads. Coordinates computed from them
        are less accurate than features, so two further members cut graphs of near rows.

    Returns
    -------
    list of Member
    """
    kmeans = KernelKMeans(n_clusters, n_init=N_INIT, random_state=seed)
    cut = SpectralClustering(n_clusters, n_neighbors=None, n_init=N_INIT, random_state=seed)
    mixture = GaussianMixture(n_clusters, random_state=seed)
    itml = SimilarityClustering(ITML(), kmeans, random_state=seed)

    ward = Member("ward", AgglomerativeClustering(n_clusters))
    of_few_neighbors: list[Member] = []
    if has_distances:
        ward = Member("ward", WardOfDistances(n_clusters), "distances")
        of_few_neighbors = [
            Member("10 neighbors", cut, "neighbors", 10),
            Member("forest, 10 neighbors", cut, "forest", 10, unconstrained_log_prior=SHARED_PRIOR),
        ]
    if n_clusters > MANY_GROUPS and n_samples > LEAST_OF_MANY:
        return [Member("k-means", kmeans), ward]
    is_shared = has_distances and n_samples <= MANY_ROWS
    forest_prior = SHARED_PRIOR if is_shared else BEST_PRIOR
    members = [
        Member("k-means", kmeans),
        Member("mixture", mixture, "components"),
        Member("neighbors", cut, "neighbors", 20),
        Member("trees", cut, "trees", 20, unconstrained_log_prior=GOOD_PRIOR),
        Member("forest", cut, "forest", 20, unconstrained_log_prior=forest_prior),
        Member("ITML", itml),
        Member("constrained forest", cut, "constrained forest", 20),
        Member("E2CP on 10 neighbors", cut, "neighbors", 10, 0.9, GOOD_PRIOR),
        Member(STEADY, cut, "constrained forest", 20, 0.8, BEST_PRIOR),
    ]
    if n_samples <= MANY_ROWS:
        members += [
            ward,
            *of_few_neighbors,
            Member("E2CP on neighbors", cut, "neighbors", 20, 0.8, GOOD_PRIOR),
            Member("E2CP on trees", cut, "trees", 20, 0.8, GOOD_PRIOR),
            Member("E2CP on forest", cut, "forest", 20, 0.8, BEST_PRIOR),
            Member("E2CP on constrained trees", cut, "constrained trees", 20, 0.8, GOOD_PRIOR),
        ]
    return members


def is_default(pool: Any) -> bool:
    """Whether the members are those of `default_members`."""
    return isinstance(pool, str) and pool == "default"


def members_of(
    pool: Any, n_clusters: int, n_samples: int, seed: int, *, has_distances: bool = False
) -> list[Member]:
    """Return the members of the default pool, or of a user's own.

    Parameters
    ----------
    pool : "default" or sequence of (str, estimator)
        The parameter of `GuidedClustering`.
    n_clusters, n_samples, seed, has_distances
        See `default_members`.

    Returns
    -------
    list of Member
    """
    if is_default(pool):
        return default_members(n_clusters, n_samples, seed, has_distances=has_distances)
    return checked_members(pool, seed)


def checked_members(pool: Any, seed: int = 0) -> list[Member]:
    """Validate a user's pool.

    Parameters
    ----------
    pool : sequence of (str, estimator)
        Names, and clusterers of features.
    seed : int, default=0
        Seed of the estimators that have none.

    Returns
    -------
    list of Member

    Raises
    ------
    InvalidParameterError
        If the pool is empty or malformed, a name is repeated or reserved, or a member has a part
        that honors answers but would get none.
    """
    given: list[Any] = list(pool) if isinstance(pool, list | tuple) else [pool]
    is_pair = [isinstance(entry, tuple | list) and len(entry) == 2 for entry in given]
    if not given or not all(is_pair):
        raise InvalidParameterError(
            f"pool must be 'default', or a list of (name, clusterer) pairs; got {pool!r}"
        )
    names = [name for name, _ in given]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidParameterError(f"names in a pool must be different strings, got {names}")
    if taken := [
        name for name in names if name in RESERVED or is_of_second(name) or name.startswith(ROWS_BY)
    ]:
        raise InvalidParameterError(f"{taken[0]!r} is a reserved name; rename that member")
    for name, estimator in given:
        if isinstance(estimator, type) or not isinstance(estimator, BaseEstimator):
            raise InvalidParameterError(f"pool member {name!r} is not an estimator: {estimator!r}")
        if not hasattr(estimator, "fit_predict"):
            raise InvalidParameterError(
                f"pool member {name!r} is not a clusterer: {type(estimator).__name__} has no "
                "fit_predict"
            )
        check_routing(name, estimator)
    return [
        Member(name, _seeded(part, seed), view="distances" if takes_distances(part) else "features")
        for name, part in given
    ]


def _seeded(estimator: Any, seed: int) -> Any:
    """Set every `random_state` that is None, so that two fits are equal."""
    unset = {
        name: seed
        for name, value in estimator.get_params().items()
        if value is None and name.split("__")[-1] == "random_state"
    }
    return clone(estimator).set_params(**unset) if unset else estimator
