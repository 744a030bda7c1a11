"""Many small groups of rows that are near copies, such as records of the same restaurant.

In ordinary data the distances to the nearest rows grow smoothly: the number of rows within distance
d grows like a power of d. In a table of records the first few rows are far nearer than this power
predicts. The excess shows that there are many small groups, and measures how sure each match is.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from clew._parallel import Progress, blocks, one_library_thread
from clew._units import Units
from clew.cluster.correlation._search import Evidence, greedy_merges, improved
from clew.cluster.guided._continued import FittedState, Tree
from clew.cluster.guided._errors import AnswerErrors, errors_given_labels, informative_answers
from clew.cluster.guided._fit import parameters_of
from clew.cluster.guided._pool import is_default
from clew.cluster.guided._result import GuidedResult, Regime
from clew.cluster.guided._tree import tree_of_evidence
from clew.constraints import Constraints
from clew.graphs import NeighborSearch

if TYPE_CHECKING:
    from pandas import DataFrame

    from clew.cluster.guided.guided_clustering import GuidedClustering
    from clew.tables import RecordFeatures

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Nearest rows of each row. The first `MOST_COPIES` may be copies; those from rank `FIRST_OTHER` on
#: belong to other groups, and show how the number of rows grows with distance.
N_NEAREST, MOST_COPIES, FIRST_OTHER = 15, 5, 6
#: The mean excess of the logarithms of these distances is this number divided by the dimension.
HARMONIC = float(np.cumsum(1.0 / np.arange(N_NEAREST - 1, FIRST_OTHER - 1, -1)).mean())
#: Rows of about the same density, whose dimension is asked.
N_ALIKE = 50
#: Weight of a row's own density of other rows, beside that of all rows.
LOCAL_SHARE = 0.7
#: Smaller distances, as a share of the median distance to other rows, are set to this.
LEAST_DISTANCE = 1e-3

#: Dimensions that keep rows of n-grams apart, for a model that takes no sparse rows.
N_DIMENSIONS = 300
#: Recognition reads the nearest rows of a sample of rows; fewer rows are not enough to recognize.
N_SAMPLED, LEAST_ROWS = 2_000, 60
#: A gap between two successive distances is exponential with mean 1 in ordinary data. It is clear
#: above `CLEAR`, doubtful above `DOUBTFUL`. Clear ones are needed in this share of the rows, and
#: this many times as often as doubtful ones.
CLEAR, DOUBTFUL, LEAST_CLEAR, CLEAR_TO_DOUBTFUL = 8.0, 4.0, 0.1, 1.2
#: Copies are nearer to each other than rows without a clear gap are to their nearest row, in this
#: share of the comparisons; otherwise those rows are a group of their own.
LEAST_NEARER = 0.75
#: Values on a lattice have many equal distances, and gaps are then no evidence.
MOST_TIES = 0.3
#: Columns that are equal in more than this share of the nearest copies, up to this share of their
#: deviation, hold repeated texts or categories; the other columns must show copies as well.
MOST_EQUAL, LEAST_APART = 0.9, 1e-9
#: Groups are not small if this share of "same" among the answers about rows that are not near is
#: exceeded with a probability of 0.99.
MOST_SAME = 0.1

#: Rate at which near pairs of different groups become rarer with excess: in theory 1, but less for
#: real records.
RATE = 0.9
#: Range of the cut.
LOWEST, HIGHEST = 0.0, 15.0
#: Prior deviations of the cut and of the log slope.
CUT_DEVIATION, SLOPE_DEVIATION = 1.0, 0.4
#: Beta priors of an annotator's probability to say "same" of a match and "different" of others, and
#: how many answers the pooled one counts for.
SAME_PRIOR, DIFFERENT_PRIOR, POOLED = (8.0, 2.0), (19.0, 1.0), 10.0
#: Magnitude that log-odds from features approach; answers of three people outvote it.
SURE = 6.0
#: Rows of a component whose pairs are all compared; in larger ones only nearest rows are.
MOST_ROWS, MARGIN = 400, 1.5
#: Log-likelihood ratio of each pair that was not compared.
NOT_COMPARED = -0.5
ROUNDS = 15
#: Limits of the probability that groups are wrong about an answered pair.
LEAST_ERROR, MOST_ERROR = 0.005, 0.5
#: Lower bound of the probability of a row's own group.
LEAST_OWN = 0.501

_REASON = (
    "many small groups: records of the same thing? Of {:,} rows in {:,} groups many are far nearer "
    "to one or a few rows than to all others"
)


class NearRows(NamedTuple):
    """The nearest rows of each row, and how the number of rows grows with distance."""

    rows: Any
    """Features, (n_rows, n_features), dense or sparse; sparse rows have length 1."""
    distance: Floats
    """Distances to the nearest rows, ascending, (n_rows, `N_NEAREST`)."""
    neighbors: Integers
    """Their numbers."""
    dimension: float
    """Exponent of the growth, which is the intrinsic dimension (Levina and Bickel)."""
    log_radius: Floats
    """Mean log distance to the nearest rows of other groups, (n_rows,)."""

    @classmethod
    def of(cls, rows: Any) -> NearRows:
        """Find the nearest rows of all rows."""
        rows = _of_length_one(rows)
        found = NeighborSearch(rows).nearest_others(N_NEAREST)
        return cls._of_nearest(rows, *found)

    @classmethod
    def _of_nearest(cls, rows: Any, distance: Floats, index: Integers) -> NearRows:
        least = LEAST_DISTANCE * float(np.median(distance[:, -1]))
        distance = np.maximum(distance, least or 1.0)
        log_distance, growth = np.log(distance), _growth(distance)
        typical = float(np.minimum(growth, np.quantile(growth, 0.95)).mean())
        radius = log_distance[:, -MOST_COPIES - 1 :].mean(axis=1)
        radius = LOCAL_SHARE * radius + (1 - LOCAL_SHARE) * np.median(radius)
        return cls(rows, distance, index, float(HARMONIC / max(typical, 1e-9)), radius)

    def excess(self, pairs: Integers) -> Floats:
        """Return how much nearer pairs of rows are than rows of different groups.

        Minus the log of the number of rows of other groups that are expected within that distance.
        """
        first, second = pairs.T
        length = np.empty(len(pairs))
        for start, stop in blocks(len(pairs), 65_536):
            length[start:stop] = _distances(self.rows, first[start:stop], second[start:stop])
        least = float(self.distance.min())
        radius = (self.log_radius[first] + self.log_radius[second]) / 2
        ranks = np.log(np.arange(N_NEAREST - MOST_COPIES, N_NEAREST + 1).mean())
        return np.asarray(self.dimension * (radius - np.log(np.maximum(length, least))) - ranks)

    @property
    def own_dimension(self) -> Floats:
        """Dimension among rows of about the same density, at most that of all rows, (n_rows,).

        It is lower for rows whose text is missing: distances between rows with texts are all alike.
        """
        growth, order = _growth(self.distance), np.argsort(self.distance[:, -1], kind="stable")
        smooth = np.empty(len(order))
        smooth[order] = uniform_filter1d(growth[order], min(N_ALIKE, len(order)), mode="nearest")
        return np.asarray(np.minimum(HARMONIC / np.maximum(smooth, 1e-9), self.dimension))

    @property
    def pairs(self) -> Integers:
        """Rows and their nearest rows, each pair once, (n_pairs, 2), the lower number first."""
        n = len(self.neighbors)
        near = np.column_stack([np.repeat(np.arange(n), N_NEAREST), self.neighbors.ravel()])
        return _distinct(near, n)


def _growth(distance: Floats) -> Floats:
    """Mean log ratio of the farthest of the nearest rows to others than copies, (n_rows,)."""
    others = np.log(distance[:, FIRST_OTHER - 1 :])
    return np.asarray((others[:, -1:] - others[:, :-1]).mean(axis=1))


def _of_length_one(rows: Any) -> Any:
    """Scale sparse rows to length 1; dense ones are on one scale already."""
    return csr_array(normalize(rows)) if issparse(rows) else rows


def _distances(rows: Any, first: Integers, second: Integers) -> Floats:
    if isinstance(rows, csr_array):
        cosine = np.asarray(rows[first].multiply(rows[second]).sum(axis=1)).ravel()
        return np.asarray(np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0)))
    return np.asarray(np.linalg.norm(rows[first] - rows[second], axis=1))


def _distinct(pairs: Integers, n_rows: int) -> Integers:
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    key = np.unique((low * n_rows + high)[low != high])
    return np.column_stack([key // n_rows, key % n_rows]).astype(np.int64)


def features_of_records(
    frame: DataFrame, n_clusters: int | None
) -> tuple[RecordFeatures, csr_array] | None:
    """Return n-grams of a table whose rows name the same things; None if groups are few."""
    from clew.tables import RecordFeatures  # pandas is slow to import
    from clew.tables._records import may_be_records

    is_few = n_clusters is not None and n_clusters * MOST_COPIES < len(frame)
    if is_few or not frame.shape[1] or not may_be_records(frame):
        return None
    recipe = RecordFeatures()
    X = recipe.fit_transform(frame)
    return (recipe, X) if are_groups_tiny(X) else None


def reduced(X: csr_array) -> Floats:
    """Return rows of length one in few dimensions, whose cosines are nearly those of `X`."""
    few = TruncatedSVD(min(N_DIMENSIONS, *(side - 1 for side in X.shape)), random_state=0)
    rows: Floats = few.fit_transform(X)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
    return rows


def are_groups_tiny(rows: Any, seed: int = 0) -> bool:
    """Whether rows form many small groups, like records with duplicates.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features)
        Features on one scale; sparse rows are compared by their cosine.
    seed : int, default=0
        Seed of the sample of rows that are read if there are many.

    Returns
    -------
    bool
    """
    n = rows.shape[0]
    if n < LEAST_ROWS:
        return False
    rows, sample = _of_length_one(rows), np.arange(n)
    if n > N_SAMPLED:
        sample = np.sort(np.random.RandomState(seed).choice(n, N_SAMPLED, replace=False))
    distance, neighbors = NeighborSearch(rows).nearest(rows[sample], N_NEAREST + 1)
    near = NearRows._of_nearest(rows, distance[:, 1:], neighbors[:, 1:])
    gap = np.diff(np.log(near.distance), axis=1)
    is_copy = near.distance[:, :-1] < 1.01 * near.distance.min()
    if (gap < 1e-9)[~is_copy].sum() > MOST_TIES * max((~is_copy).sum(), 1):
        return False
    if not issparse(rows):  # rows of numbers are often equal by accident, texts are not
        gap[is_copy & (distance[:, 1:-1] < 1e-6 * np.median(distance[:, -1]))] = 0.0
    # By Rényi: successive gaps of log distances are exponential, with mean 1 / (dimension · rank).
    gaps = near.own_dimension[:, None] * np.arange(1, MOST_COPIES + 1) * gap[:, :MOST_COPIES]
    largest = gaps.max(axis=1)
    is_clear, is_single = largest > CLEAR, largest <= DOUBTFUL
    clear, doubtful = is_clear.mean(), 1.0 - is_single.mean()
    if clear < LEAST_CLEAR or clear < CLEAR_TO_DOUBTFUL * (doubtful - clear):
        return False
    of_copies = near.distance[is_clear, gaps[is_clear].argmax(axis=1)]
    of_single = near.distance[is_single, 0]
    n_nearer = (of_copies[:, None] < of_single).sum()
    if n_nearer < LEAST_NEARER * is_clear.sum() * len(of_single):
        return False
    if issparse(rows):
        return True
    apart = np.abs(rows[sample[is_clear]] - rows[neighbors[is_clear, 1]])
    is_repeated = (apart <= LEAST_APART * rows.std(axis=0)).mean(axis=0) > MOST_EQUAL
    return (
        not is_repeated.any() or is_repeated.all() or are_groups_tiny(rows[:, ~is_repeated], seed)
    )


def answers_join_far_rows(near: NearRows, known: Constraints) -> bool:
    """Whether people join rows that are no nearer than rows of different groups are.

    Groups are then not small.
    """
    pairs = known.as_pairs().tables[0]
    at = np.flatnonzero((pairs.answers >= 0) & (pairs.weights > 0))
    if len(at) == 0:
        return False
    is_far = near.excess(pairs.rows[at]) < 0.0
    n_far, n_same = is_far.sum(), (pairs.answers[at][is_far] == 1).sum()
    deviation = np.sqrt(MOST_SAME * (1 - MOST_SAME) * n_far)
    return bool(n_same > MOST_SAME * n_far + 2.33 * deviation + 1.0)


class Matches(NamedTuple):
    """The log-odds that two rows match, as a function of their excess and of answers."""

    slope: float
    cut: float
    """Excess at which a match is as probable as not."""
    pairs: Integers
    """Pairs with definite answers, each once, (n_asked, 2)."""
    evidence: Floats
    """Log-likelihood ratio of the answers to each of them."""

    def log_odds(self, excess: Floats) -> Floats:
        """Return the log-odds before answers, between -6 and 6."""
        return np.asarray(SURE * np.tanh(self.slope * (excess - self.cut) / SURE))

    @classmethod
    def fit(cls, near: NearRows, known: Constraints) -> Matches:
        """Learn cut and slope from the distribution of excess, and from answers if there are any.

        As `DawidSkene`, with a prior of each pair that follows from its excess.
        """
        n, cut = len(near.neighbors), _cut_by_density(near)
        table = known.as_pairs().tables[0]
        at = np.flatnonzero((table.answers >= 0) & (table.weights > 0))
        low, high = np.sort(table.rows[at], axis=1).T
        key, question = np.unique(low * n + high, return_inverse=True)
        pairs = np.column_stack([key // n, key % n]).astype(np.int64)
        if len(at) == 0:
            return cls(1.0, cut, pairs, np.zeros(0))
        is_same, weight = table.answers[at] == 1, table.weights[at]
        people, excess = table.annotators[at], near.excess(pairs)
        slope, start, probability = 1.0, cut, expit(excess - cut)
        for _ in range(ROUNDS):
            says_same, says_different = _coins(
                people, is_same, weight, probability[question.ravel()], len(known.annotators)
            )
            ratio = np.where(
                is_same,
                np.log(says_same / (1 - says_different))[people],
                np.log((1 - says_same) / says_different)[people],
            )
            evidence = np.bincount(question.ravel(), weight * ratio, len(pairs)).astype(np.float64)
            probability = expit(slope * (excess - cut) + evidence)
            slope, cut = _fitted_curve(excess, probability, start)
        return cls(slope, cut, pairs, evidence)


def _coins(
    people: Integers, is_same: NDArray[np.bool_], weight: Floats, p_match: Floats, n_people: int
) -> tuple[Floats, Floats]:
    """Estimate each annotator's P("same" | match) and P("different" | no match)."""
    rates = []
    for right, share, prior in (
        (is_same, p_match, SAME_PRIOR),
        (~is_same, 1 - p_match, DIFFERENT_PRIOR),
    ):
        total = np.bincount(people, weight * share, n_people)
        hits = np.bincount(people, weight * share * right, n_people)
        pooled = (hits.sum() + prior[0]) / (total.sum() + sum(prior))
        rates.append((hits + POOLED * pooled) / (total + POOLED))
    return rates[0], rates[1]


