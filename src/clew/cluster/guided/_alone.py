"""Groups of answers alone: spaces in which distances explain answers, and many small groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform
from scipy.special import betaln, entr, gammaln, softmax

from clew._composition import graph_of
from clew._limits import MANY_ROWS
from clew._warnings import silenced
from clew.answers import DONT_KNOW, ORIGINS
from clew.cluster._kmeans import group_means, kmeans
from clew.cluster.correlation.correlation_clustering import CorrelationClustering
from clew.cluster.guided._answer_model import AnswerModel, Habits
from clew.cluster.guided._cuts import ward_of
from clew.cluster.guided._errors import AnswerErrors, errors_given_labels
from clew.cluster.guided._features import N_NEIGHBORS, Rows
from clew.cluster.guided._partitions import SETTINGS, Floats, Labels, renumbered
from clew.cluster.guided._search import Groups, numbers_to_cut
from clew.cluster.guided._smoothers import NeighborSmoother, ShareSmoother, Smoother
from clew.constraints import AnswerTable, Constraints
from clew.constraints._support import fold_numbers
from clew.constraints._tables import PARAMETER
from clew.graphs import resolved_n_neighbors
from clew.metrics import n_violated
from clew.similarity import AdaptiveKNN, OrdinalEmbedding


class Space(NamedTuple):
    """Parameters of an `OrdinalEmbedding`."""

    response: Literal["tste", "distance"]
    n_components: int
    features: Literal["ridge"] | None = None


#: Spaces whose clusterings are averaged; the last one only if there are features.
SPACES = (Space("tste", 8), Space("distance", 4), Space("tste", 8, "ridge"))
#: k-means of each space from so many seeds, and its starts.
N_SEEDS, N_INIT = 3, 5
#: Slopes of a space are divided by the temperature that explains held-out answers best.
TEMPERATURES = (1.0, 1.4, 2.0, 3.0, 5.0, 10.0)
#: Rows may be in other groups than they seem to be: factors of the error rate, likewise.
ERROR_FACTORS = (1.0, 2.0, 4.0)
#: Answers are graded if a space predicts held-out ones better than groups do by so many nats;
#: of fewer answers this is not asked.
LEAST_LEAD, FEWEST_ANSWERS = 4.0, 10
#: Of `N_PARTS` parts of the questions, so many are held out in turn to find the number of groups. A
#: further group has to raise the log-likelihood by this share of the gain of all, and by 1.
N_PARTS, N_FOLDS, SHARE_OF_GAIN = 5, 3, 0.03
#: Most groups that are tried.
MOST_GRADED = 24
#: Groups are small if they have fewer rows than this on the average.
SMALL_GROUP = 5.0
#: Answers alone can form groups if there are this many different questions for each row on average.
LEAST_DEGREE = 3.0
#: Limits of the log concentration of groups.
CONCENTRATIONS = (-5.0, 9.0)
#: Larger tables of rows by groups are sparse.
MAX_DENSE_ENTRIES = 10_000_000
#: Least lead of a row's own group, in nats, so that no rounding decides which one is the likeliest.
LEAST_DIFFERENCE = 1e-6
#: Limits of the probability that the partition is wrong about an asked pair.
LEAST_ERROR, MOST_ERROR = 0.005, 0.2


def are_pairs_foremost(answers: Constraints) -> bool:
    """Whether most answers other than don't-know are about pairs."""
    n_pairs, *n_three = (float(table.weights[table.answers >= 0].sum()) for table in answers.tables)
    return n_pairs > sum(n_three)


def are_mostly_asked(answers: Constraints) -> bool:
    """Whether most questions were chosen by what earlier answers left open."""
    asked = ORIGINS.index("asked")
    n_asked = sum(int((table.origins == asked).sum()) for table in answers.tables)
    return 2 * n_asked > len(answers)


def are_answers_dense(answers: Constraints) -> bool:
    """Whether there are enough answers to form groups without features."""
    pairs, *three = answers.tables
    is_definite = (pairs.answers >= 0) & (pairs.weights > 0)
    n_asked = 2 * len(np.unique(np.sort(pairs.rows[is_definite], axis=1), axis=0))
    n_asked += 3 * sum(int(((table.answers >= 0) & (table.weights > 0)).sum()) for table in three)
    return n_asked >= LEAST_DEGREE * answers.n_samples


