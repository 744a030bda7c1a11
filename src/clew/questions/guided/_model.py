"""The state of `Guided`: weights, sampled partitions, labels, and the error rate; as arrays.

Saved are the sampled partitions and what they were sampled with, and the averages of probabilities
that labels are computed from, in half precision. Features of pairs follow from the data.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import logit

from clew.kernels.partitions.labels import greedy_merges
from clew.kernels.partitions.pairs import add_average, core_features, number_of_pairs
from clew.kernels.partitions.tables import Answered
from clew.questions.guided._pair_log_odds import (
    START_RATE,
    AskedPairs,
    ErrorRate,
    PairLogOdds,
    WithinRatio,
    error_rate,
)
from clew.questions.guided._posterior import (
    N_PARTITIONS,
    TOP_SHARE,
    JaccardLabels,
    PairSums,
    Posterior,
    SameProbabilities,
    Singles,
    Views,
    averaged,
    cores,
    run,
    share_of_questions,
    square_of,
    sums_of,
    weight_of_new,
)
from clew.questions.guided._start import (
    N_DIMENSIONS,
    N_FEATURES,
    feature_scale,
    is_unconstrained,
    pair_features,
    rows_a_group,
    start_labels,
    start_share,
    unconstrained_labels,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ZERO, NOTHING = np.float32(0.0), np.zeros((0, 0), np.float32)
#: Number of coordinates from which `WithinRatio` is computed.
N_RATIO = 30
#: Steps of sampling before the first question; after half of them `WithinRatio` is
#: fitted.
BURN_IN = 8
#: With more rows than this, half as many steps are made.
SHORT_BURN_IN_ROWS = 1000
#: The first covariance within groups is computed from groups of this many rows on average,
#: multiplied by `feature_scale`.
ROWS_A_GROUP = 8
#: `WithinRatio` is refitted after as many answers as this share of the rows, and at least this
#: many.
RATIO_SHARE, RATIO_FEWEST = 0.25, 20
RATES = (0.005, 0.45)
FIT_RATES = (0.01, 0.4)
PROBABILITIES = (0.03, 0.97)
OFFSET_LIMIT = 8.0
#: Distances are equal if they differ by less, relative to the largest.
EQUAL = 1e-9
#: Predictions are clipped to at most this probability when the error rate is estimated.
SUREST = 0.002
Arrays = dict[str, NDArray[Any]]


class PairAnswer(NamedTuple):
    """An answer "same" or "different"."""

    i: int
    j: int
    same: bool
    weight: float
    annotator: int


class Pairs(NamedTuple):
    """Data of all pairs that do not change with answers."""

    features: Singles
    """(n_pairs, n_features)"""
    seed: int
    n_jobs: int | None


class Step(NamedTuple):
    """What the probabilities of the partitions after a step are computed from."""

    partitions: Ints
    factors: Floats
    evidence: Answered
    odds: PairLogOdds
    within: Floats | None


class Model(NamedTuple):
    """The state after some answers; `learning` returns the next one."""

    pairs: Pairs
    asked: AskedPairs
    odds: PairLogOdds
    ratio: WithinRatio
    rate: ErrorRate
    posterior: Posterior
    found: JaccardLabels
    """Labels by which questions are chosen; they follow the answers at once."""
    shown: JaccardLabels
    """Labels to return, from probabilities that are averaged over more answers."""
    views: Views
    same: SameProbabilities
    steps: tuple[Step, ...]
    """The last two steps, whose probabilities are averaged."""
    next_ratio: float
    """Number of answers after which `WithinRatio` is refitted."""
    start: Ints | None = None
    """Labels before any answer, which are averaged with the sampled partitions at first."""

    @property
    def labels(self) -> Ints:
        """Group of each row, by which questions are chosen."""
        return self.found.labels

    @property
    def error(self) -> float:
        """Share of wrong answers."""
        return self.rate.mean

    def learning(self, answers: Sequence[PairAnswer]) -> Generator[float, None, Model]:
        """Learn a batch of answers, in parts; yield the share of partitions that have moved."""
        asked = self.asked.joined(self._expected(answers)) if answers else self.asked
        model = self._replace(asked=asked)
        if len(asked.same) >= self.next_ratio:
            n = len(self.labels)
            later = self.next_ratio + max(RATIO_FEWEST, RATIO_SHARE * n)
            ratio = self.ratio.refitted(model._surely_one())
            model = model._replace(ratio=ratio, next_ratio=later)
        if len(asked.same):
            odds = self.odds.refitted(asked, float(np.clip(self.error, *FIT_RATES)))
            model = model._replace(odds=odds, rate=error_rate(asked, self._wrong(asked)))
        views = model.odds.views(self.pairs.features, model.ratio.values)
        return (yield from model._replace(views=views).stepping(len(answers)))

    def stepping(self, n_answers: int = 0) -> Generator[float, None, Model]:
        """Continue the sampling, then compute labels; `n_answers` came since the last step."""
        n = len(self.labels)
        evidence = self.asked.evidence(n, self.rate.of_answers(self.asked.annotators, RATES))
        seed = (self.pairs.seed + 7919 * len(self.asked.same)) % 2**32
        factors = self.rate.factors(N_PARTITIONS, RATES, seed)
        posterior, same = yield from self.posterior.stepping(
            self.views, evidence, factors, self.pairs.n_jobs
        )
        step = Step(posterior.partitions, factors, evidence, self.odds, self.ratio.within)
        steps = (*self.steps, step)[-2:]
        start = np.unique(posterior.partitions[0], return_inverse=True)[1].astype(np.int64)
        model = self._replace(posterior=posterior, same=same, steps=steps)
        is_first = self.start is None and len(self.asked.same) == 0
        weight = 1.0 if is_first else weight_of_new(n_answers, n)
        average = add_average(*same, ZERO, start, ZERO, np.float32(weight), self.found.average)
        found = self.found.updated(average, start)
        if is_first:
            return model._replace(found=found, shown=found)
        weight = weight_of_new(n_answers, n, self.error, len(self.asked.same))
        shown = self.shown.updated(model._average(weight), start)
        return model._replace(found=found, shown=shown)

    def _without_same(self) -> Model:
        """Let the probabilities go that the next step computes anew: there is one more of them."""
        return self._replace(same=SameProbabilities(NOTHING, NOTHING))

    def started(self, labels: Ints) -> Model:
        """Set the labels before any answer; their weight falls with each answer."""
        model = self._replace(start=labels)
        return model._replace(shown=JaccardLabels.of(labels, model._average(1.0)))

    def _average(self, weight: float) -> Singles:
        """Average probabilities of pairs, from which `shown` follows."""
        n, n_answers = len(self.labels), len(self.asked.same)
        start, share = self.labels, 0.0
        if self.start is not None:
            start, share = self.start, start_share(n_answers, n)
        return add_average(
            *self.same,
            np.float32(share_of_questions(n_answers, n)),
            start,
            np.float32(share),
            np.float32(weight),
            self.shown.average,
        )

    def _expected(self, answers: Sequence[PairAnswer]) -> AskedPairs:
        """Combine each answer with the features and the log-odds that were known before it."""
        features = np.ones((len(answers), N_FEATURES + 2))
        log_sizes = np.empty((len(answers), 2))
        for row, answer in enumerate(answers):
            first, second = cores(self.same.labels, answer.i, answer.j)
            of_pairs = self.pairs.features, self.ratio.values, self.views.pairs
            core_features(*of_pairs, first, second, TOP_SHARE, features[row, 1:])
            log_sizes[row] = np.log(sorted((len(first), len(second))))
        rows = np.array([(answer.i, answer.j) for answer in answers], np.int64)
        p = self.same.questions[rows[:, 0], rows[:, 1]].astype(np.float64)
        offsets = logit(np.clip(p, *PROBABILITIES)) - features @ self.odds.weights
        return AskedPairs(
            rows,
            np.array([answer.same for answer in answers]),
            np.array([answer.weight for answer in answers]),
            np.array([answer.annotator for answer in answers], np.int64),
            features,
            log_sizes,
            np.clip(offsets, -OFFSET_LIMIT, OFFSET_LIMIT),
            logit(np.clip(p, SUREST, 1 - SUREST)),
        )

    def _wrong(self, asked: AskedPairs) -> Floats:
        """Return the probability that each answer is wrong, under the partitions so far."""
        same = self.same.labels[asked.rows[:, 0], asked.rows[:, 1]].astype(np.float64)
        return np.where(asked.same, 1 - same, same)

    def _surely_one(self) -> Ints:
        """Return groups that are surely right: rows of one group that "same" answers connect."""
        i, j = self.asked.rows.T
        used = self.asked.same & (self.labels[i] == self.labels[j])
        n = len(self.labels)
        graph = coo_array((np.ones(int(used.sum())), (i[used], j[used])), shape=(n, n))
        return connected_components(graph, directed=False)[1].astype(np.int64)


class Start(NamedTuple):
    """What partitions are sampled from, before any answer."""

    pairs: Pairs
    odds: PairLogOdds
    coordinates: Floats
    """Those from which `WithinRatio` is computed."""
    factor: float | None
    """Scale of features; None if all distances are equal."""
    number: float
    """Estimated number of groups."""
    n_clusters: int | None
    distances: Floats | None
    """Distances, if `unconstrained_labels` needs them."""


def unsampled(
    distances: Floats, coordinates: Floats, n_clusters: int | None, seed: int, n_jobs: int | None
) -> Start:
    """Features of pairs from distances and coordinates, which are sorted by decreasing variance."""
    n = len(distances)
    if _all_equal(distances):
        features = np.zeros((number_of_pairs(n), N_FEATURES), np.float32)
        flat = PairLogOdds.without_features(), np.zeros((n, 1)), None, 1.0, n_clusters, None
        return Start(Pairs(features, seed, n_jobs), *flat)
    ward = linkage(coordinates[:, :N_DIMENSIONS], "ward")
    rows = rows_a_group(distances, ward, n_clusters)
    factor = feature_scale(rows)
    features = pair_features(distances, coordinates, ward, factor, seed)
    deviation = coordinates.std(axis=0)
    kept = coordinates[:, :N_RATIO][:, (deviation > 1e-6 * deviation.max())[:N_RATIO]]
    return Start(
        Pairs(features, seed, n_jobs),
        PairLogOdds(),
        np.ascontiguousarray(kept),
        factor,
        n / rows,
        n_clusters,
        distances if is_unconstrained(n, n_clusters) else None,
    )


def sampled(start: Start) -> Model:
    """Sample partitions, the state before any answer."""
    pairs, n = start.pairs, len(start.coordinates)
    ratio = WithinRatio.start(start.coordinates)
    if start.factor is not None:  # small groups of Ward's linkage are mostly pure
        tree = linkage(start.coordinates, "ward")
        groups = fcluster(tree, max(2, int(n / (ROWS_A_GROUP * start.factor))), "maxclust") - 1
        ratio = ratio.refitted(groups.astype(np.int64))
    views = start.odds.views(pairs.features, ratio.values)
    labels = greedy_merges(views.pairs, TOP_SHARE)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    identity = np.eye(n, dtype=np.float32)
    model = Model(
        pairs,
        AskedPairs.none(N_FEATURES + 2),
        start.odds,
        ratio,
        START_RATE,
        Posterior.start(labels, pairs.seed),
        JaccardLabels(labels, identity),
        JaccardLabels(labels, identity),
        views,
        SameProbabilities(NOTHING, NOTHING),
        (),
        max(RATIO_FEWEST, RATIO_SHARE * n),
    )
    if start.factor is None:  # without answers, rows stay apart
        return run(model._without_same().stepping())
    n_steps = BURN_IN if n <= SHORT_BURN_IN_ROWS else BURN_IN // 2
    for _ in range(n_steps // 2):
        model = run(model._without_same().stepping())
    ratio = model.ratio.refitted(model.labels)
    views = model.odds.views(model.pairs.features, ratio.values)
    model = model._replace(ratio=ratio, views=views)
    for _ in range(n_steps - n_steps // 2):
        model = run(model._without_same().stepping())
    others = None
    if start.distances is not None:
        others = unconstrained_labels(start.distances, start.n_clusters, pairs.seed, pairs.n_jobs)
    given = model.views.pairs, model.labels, start.number, start.n_clusters, others
    return model.started(start_labels(*given))


def _all_equal(distances: Floats) -> bool:
    """Whether all distances between two rows are equal: then they are not evidence."""
    others = distances[~np.eye(len(distances), dtype=np.bool_)]
    return len(others) > 2 and bool(np.ptp(others) <= EQUAL * others.max())


def arrays_of(model: Model) -> Arrays:
    """Return the arrays of a state; n² / 2 numbers of half precision for n rows, twice."""
    found: Arrays = {f"asked.{name}": array for name, array in model.asked._asdict().items()}
    found |= _of_odds("odds", model.odds) | _optional("prior", model.ratio.prior)
    found |= _optional("within", model.ratio.within) | _optional("start", model.start)
    found["rate"] = np.array([model.rate.mean, *model.rate.probabilities])
    found["annotators"] = np.array([*model.rate.by_annotator.items()], np.float64).reshape(-1, 2)
    found["random"] = model.posterior.states
    found["next_ratio"] = np.array(model.next_ratio)
    for at, step in enumerate(model.steps):
        found[f"step{at}.partitions"] = step.partitions.astype(np.int32)
        found[f"step{at}.factors"] = step.factors
        found |= _of_odds(f"step{at}.odds", step.odds)
        found |= _optional(f"step{at}.within", step.within)
        for name, array in step.evidence._asdict().items():
            found[f"step{at}.evidence.{name}"] = array
    lower = np.tri(len(model.labels), k=-1, dtype=np.bool_)
    for name, labels in (("found", model.found), ("shown", model.shown)):
        found[f"{name}.labels"] = labels.labels.astype(np.int32)
        found[f"{name}.average"] = labels.average.astype(np.float16)[lower]
        found[f"{name}.jaccard"] = np.array(labels.jaccard)
    return found


def model_of(start: Start, arrays: Mapping[str, NDArray[Any]]) -> Model:
    """Compute a state again. `KeyError` or `ValueError` if the arrays are not those of a state."""
    features, coordinates = start.pairs.features, start.coordinates
    n_rows = len(coordinates)
    steps: list[Step] = []
    sums: list[PairSums] = []
    while f"step{len(steps)}.factors" in arrays:
        at = f"step{len(steps)}"
        step = Step(
            arrays[f"{at}.partitions"].astype(np.int64),
            arrays[f"{at}.factors"],
            Answered(*(arrays[f"{at}.evidence.{name}"] for name in Answered._fields)),
            _odds(start.odds, f"{at}.odds", arrays),
            arrays.get(f"{at}.within"),
        )
        ratio = WithinRatio.of(coordinates, None, step.within)
        views = step.odds.views(features, ratio.values)
        parts = step.partitions, views, step.evidence, step.factors
        sums.append(sums_of(*parts, start.pairs.n_jobs))
        steps.append(step)
    before, last = [None, *sums][-2:]
    assert last is not None
    mean, *probabilities = arrays["rate"].tolist()
    rates = {int(code): rate for code, rate in arrays["annotators"].tolist()}
    odds = _odds(start.odds, "odds", arrays)
    ratio = WithinRatio.of(coordinates, arrays.get("prior"), arrays.get("within"))
    return Model(
        start.pairs,
        AskedPairs(*(arrays[f"asked.{name}"] for name in AskedPairs._fields)),
        odds,
        ratio,
        ErrorRate(mean, np.array(probabilities), rates),
        Posterior(steps[-1].partitions, arrays["random"], last),
        _labels("found", n_rows, arrays),
        _labels("shown", n_rows, arrays),
        odds.views(features, ratio.values),
        averaged(before, last, n_rows),
        tuple(steps),
        float(arrays["next_ratio"]),
        arrays.get("start"),
    )


def _optional(name: str, array: NDArray[Any] | None) -> Arrays:
    return {} if array is None else {name: array}


def _of_odds(name: str, odds: PairLogOdds) -> Arrays:
    return {f"{name}.weights": odds.weights, f"{name}.blocks": odds.block_weights}


def _odds(start: PairLogOdds, name: str, arrays: Mapping[str, NDArray[Any]]) -> PairLogOdds:
    weights, blocks = arrays[f"{name}.weights"], arrays[f"{name}.blocks"]
    return start._replace(weights=weights, block_weights=blocks)


def _labels(name: str, n: int, arrays: Mapping[str, NDArray[Any]]) -> JaccardLabels:
    of_pairs = arrays[f"{name}.average"].astype(np.float32)
    average = square_of(of_pairs, of_pairs, 2, n)
    np.fill_diagonal(average, 1.0)
    labels = arrays[f"{name}.labels"].astype(np.int64)
    return JaccardLabels(labels, average, float(arrays[f"{name}.jaccard"]))