def _cut_by_density(near: NearRows) -> float:
    """Return the excess above which calling all pairs matches errs least.

    In ordinary data half the number of rows times exp(-excess) pairs exceed it; the rest match.
    """
    excess = np.sort(near.excess(near.pairs))
    grid = np.linspace(LOWEST, HIGHEST, 161)
    n_above = len(excess) - np.searchsorted(excess, grid)
    ordinary = len(near.neighbors) / 2 * np.exp(-RATE * grid)
    return float(grid[np.argmax(n_above - 2 * ordinary)])


def _fitted_curve(excess: Floats, probability: Floats, start: float) -> tuple[float, float]:
    """Fit slope and cut of a logistic curve to probabilities of matches, maximum a posteriori."""

    def loss(values: Floats) -> float:
        log_slope, cut = values
        logits = np.clip(np.exp(log_slope) * (excess - cut), -SURE, SURE)
        prior = (log_slope / SLOPE_DEVIATION) ** 2 + ((cut - start) / CUT_DEVIATION) ** 2
        return float(np.logaddexp(0, logits).sum() - probability @ logits + prior / 2)

    found = minimize(loss, np.array([0.0, start]), method="Nelder-Mead").x
    return float(np.exp(found[0])), float(found[1])


class TinyGroups(NamedTuple):
    """Many small groups, and how sure each row is of its own."""

    labels: Integers
    """Group of each row, from 0."""
    evidence: Evidence
    """The pairs that were compared, with their log-odds."""
    matches: Matches
    near: NearRows

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.labels.max()) + 1

    @property
    def log_odds(self) -> csr_array:
        """Log-odds of the compared pairs, answers included, (n_rows, n_rows), symmetric."""
        return self.evidence.symmetric(self.evidence.evidence + self.evidence.prior)

    def probabilities(self) -> csr_array:
        """Return the probabilities of each row's group and of the best other one, (n_rows, k).

        A row's own group has more than 0.5, so that `labels` are the most probable groups.
        """
        n, k = len(self.labels), self.n_groups
        ends = np.concatenate([self.evidence.pairs, self.evidence.pairs[:, ::-1]])
        key, place = np.unique(ends[:, 0] * k + self.labels[ends[:, 1]], return_inverse=True)
        count = np.bincount(place, minlength=len(key))
        sums = [
            np.bincount(place, np.tile(values, 2), len(key))
            for values in (self.evidence.prior, self.evidence.evidence)
        ]
        p_in = expit(sums[0] / count + sums[1])
        row, group = key // k, key % k
        is_own = group == self.labels[row]
        own, other, rival = np.ones(n), np.zeros(n), (self.labels + 1) % k
        own[row[is_own]] = p_in[is_own]
        order = np.flatnonzero(~is_own)[np.argsort(p_in[~is_own], kind="stable")]
        other[row[order]], rival[row[order]] = p_in[order], group[order]  # the last is the largest
        p_own = np.maximum(np.minimum(own, 1.0 - other), LEAST_OWN) if k > 1 else np.ones(n)
        rows, columns = np.tile(np.arange(n), 2), np.concatenate([self.labels, rival])
        values = np.concatenate([p_own, 1.0 - p_own])
        return csr_array(coo_array((values, (rows, columns)), shape=(n, k)))


