"""Groups from positions of rows and answers: starts, refinement, crossings, and an average.

1. Starts: cuts of Ward's tree, also by a metric of answers about three rows, of a tree of the
   affinity after propagating answers, and of a forest grown by them; correlation clustering; the
   values of each category in a table of numbers and categories; a user's pool of clusterings.
2. Each start is refined (`refined`), and merged while that raises its energy.
3. The best partitions are crossed, and the tree of their pair probabilities is cut again. If the
   number of groups is given, the groups of the best are split and merged again to that number.
4. Rows of few values, such as answers to a questionnaire, have groups of their own, and so have
   numbers beside categories: the same is done with the evidence of latent classes added to the
   energy, and taken unless answers are less probable then.
5. If the number of groups is open, energies are compared with those of Ward's cuts into as many:
   see `_granularity`. While answers are few, the groups of the features alone are a start too, and
   numbers of groups far from theirs have less energy.
6. The best of all are averaged, by energy. The labels are the partition with the best expected
   Jaccard index of pairs under this average; its number of groups is `n_clusters_`, unless given.
   If they are so unlike that the average is one group, the best of them is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster
from scipy.special import entr

from clew._limits import DENSE_PROPAGATION_ROWS, MANY_ROWS
from clew._parallel import in_threads
from clew._warnings import silenced
from clew.cluster._kmeans import kmeans
from clew.cluster.correlation.correlation_clustering import CorrelationClustering
from clew.cluster.guided._answer_model import AnswerModel
from clew.cluster.guided._cuts import Cuts, cuts, tree_of, ward_of
from clew.cluster.guided._features import Prepared, Rows
from clew.cluster.guided._gaps import LONG_EDGES
from clew.cluster.guided._granularity import MOST_FADED, cost_of_number, energy_of_cuts
from clew.cluster.guided._latent_classes import Categories
from clew.cluster.guided._one_kind import OneKind
from clew.cluster.guided._other_questions import other_questions
from clew.cluster.guided._partitions import (
    SETTINGS,
    Floats,
    Labels,
    Partition,
    merged,
    refined,
    renumbered,
)
from clew.cluster.guided._smoothers import (
    GaussianSmoother,
    Smoother,
    discriminant_neighbors,
    discriminants,
    discriminants_of_answers,
)
from clew.cluster.guided._unconstrained import Unconstrained, groups_without_answers
from clew.cluster.spectral import SpectralClustering
from clew.constraints import Constraints
from clew.kernels.partitions.labels import best_partition
from clew.similarity import COPRF

#: With more rows fewer partitions are kept, and these are refined less often.
MANY = 1_000
#: Number of partitions that are averaged.
N_KEPT = 8
#: Factors in their log weights: of the energy, and of what answers tell against one beyond so many
#: nats; and those in the log probability of a number of groups, of the best partition of each: with
#: them, ranges of 90 % hold the true number in 90 % of fits of 200 rows.
TEMPERS, NUMBER_TEMPERS, LEAST_AGAINST = (0.1, 0.4), (0.07, 0.1), 6.0
#: Rounds of the first refinement of a start, of later ones, and of those after few new answers.
FIRST_ROUNDS, ROUNDS, FEW_ROUNDS = 5, 8, 3
#: Thresholds of correlation clustering; trees are cut into multiples of the best number of groups.
THRESHOLDS, MULTIPLES = (-2.0, 0.0, 2.0), (0.5, 1.0, 1.5, 2.0)
#: Trees of the forest that follows answers, and numbers into which its rows are cut.
N_TREES, N_CUTS = 60, 4
#: If so many random answers would join rows of each of k groups, one in k² of all, other starts are
#: as good.
MANY_SAME = 5
#: More groups than were wanted are clearly better if their energy exceeds that of these by so many
#: nats.
CLEAR_LEAD = 10.0
#: Numbers of parts into which the groups of the best partition are split.
N_PARTS = (2, 3, 4)
#: How often the groups of the best partition of a given number are split and merged again.
N_SPLITS = 3
#: Starts have at most this many groups, unless more are wanted of few rows.
MOST_STARTING_GROUPS = 150
#: Largest number of memberships of a start from the spanning tree.
MOST_STARTING_MEMBERSHIPS = 1_500_000
#: Error rate from which some starts are refined, besides that of `Settings`.
DOUBTING_ERROR = 0.4
#: A partition with so many nats less than the best one is plausible: it would weigh .08 as much.
PLAUSIBLE = 25.0
#: Partitions with at most this many memberships are kept while a fit lasts.
KEPT_NUMBERS = 20_000


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a fit, and the partitions that they come from."""

    labels: Labels
    probabilities: Floats
    """(n_samples, n_clusters)"""
    partitions: list[Partition]
    """The best first."""
    weights: Floats
    """Weights of the partitions, which add up to 1."""
    freer: Partition | None = None
    """A clearly better partition into more groups than were wanted."""
    follow_classes: bool = False
    """Whether the energies contain the evidence of latent classes."""
    alone: Unconstrained | None = None
    """Groups of the features alone, if there are any and their number was open."""
    least_error: float = 1.0
    """Smallest error rate of any plausible partition that the search came across."""
    number_probabilities: Mapping[int, float] = field(default_factory=dict)
    """Probability of each number of groups."""