def spaces_of(answers: Constraints, X: Floats | None, seed: int) -> list[OrdinalEmbedding]:
    """Spaces in which distances explain the answers, and one of features if there are any."""
    spaces = [space for space in SPACES if space.features is None or X is not None]
    return [
        OrdinalEmbedding(
            min(space.n_components, answers.n_samples),
            response=space.response,
            features=space.features,
            random_state=seed,
        ).fit(X if space.features else None, constraints=answers)
        for space in spaces
    ]


def rows_of_spaces(spaces: Sequence[OrdinalEmbedding]) -> Rows:
    """Positions of rows in the first space, and the neighbors of each row in each space."""
    n_neighbors = resolved_n_neighbors(N_NEIGHBORS, len(spaces[0].embedding_))
    graphs = [
        graph_of(AdaptiveKNN().fit(space.embedding_), len(space.embedding_), n_neighbors)
        for space in spaces
    ]
    smoothers: list[Smoother] = [ShareSmoother(), *map(NeighborSmoother, graphs)]
    return Rows(np.asarray(spaces[0].embedding_), smoothers, has_features=False)


def starts_in_spaces(
    spaces: Sequence[OrdinalEmbedding], n_clusters: int | None
) -> list[list[Labels]]:
    """Cuts of Ward's tree of each space but the first, which `rows_of_spaces` has."""
    numbers = numbers_to_cut(len(spaces[0].embedding_), n_clusters)
    return [[_cut(space.embedding_, k, 0) for k in numbers] for space in spaces[1:]]


def log_likelihood_in_space(space: OrdinalEmbedding, answers: Constraints) -> float:
    """Log-likelihood of held-out answers, at the best temperature."""
    return _weight(answers) * max(space.score(answers, temperature=t) for t in TEMPERATURES)


def log_likelihood_in_groups(groups: Groups, answers: Constraints) -> float:
    """Log-likelihood of held-out answers, given the groups, at the best of some error rates."""
    model = AnswerModel(answers)
    error = float(np.mean([one.error.mean() for one in groups.partitions]))
    of_each = (one.habits for one in groups.partitions)
    wavering, openness, bias = (np.mean(of, axis=0) for of in zip(*of_each, strict=True))
    outcomes = model.outcomes(groups.probabilities[model.row_of_end])
    outcomes = model.of_chosen(outcomes, openness)
    habits = Habits(wavering, np.ones_like(openness), bias)
    found = []
    for factor in ERROR_FACTORS:
        rates = np.full(model.n_annotators, min(factor * error, SETTINGS.error_bounds[1]))
        given = model.wrong(outcomes, model.likelihoods(rates, habits))[0]
        found.append(float(model.weights @ np.log(given)))
    return max(found)


def gain_of_dont_knows(groups: Groups, answers: Constraints) -> float:
    """How much better groups tell which answers about three rows are don't-know than one rate.

    Somebody who groups does not know which of two rows of other groups is nearer; somebody who
    compares degrees of likeness does.
    """
    model = AnswerModel(answers)
    error = float(np.mean([one.error.mean() for one in groups.partitions]))
    outcomes = model.outcomes(groups.probabilities[model.row_of_end])
    gain = 0.0
    for table, probability in zip(model.tables, model.dont_know(outcomes, error), strict=True):
        is_dont_know = table.answers == DONT_KNOW
        share = float(is_dont_know.mean()) if len(table) else 0.0
        if table.kind != "pair" and share not in (0.0, 1.0):
            right = np.where(is_dont_know, probability, 1 - probability)
            gain += float(np.log(right).sum() + len(table) * (entr(share) + entr(1 - share)))
    return max(gain, 0.0)


def one_fold(answers: Constraints, seed: int, number: int = 0) -> tuple[Constraints, Constraints]:
    """Answers to four fifths of the questions, and to the others."""
    parts = fold_numbers(answers, N_PARTS, seed)
    return (
        answers.select(**{kind: part != number for kind, part in parts.items()}),
        answers.select(**{kind: part == number for kind, part in parts.items()}),
    )


class GradedGroups(NamedTuple):
    """Groups of answers that depend on degrees of likeness."""

    labels: Labels
    probabilities: Floats
    numbers: dict[int, float]
    """Probability of each number of groups; empty if it was given."""
    others: list[Labels]
    """Groupings of other numbers, the most probable first."""