def tiny_groups(
    rows: Any, known: Constraints, *, n_groups: int | None = None, near: NearRows | None = None
) -> TinyGroups:
    """Group near copies by average linkage of the log-odds of matches and of answers.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features)
        Features on one scale; sparse rows are compared by their cosine.
    known : Constraints
        Answers; few suffice, and none are needed.
    n_groups : int, default=None
        Number of groups. None: merges end when the log-odds are against all.
    near : NearRows, default=None
        The nearest rows, if they were found already.

    Returns
    -------
    TinyGroups

    Notes
    -----
    Only rows among the 15 nearest of each other, and rows that chains of probable matches connect,
    are compared: memory is linear in the number of rows. The time is that of the search for nearest
    rows, one product of the rows with all rows in blocks.
    """
    near = NearRows.of(rows) if near is None else near
    matches, n = Matches.fit(near, known), len(near.neighbors)
    pairs = _compared(near, matches, n)
    key, asked = pairs @ np.array([n, 1]), matches.pairs @ np.array([n, 1])
    answers = np.zeros(len(pairs))
    answers[np.searchsorted(key, asked)] = matches.evidence
    prior = matches.log_odds(near.excess(pairs))
    evidence = Evidence(n, pairs, answers, prior, NOT_COMPARED, -SURE, 0.0, mean_share=1.0)
    labels, _ = greedy_merges(evidence, np.arange(n), n_groups)
    if n_groups is None:
        labels = improved(evidence, labels, None)
    return TinyGroups(labels, evidence, matches, near)