def fit_groups(
    rows: Rows,
    answers: Constraints,
    n_clusters: int | None,
    seed: int,
    n_jobs: int | None,
    step: Callable[[], None],
    more_starts: Sequence[list[Labels]] = (),
) -> Groups:
    """Find the groups from scratch, a function of rows, answers, number and seed."""
    own = _starts(rows, answers, n_clusters, seed, n_jobs)
    starts = [of for of in (*own, *more_starts) if of] or [[np.arange(answers.n_samples)]]
    model = AnswerModel(answers, partial(other_questions, rows))
    alone = None if n_clusters is not None else _without_answers(rows, model, seed)
    if alone is not None:
        starts.append([alone.labels])
    found = _searched(_Search(rows, model, n_clusters, n_jobs, step, alone=alone), starts)
    categories = rows.categories
    if categories is None or categories.are_scales:
        return found
    classes = categories.partitions(Cuts(rows.X, rows.tree, seed), n_clusters)
    search = _Search(rows, model, n_clusters, n_jobs, step, categories, alone)
    by_classes = _searched(search, [[*starts[0], *classes], *starts[1:]])
    free, bound = (_log_likelihood_of_answers(one.partitions[0]) for one in (found, by_classes))
    return found if free - bound > LEAST_AGAINST else by_classes


def _searched(search: _Search, starts: Sequence[list[Labels]]) -> Groups:
    n_clusters = search.n_clusters
    pools = [search.pool(of_kind, 3) for of_kind in starts]
    # The same features' groups, with answers that may be as good as random.
    pools[0] = search.best([*pools[0], *search.doubting(starts[0])])
    best = search.best([one for pool in pools for one in pool])
    kept = search.best(best + search.pool(_crossed(pools, best), 3))[:N_KEPT]
    if not search.is_large:
        kept = search.best(kept + search.pool(_cuts_of_own_tree(kept), 2))[:N_KEPT]
    of_merged = search.pool([merged(one, search.answers, None) for one in kept[: search.few(4)]], 3)
    kept = search.best(kept + of_merged)[:N_KEPT]
    if n_clusters is None:
        return search.agreed(kept)
    free = kept[0]
    kept = search.with_number(kept, [one for of_kind in starts for one in of_kind])
    is_better = free.n_clusters > n_clusters and free.energy - kept[0].energy > CLEAR_LEAD
    return replace(search.agreed(kept), freer=free if is_better else None)


def continue_groups(
    rows: Rows, answers: Constraints, n_clusters: int | None, last: Groups, n_jobs: int | None
) -> Groups:
    """Move the best partitions on after few new answers: fast, but not as `fit_groups`."""
    categories = rows.categories if last.follow_classes else None
    model = AnswerModel(answers, partial(other_questions, rows))
    search = _Search(rows, model, n_clusters, n_jobs, lambda: None, categories, last.alone)
    rates = [
        one.error if len(one.error) == search.answers.n_annotators else None
        for one in last.partitions
    ]
    few = search.few(2)
    moved = [
        search.refined(one.labels, rate, FEW_ROUNDS)
        for one, rate in zip(last.partitions[:few], rates, strict=False)
    ]
    found = search.agreed(search.best(moved))
    return replace(found, number_probabilities=last.number_probabilities)