def graded_groups(
    answers: Constraints, X: Floats | None, n_clusters: int | None, seed: int
) -> GradedGroups:
    """Average k-means and Ward's linkage in all spaces, cut into the number of groups.

    The number of groups is the least whose centers predict held-out answers nearly as well as more
    do.
    """
    spaces = spaces_of(answers, X, seed)
    numbers = {} if n_clusters else _number_of_graded_groups(answers, seed)
    wanted = n_clusters or max(numbers, key=lambda k: numbers[k])
    labels, together = _averaged(spaces, wanted, seed)
    own = np.eye(int(labels.max()) + 1)[labels]
    probabilities = together @ own / own.sum(axis=0)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    is_other = probabilities.argmax(axis=1) != labels
    probabilities[is_other] = own[is_other]
    others = sorted((k for k in numbers if k != wanted), key=lambda k: -numbers[k])[:2]
    return GradedGroups(
        labels, probabilities, numbers, [_averaged(spaces, k, seed)[0] for k in others]
    )


def _averaged(
    spaces: Sequence[OrdinalEmbedding], n_clusters: int, seed: int
) -> tuple[Labels, Floats]:
    """Return groups, and the share of clusterings that put two rows together, (n, n)."""
    n = len(spaces[0].embedding_)
    together = np.zeros((n, n))
    for space in spaces:
        rows = space.embedding_
        every = [
            kmeans(rows, n_clusters, n_init=N_INIT, random_state=seed + at).labels
            for at in range(N_SEEDS)
        ]
        for one in [*every, _cut(rows, n_clusters, seed)]:
            together += one[:, None] == one
    together /= together[0, 0]
    tree = linkage(squareform(1 - together, checks=False), "average")
    tree[:, 2] += 1e-9 * np.arange(len(tree))  # so that ties can be cut
    labels = renumbered(fcluster(tree, n_clusters, "maxclust"))
    order = np.argsort([int(np.argmax(labels == k)) for k in range(int(labels.max()) + 1)])
    return np.argsort(order)[labels], together