def _compared(near: NearRows, matches: Matches, n: int) -> Integers:
    """Return the pairs to compare: nearest rows, asked ones, and all pairs of small components."""
    pairs = _distinct(np.concatenate([near.pairs, matches.pairs]), n)
    probable = near.excess(pairs) > matches.cut - MARGIN
    asked_same = matches.pairs[matches.evidence > 0]
    first, second = np.concatenate([pairs[probable], asked_same]).T
    links = coo_array((np.ones(len(first)), (first, second)), shape=(n, n))
    _, component = connected_components(links, directed=False)
    order = np.argsort(component, kind="stable")
    ends = np.cumsum(np.bincount(component))
    more = [pairs]
    for members in np.split(order, ends[:-1]):
        if 2 < len(members) <= MOST_ROWS:
            i, j = np.triu_indices(len(members), 1)
            more.append(np.column_stack([members[i], members[j]]))
    return _distinct(np.concatenate(more), n)


class Records(NamedTuple):
    """Fitted rows that `predict`, `partial_fit` and `explain` read."""

    features: Any
    """Rows as they were given to `fit`."""
    units: Units | None
    """None for sparse rows."""
    metric: str
    groups: TinyGroups
    probabilities: csr_array

    def predict(self, X: Any) -> csr_array:
        """Return the probabilities of the nearest fitted row for each row, (n_rows, k)."""
        rows = _of_length_one(_scaled(X, self.units, self.metric))
        _, nearest = NeighborSearch(self.groups.near.rows).nearest(rows, 1)
        return csr_array(self.probabilities[nearest[:, 0]])

    @property
    def graph(self) -> csr_array:
        """The nearest rows of each row, (n_rows, n_rows)."""
        n, near = len(self.groups.labels), self.groups.near
        affinity = (np.median(near.distance) / near.distance).ravel()
        indptr = np.arange(n + 1) * N_NEAREST
        return csr_array((affinity, near.neighbors.ravel(), indptr), shape=(n, n))