class _Search:
    """Refines starts and keeps the best partitions."""

    def __init__(
        self,
        rows: Rows,
        answers: AnswerModel,
        n_clusters: int | None,
        n_jobs: int | None,
        step: Callable[[], None],
        categories: Categories | None = None,
        alone: Unconstrained | None = None,
    ) -> None:
        self.rows, self.answers, self.n_clusters = rows, answers, n_clusters
        self.categories, self.alone = categories, alone
        self._n_jobs, self._step = n_jobs, step
        self.is_large = answers.n_samples > MANY
        # A given number keeps wrong answers from joining groups, and true groups may fall apart.
        apart = None if alone is None else alone.clear
        self._pieces = rows.pieces(*answers.called_same(), apart) if n_clusters is None else None
        has_cuts = n_clusters is None and rows.has_features and answers.n_samples <= MANY_ROWS
        self._energy_of_cuts = energy_of_cuts(rows, answers) if has_cuts else None
        self._of_one_kind = OneKind.of_each(rows, answers)
        self._refined: dict[tuple[bytes, bytes, int], Partition] = {}
        self._energies: list[tuple[int, float, float]] = []

    def few(self, n: int) -> int:
        """Fewer partitions of many rows."""
        return 1 if self.is_large else n

    def refined(self, labels: Labels, error: Floats | None, n_rounds: int) -> Partition:
        """Refine a partition; of few rows, once: a sixth of them come from several starts."""
        key = labels.tobytes(), b"" if error is None else error.tobytes(), n_rounds
        if (known := self._refined.get(key)) is not None:
            return known
        smoothers: list[Smoother] = [*self.rows.smoothers]
        if self.rows.has_features:
            of = self.rows.positions, labels
            smoothers.append(discriminant_neighbors(*of))
            if not self.is_large:
                smoothers.append(GaussianSmoother(*of))
        found = refined(
            labels, self.answers, smoothers, error, n_rounds, unfitted=self.rows.unfitted,
            parts=None if self.rows.gaps is None else self.rows.gaps.parts, pieces=self._pieces,
        )  # fmt: skip
        if self.categories is not None:
            of_values = self.categories.log_evidence(found.labels)
            found = replace(found, energy=found.energy + of_values)
        if self.alone is not None:
            far = cost_of_number(
                found.n_clusters, self.alone.n_clusters, self.answers, self._of_one_kind
            )
            found = replace(found, energy=found.energy - far)
        if self._energy_of_cuts is not None:
            found = replace(found, energy=found.energy - self._energy_of_cuts(found.n_clusters))
        for of_annotator in self._of_one_kind:
            of_choice = of_annotator.log_evidence(found.labels, found.error)
            found = replace(found, energy=found.energy + of_choice)
        self._energies.append((found.n_clusters, found.energy, _log_likelihood_of_answers(found)))
        if found.memberships.size <= KEPT_NUMBERS:
            self._refined[key] = found
        return found

    def pool(self, starts: Sequence[Labels], n_kept: int) -> list[Partition]:
        """Refine starts, merge the groups of the best, and refine these again."""
        n_kept, n_passes = (2, 1) if self.is_large else (n_kept, 2)
        first = self._each(lambda one: self.refined(one, None, FIRST_ROUNDS), starts)
        found = self.best(first)[:n_kept]
        found = self.best(found + self._each(self._after_merges, found))[:n_kept]
        for _ in range(n_passes):
            found = self.best(self._each(self._again, found))
        return found

    def doubting(self, starts: Sequence[Labels]) -> list[Partition]:
        """Refine starts with a high error rate."""
        rates = np.full(self.answers.n_annotators, DOUBTING_ERROR)
        chosen = starts[:: max(1, len(starts) // self.few(4))]
        return self._each(lambda one: self.refined(one, rates, FIRST_ROUNDS), chosen)

    def with_number(self, partitions: list[Partition], starts: Sequence[Labels]) -> list[Partition]:
        """Bring partitions of more groups to the given number, beside starts of that number."""
        number = self.n_clusters or 0
        found = [one for one in partitions if one.n_clusters == number]
        many = [one for one in partitions if one.n_clusters > number][: self.few(4)]
        found += self._each(
            lambda one: self.refined(merged(one, self.answers, number), one.error, ROUNDS), many
        )
        own = [one for one in starts if int(one.max()) + 1 == number]
        found += self._each(lambda one: self.refined(one, None, ROUNDS), own)
        whole = self.best([one for one in found if one.n_clusters == number])
        for _ in range(N_SPLITS if whole else 0):
            best = whole[0]
            split = self._each(
                lambda one: self._joined(self.refined(one, best.error, FEW_ROUNDS)),  # noqa: B023
                _split(best, self.rows),
            )
            whole = self.best([*whole, *(one for one in split if one.n_clusters == number)])
            if whole[0] is best:
                break
        return (whole or self.best(found or partitions))[:N_KEPT]

    def _joined(self, one: Partition) -> Partition:
        """Merge groups down to the number that was given."""
        labels = merged(one, self.answers, self.n_clusters)
        return self.refined(labels, one.error, ROUNDS)

    def agreed(self, partitions: list[Partition]) -> Groups:
        """Average the best partitions."""
        found = _agreed(partitions, self.n_clusters, self.rows.X)
        least = partitions[0].energy - PLAUSIBLE
        errors = [one.error.mean() for one in self._refined.values() if one.energy >= least]
        return replace(
            found,
            follow_classes=self.categories is not None,
            alone=self.alone,
            least_error=float(min(errors, default=1.0)),
            number_probabilities=_probabilities_of_numbers(self._energies),
        )

    def best(self, partitions: Sequence[Partition]) -> list[Partition]:
        """Sort by energy, and leave out repeats."""
        found: list[Partition] = []
        for one in sorted(partitions, key=lambda one: -one.energy):
            if not any(np.array_equal(one.labels, other.labels) for other in found):
                found.append(one)
        return found

    def _each(
        self, function: Callable[..., Partition], tasks: Sequence[Labels] | Sequence[Partition]
    ) -> list[Partition]:
        return in_threads(
            function, tasks, n_jobs=self._n_jobs, callback=lambda done, n: self._step()
        )

    def _after_merges(self, one: Partition) -> Partition:
        return self.refined(merged(one, self.answers, None), one.error, FIRST_ROUNDS)

    def _again(self, one: Partition) -> Partition:
        return self.refined(one.labels, one.error, ROUNDS)


def _starts(
    rows: Rows, answers: Constraints, n_clusters: int | None, seed: int, n_jobs: int | None
) -> list[list[Labels]]:
    """Partitions to refine: of rows, propagated answers, a forest, and correlation clustering."""
    n = answers.n_samples
    numbers = numbers_to_cut(n, n_clusters)
    # People may see just one column of few values beside measures.
    by_values = [] if rows.categories is None else rows.categories.by_flags()
    if n > MANY_ROWS:
        return [[kmeans(rows.X, k, n_init=1, random_state=seed).labels for k in numbers]]
    return [
        [*cuts(rows.tree, numbers), *_parts_with_gaps(rows), *by_values],
        _cuts_of_propagated_answers(rows, answers, n_clusters),
        _cuts_of_forest(rows, answers, n_clusters, seed, n_jobs),
        _cuts_by_answers(rows, answers, n_clusters),
        _correlation_clusterings(rows, answers, seed),
    ]


def _without_answers(rows: Rows, answers: AnswerModel, seed: int) -> Unconstrained | None:
    """Group rows by their features alone; None if there are no groups, or too many rows."""
    are_few = answers.n_pairs < MOST_FADED * answers.n_samples
    if not isinstance(rows, Prepared) or not (are_few or answers.n_samples <= MANY_ROWS):
        return None
    with silenced():
        make = partial(groups_without_answers, rows, None, seed)
        found: Unconstrained = rows.once(("alone", seed), make)
    return found if found.are_groups else None


def _parts_with_gaps(rows: Rows) -> list[Labels]:
    """Cut long edges of the spanning tree, if the parts are not too many."""
    if rows.gaps is None:
        return []
    found = {int(one.max()) + 1: one for one in map(rows.gaps.components, LONG_EDGES)}
    return [one for k, one in found.items() if 1 < k <= MOST_STARTING_MEMBERSHIPS // len(one)]


def _cuts_of_propagated_answers(
    rows: Rows, answers: Constraints, n_clusters: int | None
) -> list[Labels]:
    """Cut the tree of the affinity after propagating answers; none for many rows."""
    n = answers.n_samples
    if not isinstance(rows, Prepared) or n > DENSE_PROPAGATION_ROWS:
        return []
    affinity = rows.propagated(answers)
    distances = 1 - (affinity + affinity.T) / (2 * affinity.max() or 1.0)
    numbers = numbers_to_cut(n, n_clusters, 7 if n <= MANY else 5)
    return cuts(tree_of(distances, "average"), numbers)


def _cuts_of_forest(
    rows: Rows, answers: Constraints, n_clusters: int | None, seed: int, n_jobs: int | None
) -> list[Labels]:
    """Cut Ward's tree of a constraint propagation forest's affinity, and its spectral embedding.

    Its trees split by the columns that tell answered pairs apart, whatever the other columns say.
    Only if a number is given, and few answers join rows of each group: cuts are refined to groups
    that no other start reaches.
    """
    n, pairs = answers.n_samples, answers.as_pairs()
    if n_clusters is None or not isinstance(rows, Prepared) or n > DENSE_PROPAGATION_ROWS:
        return []
    if len(pairs) >= MANY_SAME * n_clusters**2:
        return []
    with silenced():
        forest = COPRF(N_TREES, random_state=seed, n_jobs=n_jobs)
        forest.fit(rows.X, constraints=pairs)
        affinity: Floats = np.asarray(forest.affinity_matrix_, np.float64)
        found = cuts(tree_of(1.0 - affinity, "ward"), numbers_to_cut(n, n_clusters, N_CUTS))
        if 1 < n_clusters < n - 1:
            spectral = SpectralClustering(n_clusters, random_state=seed)
            found.append(renumbered(spectral.fit_predict(affinity)))
    return found


def _cuts_by_answers(rows: Rows, answers: Constraints, n_clusters: int | None) -> list[Labels]:
    """Cut Ward's tree by a metric of answers, if some are about three rows: few tell of pairs."""
    n, pairs = answers.n_samples, answers.as_pairs()
    are_some = len(answers.triplets) + len(answers.odd_one_out) and len(pairs.must_link)
    if not are_some or not rows.has_features or n > DENSE_PROPAGATION_ROWS:
        return []
    positions = discriminants_of_answers(rows.positions, pairs.must_link, pairs.cannot_link)
    return cuts(ward_of(positions), numbers_to_cut(n, n_clusters, N_CUTS))


def _correlation_clusterings(rows: Rows, answers: Constraints, seed: int) -> list[Labels]:
    """Correlation clusterings of the answers about pairs; none for many rows or of many groups."""
    if answers.n_samples > MANY or not len(answers.pairs):
        return []
    most, X = (MOST_STARTING_GROUPS, rows.X) if rows.has_features else (answers.n_samples, None)
    models = [CorrelationClustering(distance_threshold=t, random_state=seed) for t in THRESHOLDS]
    pairs = answers.as_pairs()
    with silenced():
        each = (one.fit(X, constraints=pairs).labels_ for one in models)
        return [label for label in each if label.max() < most]


def numbers_to_cut(n: int, n_clusters: int | None, n_cuts: int | None = None) -> list[int]:
    """Numbers of groups, from few to many for the number of rows."""
    many = max(n / 250, 1) ** 0.5
    highest = min(max(n / 6 / many, 1.2 * max(n / 12 / many, 8)), n / 3, MOST_STARTING_GROUPS)
    if n_cuts is None:
        n_cuts = 6 if n <= MANY else 3
    found = {2, 3, *np.geomspace(5, max(highest, 5), n_cuts).astype(int).tolist()}
    if n_clusters is not None:
        most = n if n <= MANY else max(n_clusters, MOST_STARTING_GROUPS)
        found |= {min(round(n_clusters * factor), most) for factor in (1.0, 1.5, 2.0)}
    return sorted(k for k in found if 1 <= k <= max(n - 1, 1))


def _weights(partitions: Sequence[Partition]) -> Floats:
    """Weights by energies, which are tempered because features tell the same thing several times.

    A partition weighs less if answers are less probable in it: each tells something of its own.
    """
    energies = [(one.energy, _log_likelihood_of_answers(one)) for one in partitions]
    logs = _tempered(np.transpose(energies), TEMPERS)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _tempered(energies: Floats, tempers: tuple[float, float]) -> Floats:
    energy, by_answers = energies
    lead = np.minimum(energy.max() - energy, by_answers[energy.argmax()] - by_answers)
    return np.asarray(tempers[0] * energy - tempers[1] * np.maximum(lead - LEAST_AGAINST, 0.0))


def _probabilities_of_numbers(energies: Sequence[tuple[int, float, float]]) -> dict[int, float]:
    """Probability of each number of groups, from the best partition of each.

    The prior is uniform in the logarithm of the number. Energies of numbers in between are
    interpolated, linearly in the logarithm.
    """
    columns = np.transpose(energies)
    visited, index = np.unique(columns[0].astype(np.int64), return_inverse=True)
    best = np.full(len(visited), -np.inf)
    np.maximum.at(best, index, _tempered(columns[1:], NUMBER_TEMPERS))
    numbers = np.arange(visited[0], visited[-1] + 1)
    logs = np.interp(np.log(numbers), np.log(visited), best)
    weight = np.exp(logs - logs.max()) / numbers
    return dict(zip(numbers.tolist(), (weight / weight.sum()).tolist(), strict=True))


def _log_likelihood_of_answers(partition: Partition) -> float:
    """Log-likelihood of which answers are wrong, at the error rate that fits them best."""
    if not len(partition.wrong):
        return 0.0
    error = np.clip(partition.wrong.mean(), *SETTINGS.error_bounds)
    return -len(partition.wrong) * float(entr(error) + entr(1 - error))


def _same(partitions: Sequence[Partition]) -> NDArray[np.float32]:
    """Probability that two rows are in one group, (n_samples, n_samples)."""
    weights = np.sqrt(_weights(partitions))
    parts = [w * one.memberships for w, one in zip(weights, partitions, strict=True)]
    columns = np.concatenate(parts, axis=1).astype(np.float32)
    same = columns @ columns.T
    np.fill_diagonal(same, 1.0)
    return np.asarray(same)


def _crossed(pools: Sequence[list[Partition]], best: Sequence[Partition]) -> list[Labels]:
    """Cross good partitions: rows that both put together; the refinement empties groups again."""
    pairs = [(pool[0], pools[-1][0]) for pool in pools[:-1]]
    pairs += [(best[0], other) for other in best[1:2]]
    return [renumbered(a.labels * len(a.labels) + b.labels) for a, b in pairs]


def _cuts_of_own_tree(partitions: Sequence[Partition]) -> list[Labels]:
    """Cut the tree of the partitions' pair probabilities."""
    tree = tree_of(1.0 - _same(partitions).astype(np.float64), "ward")
    best = partitions[0].n_clusters
    return cuts(tree, sorted({max(2, round(best * factor)) for factor in MULTIPLES}))


def _split(one: Partition, rows: Rows) -> list[Labels]:
    """Split each group into a few: answers then merge them, each with its own group or another."""
    positions = discriminants(rows.positions, one.labels) if rows.has_features else rows.X
    labels = [np.zeros(len(positions), np.int64) for _ in N_PARTS]
    for k in range(one.n_clusters):
        chosen = np.flatnonzero(one.labels == k)
        if 1 < len(chosen) <= MANY_ROWS:
            tree = ward_of(positions[chosen])
            for of, n_parts in zip(labels, N_PARTS, strict=True):
                of[chosen] = fcluster(tree, n_parts, "maxclust")
    return [renumbered(one.labels * (max(N_PARTS) + 1) + of) for of in labels]


def _agreed(partitions: list[Partition], n_clusters: int | None, X: Floats) -> Groups:
    """Return the partition with the best expected Jaccard index under the weighted average."""
    weights = _weights(partitions)
    label, n = partitions[0].labels, len(partitions[0].labels)
    if n <= MANY_ROWS and len(partitions) > 1:
        same, jaccard = _same(partitions), 0.8
        for _ in range(3):
            label = renumbered(best_partition(same, label, jaccard / (1 + jaccard), 30)[0])
            size = np.bincount(label)
            inside = np.bincount(label, _sums_within(same, label)).sum() - n
            whole = (size**2).sum() - n + same.sum(dtype=np.float64) - n - inside
            jaccard = float(np.clip(inside / max(whole, 1.0), 0.2, 0.98))
    if n_clusters is not None:
        label = _with_number(label, n_clusters, partitions, weights, X)
    probabilities = _translated(partitions, weights, label)
    found = renumbered(probabilities.argmax(axis=1))
    if found.max() == 0 and len(partitions) > 1 and all(one.n_clusters > 1 for one in partitions):
        # The average of unlike halves is a whole.
        best = _agreed(partitions[:1], n_clusters, X)
        return replace(best, partitions=partitions, weights=weights)
    if n_clusters is None or int(found.max()) + 1 == n_clusters:
        probabilities = probabilities[:, np.unique(probabilities.argmax(axis=1))]
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        label = found
    else:  # all rows of a group prefer other groups: the labels are kept
        is_other = probabilities.argmax(axis=1) != label
        probabilities[is_other] = np.eye(n_clusters)[label[is_other]]
    order = np.argsort([int(np.argmax(label == k)) for k in range(probabilities.shape[1])])
    return Groups(np.argsort(order)[label], probabilities[:, order], partitions, weights)


def _sums_within(same: NDArray[np.float32], label: Labels) -> Floats:
    """Sum the probabilities of each row with the rows of its group, (n_samples,)."""
    of_groups = same @ np.eye(int(label.max()) + 1, dtype=np.float32)[label]
    return np.asarray(of_groups[np.arange(len(label)), label], np.float64)


def _translated(partitions: Sequence[Partition], weights: Floats, label: Labels) -> Floats:
    """Average memberships, translated into the groups of `label` by the rows that they share."""
    groups = np.eye(int(label.max()) + 1)[label]
    total = np.zeros_like(groups)
    for one, weight in zip(partitions, weights, strict=True):
        likeliest = np.eye(one.memberships.shape[1])[one.memberships.argmax(axis=1)]
        shared = likeliest.T @ groups
        total += weight * (
            one.memberships @ (shared / np.maximum(shared.sum(axis=1, keepdims=True), 1.0))
        )
    return np.asarray(total / np.maximum(total.sum(axis=1, keepdims=True), 1e-12))


def _with_number(
    label: Labels, n_clusters: int, partitions: Sequence[Partition], weights: Floats, X: Floats
) -> Labels:
    """Join small groups to their most probable others, or split wide ones, to reach a number."""
    label = renumbered(label)
    while (n_groups := int(label.max()) + 1) > n_clusters:
        of_groups = _translated(partitions, weights, label)
        smallest = int(np.bincount(label).argmin())
        mean = of_groups[label == smallest].mean(axis=0)
        mean[smallest] = -1.0
        if mean.max() <= 0:
            centers = np.stack([X[label == k].mean(axis=0) for k in range(n_groups)])
            mean = -((centers - centers[smallest]) ** 2).sum(axis=1)
            mean[smallest] = -np.inf
        label[label == smallest] = int(mean.argmax())
        label = renumbered(label)
    while (n_groups := int(label.max()) + 1) < min(n_clusters, len(label)):
        each = (X[label == k] for k in range(n_groups))
        trees = [ward_of(rows) if len(rows) > 1 else None for rows in each]
        heights = [-1.0 if tree is None else float(tree[-1, 2]) for tree in trees]
        widest = int(np.argmax(heights))
        tree = trees[widest]
        assert tree is not None
        rows = np.flatnonzero(label == widest)
        halves = fcluster(tree, 2, "maxclust") - 1
        if halves.max() == 0:  # equal rows
            halves = (np.arange(len(rows)) == 0).astype(int)
        label[rows[halves == 1]] = n_groups
    return label