def _number_of_graded_groups(answers: Constraints, seed: int) -> dict[int, float]:
    """Probability of each number of groups, by answers that centers of groups predict."""
    n = answers.n_samples
    numbers = [k for k in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, MOST_GRADED) if k <= max(n // 2, 1)]
    totals = np.zeros(len(numbers))
    for at in range(N_FOLDS):
        train, held = one_fold(answers, seed, at)
        if not len(held) or not len(train):
            continue
        (space, *_) = spaces_of(train, None, seed)
        rows, weight = space.embedding_, _weight(held)
        for index, k in enumerate(numbers):
            scores = []
            for labels in (
                _cut(rows, k, seed),
                kmeans(rows, k, n_init=2, random_state=seed).labels,
            ):
                empty = np.zeros((int(labels.max()) + 1, rows.shape[1]))
                centers = group_means(rows, np.ones(n), labels, empty)[labels]
                scores += [
                    space.score(held, temperature=t, embedding=centers) for t in TEMPERATURES
                ]
            totals[index] += weight * max(scores)
    gain = max(float(totals.max() - totals[0]), 0.0)
    value = totals - max(SHARE_OF_GAIN * gain, 1.0) * np.array(numbers)
    probability = softmax(value)
    if len(numbers) > 1:  # one group is no answer to how rows are grouped
        probability[0] = 0.0
        probability = softmax(value[1:])
        numbers = numbers[1:]
    return dict(zip(numbers, probability.tolist(), strict=True))


def _cut(rows: Floats, n_clusters: int, seed: int) -> Labels:
    """Cut Ward's tree; above 5,000 rows, k-means."""
    if len(rows) > MANY_ROWS:
        return kmeans(rows, n_clusters, n_init=1, random_state=seed).labels
    return renumbered(fcluster(ward_of(rows), n_clusters, "maxclust"))


def _weight(answers: Constraints) -> float:
    return sum(float(table.weights.sum()) for table in answers.tables)


def about_three_rows(answers: Constraints) -> Constraints:
    """Answers about three rows that name one of the rows."""
    return answers.select(
        **{
            PARAMETER[table.kind]: (table.answers >= 0) & (table.kind != "pair")
            for table in answers.tables
        }
    )


def identities_of(
    answers: Constraints, seed: int, n_clusters: int | None = None, *, is_asked: bool = False
) -> CorrelationClustering:
    """Many small groups, such as persons on photos: correlation clustering of pair answers.

    `is_asked`: most questions were chosen by earlier answers alone, so that a pair that was not
    asked is no evidence.
    """
    model = CorrelationClustering(n_clusters, random_state=seed)
    pairs = answers.as_pairs().with_origin("asked" if is_asked else "imported")
    if n_clusters is not None:
        return model.fit(None, constraints=pairs)
    with silenced():
        return model.fit(None, constraints=pairs)


def completes(groups: Labels, identities: Labels, answers: Constraints) -> bool:
    """Whether groups are no fewer than the large `identities`, and contradict no more answers."""
    n_large = int((np.bincount(identities) >= SMALL_GROUP).sum())
    are_kept = int(groups.max()) + 1 >= n_large
    return are_kept and n_violated(groups, answers) <= n_violated(identities, answers)


def are_groups_small(model: CorrelationClustering) -> bool:
    """Whether groups have fewer than five rows on the average."""
    return len(model.labels_) < SMALL_GROUP * model.n_clusters_


def evidence_of(labels: Labels, answers: Constraints) -> float:
    """Log-probability of groups and of the pair answers given them.

    The shares of "same" in and between groups have uniform priors. Groups have that of a Chinese
    restaurant process with the best concentration: their number costs little.
    """
    pairs = answers.as_pairs()
    weight, is_same = pairs.pair_weights * ~pairs.is_dont_know, pairs.is_must_link
    first, second = labels[pairs.pairs.T]
    of_answers = sum(
        betaln(1 + weight[where & is_same].sum(), 1 + weight[where & ~is_same].sum())
        for where in (first == second, first != second)
    )
    sizes = np.unique(labels, return_counts=True)[1]

    def cost(log_concentration: float) -> float:
        prior = np.exp(log_concentration)
        return float(gammaln(prior + len(labels)) - gammaln(prior) - len(sizes) * log_concentration)

    of_groups = gammaln(sizes).sum() - minimize_scalar(cost, bounds=CONCENTRATIONS).fun
    return float(of_answers + of_groups)


def are_all_pairs_asked(answers: Constraints) -> bool:
    """Whether there is a definite answer about each pair of rows."""
    pairs = answers.tables[0]
    n_asked = len(np.unique(np.sort(pairs.rows[pairs.answers >= 0], axis=1), axis=0))
    return 2 * n_asked == answers.n_samples * (answers.n_samples - 1)


def memberships_of(model: CorrelationClustering) -> Any:
    """Probability of each group for each row, given the groups of all others.

    Evidence of the answers, and the prior of a Chinese restaurant process in which two rows are one
    with the estimated share of matches: a row that nobody was asked about may belong to any group.
    The group that was found is always the most probable one. Memberships of many rows by groups
    are sparse, and 1.
    """
    labels, n_clusters = model.labels_, model.n_clusters_
    n, size = len(labels), np.bincount(labels)
    if n * n_clusters > MAX_DENSE_ENTRIES:
        return csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, n_clusters))
    groups, own = np.eye(n_clusters)[labels], (np.arange(n), labels)
    n_others = size - groups
    is_alone = n_others[own] == 0
    concentration = np.exp(-model.prior_.data.mean())
    n_others[own] = np.where(is_alone, concentration, n_others[own])
    logs = model.evidence_ @ groups + np.log(n_others)
    logs[own] = np.maximum(logs[own], logs.max(axis=1) + LEAST_DIFFERENCE)
    # A row of a group may also belong to none.
    none = np.where(is_alone, -np.inf, np.log(concentration))
    found = softmax(np.column_stack([logs, none]), axis=1)
    return np.minimum(found[:, :-1] + found[:, -1:] / n_clusters, 1.0)  # no rounding above 1


def errors_of_identities(answers: Constraints, model: CorrelationClustering) -> AnswerErrors:
    """Errors of the annotators, and doubts about answers that other answers contradict."""
    pairs, labels = model.dawid_skene_.questions_["pair"], model.labels_
    p_same, p_different = model.dawid_skene_.probabilities_["pair"].T
    is_same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    wrong = np.where(is_same, p_different, p_same)
    error = float(np.clip(wrong.mean() if len(wrong) else 0.0, LEAST_ERROR, MOST_ERROR))
    errors = errors_given_labels(
        answers, labels, [np.full(len(table), error) for table in answers.tables]
    )
    p_wrong = errors.doubts.pairs
    p_wrong[~_are_outvoted(answers.tables[0], labels) & (p_wrong > 0.5)] = 0.5
    return errors


def _are_outvoted(pairs: AnswerTable, labels: Labels) -> NDArray[np.bool_]:
    """Whether other answers contradict each one, not just that most pairs differ."""
    ends = np.sort(labels[pairs.rows], axis=1)
    is_different = (pairs.answers == 0) & (pairs.weights > 0)
    _, between = np.unique(ends, axis=0, return_inverse=True)
    n_different = np.bincount(between.ravel(), is_different)[between.ravel()]
    return np.asarray((pairs.answers != 1) | (n_different > 0))