def fit_records(
    model: GuidedClustering, X: Any, known: Constraints, callback: Progress | None = None
) -> tuple[FittedState, GuidedResult] | None:
    """Fit many small groups, if rows form such groups.

    Parameters
    ----------
    model : GuidedClustering
        Its parameters are read.
    X : ndarray, csr_array or None
        Features.
    known : Constraints
        All answers.
    callback : callable, default=None
        Called at the end.

    Returns
    -------
    tuple of FittedState and GuidedResult, or None
        None if groups are not small, or parameters ask for another method: a pool, anchors,
        distances, or a number of groups below a fifth of the number of rows.
    """
    n = known.n_samples
    is_few = model.n_clusters is not None and model.n_clusters * MOST_COPIES < n
    if X is None or is_few or model.scale != "auto" or not is_default(model.pool):
        return None
    if model.metric == "precomputed" or (issparse(X) and model._standardize is True):
        return None
    units = None if issparse(X) else Units.standardized(X, model._standardize)
    if model.metric == "cosine" and model._standardize is not True and units is not None:
        units = Units(0.0, np.ones(X.shape[1]))
    rows, informative = _scaled(X, units, model.metric), informative_answers(known)
    with one_library_thread():
        if not are_groups_tiny(rows):
            return None
        near = NearRows.of(rows)
        if answers_join_far_rows(near, informative):
            return None
        groups = tiny_groups(rows, informative, n_groups=model.n_clusters, near=near)
    if model.n_clusters not in (None, groups.n_groups) or groups.n_groups * MOST_COPIES < n:
        return None
    probabilities = groups.probabilities()
    regime = Regime("identities", _REASON.format(n, groups.n_groups))
    state = FittedState(
        parameters_of(model),
        [],
        Tree(partial(tree_of_evidence, groups.labels, groups.log_odds)),
        records=Records(X.copy(), units, model.metric, groups, probabilities),
    )
    errors = _errors_of(groups, informative)
    result = GuidedResult.of(groups.labels, probabilities, known, errors, regime)
    if callback is not None:
        callback(1, 1)
    return state, result


def _scaled(X: Any, units: Units | None, metric: str) -> Any:
    rows = X if units is None else units.scale(X)
    return normalize(rows) if metric == "cosine" else rows


def _errors_of(groups: TinyGroups, answers: Constraints) -> AnswerErrors:
    """Judge answers; groups are taken to err about a pair as often as features say the contrary."""
    labels, errors = groups.labels, []
    for table in answers.tables:
        error = np.full(len(table), MOST_ERROR / 2)
        if table.kind == "pair" and len(table):
            p_match = expit(groups.matches.log_odds(groups.near.excess(table.rows)))
            is_same = labels[table.rows[:, 0]] == labels[table.rows[:, 1]]
            error = np.clip(np.where(is_same, 1 - p_match, p_match), LEAST_ERROR, MOST_ERROR)
        errors.append(error)
    return errors_given_labels(answers, labels, errors)
