"""DCRC's features, starts, and choice of tau and lam by cross-validation over the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from clew._limits import BLOCK_ROWS
from clew._parallel import Progress, in_threads
from clew._units import Units
from clew.answers import CODES, DONT_KNOW
from clew.cluster._kmeans import kmeans
from clew.cluster.dcrc._em import (
    AnsweredRows,
    Errors,
    Penalties,
    Solution,
    Steps,
    TrainingRows,
    ascend,
    log_probabilities,
    run_em,
)
from clew.constraints import Constraints
from clew.constraints._meanings import TRUTH
from clew.constraints._support import held_out_folds
from clew.similarity import SKLR
from clew.similarity.kernels.feature_maps import AdaptiveGaussian

if TYPE_CHECKING:
    from clew.cluster.dcrc.dcrc import DCRC

Kernel = Literal["adaptive"] | None
#: With more rows, computing kernel features takes longer than all the rest of the fit.
MAX_ROWS_OF_KERNEL = 200_000
TAUS = (0.1, 0.5, 1.0, 1.5)
LAMS = tuple(2.0**power for power in (-10, -8, -6, -4, -2))
#: Used with fewer than `MIN_ANSWERS` answers, and if no other setting has a higher score.
DEFAULT_TAU, DEFAULT_LAM = 1.0, 2.0**-8
N_FOLDS = 5
#: All settings are tried on the first folds, the best of them on the other folds too.
N_FIRST_FOLDS = 2
N_KEPT = 6
MIN_ANSWERS = 25
MAX_UNANSWERED = 1_000
STEPS = Steps(max_iter=6, tol=1e-3, max_sweeps=20, sweep_tol=1e-3, max_ascent=8)
#: Largest number of rows without answers that SKLR is fitted to; its groups are only a start.
MAX_ROWS_OF_SKLR = 3_000
#: The logistic model of given groups.
MAX_ITER, RIDGE = 100, Penalties(tau=0.0, balance=0.0, lam=1e-3)
#: Kernel features are scaled to the length of this number of standardized features, so that one
#: penalty on weights suits both.
N_FEATURES_OF_KERNEL = 32
#: The log-likelihood of the answers is divided by their number, or by this number if there are
#: fewer. With the mean, as in the paper, a single group is optimal for a few must-links.
MIN_EFFECTIVE_ANSWERS = 50


class Trial(NamedTuple):
    """Features, with the starts and the setting that were found for them."""

    kernel: Kernel
    map_: Transform
    problem: Problem
    starts: dict[str, NDArray[np.float64]]
    choice: Choice


def best_trial(
    model: DCRC,
    X: NDArray[np.float64],
    known: Constraints,
    n_samples: int,
    errors: Errors,
    seeds: Sequence[int],
) -> Trial:
    """Use the features that `kernel` names, or those that agree best with held-out answers."""
    map_seed, start_seed, fold_seed = seeds
    by_sklr = None
    if model.init != "kmeans" and len(known):
        by_sklr = groups_by_sklr(known, X, model.n_clusters, model.n_init, start_seed)

    def tried(kernel: Kernel) -> Trial:
        map_ = _fitted_map(kernel, X, model.rank, map_seed)
        problem = Problem(with_ones(map_.transform(X)), known, n_samples)
        starts = initial_weights(
            model.init, problem, by_sklr, model.n_clusters, model.n_init, start_seed
        )
        choice = choose(
            problem, list(starts.values()), errors,
            taus=TAUS if model.tau == "cv" else (float(model.tau),),
            lams=LAMS if model.lam == "cv" else (float(model.lam),),
            balance=model.balance, is_scored=model.kernel == "cv",
            seed=fold_seed, n_jobs=model.n_jobs,
        )  # fmt: skip
        return Trial(kernel, map_, problem, starts, choice)

    if model.kernel != "cv":
        return tried(model.kernel)
    plain = tried(None)
    has_few_answers = not plain.choice.scores
    if has_few_answers or n_samples > MAX_ROWS_OF_KERNEL:
        return plain
    adaptive = tried("adaptive")
    is_better = adaptive.choice.is_clearly_above(plain.choice, n_scorable(known))
    return adaptive if is_better else plain


def _fitted_map(kernel: Kernel, X: NDArray[np.float64], rank: int, seed: int) -> Transform:
    if kernel == "adaptive":
        return ScaledFeatures(AdaptiveGaussian(rank, seed).fit(X))
    return GivenFeatures(X)


class Choice(NamedTuple):
    """The chosen setting, and the scores of all that were tried."""

    tau: float
    lam: float
    scores: dict[tuple[float, float], float]
    """Agreement with the held-out answers, by setting; empty if nothing was tried."""

    def is_clearly_above(self, other: Choice, n_answers: int) -> bool:
        """Whether the agreement is higher by more than half of its standard error."""
        own, others = (choice.scores[choice.tau, choice.lam] for choice in (self, other))
        return bool(own - others > 0.5 * (others * (1 - others) / n_answers) ** 0.5)


class Fold(NamedTuple):
    """Training answers with their rows, and held-out answers."""

    rows: TrainingRows
    answers: AnsweredRows
    held_out: Constraints


def choose(
    problem: Problem,
    starts: Sequence[NDArray[np.float64]],
    errors: Errors,
    *,
    taus: Sequence[float],
    lams: Sequence[float],
    balance: bool,
    is_scored: bool,
    seed: int,
    n_jobs: int | None,
) -> Choice:
    """Choose the setting that agrees best with held-out answers; in a tie, near the default."""
    settings = sorted(product(taus, lams), key=_distance_from_default)
    if n_scorable(problem.known) < MIN_ANSWERS or (len(settings) == 1 and not is_scored):
        return Choice(*settings[0], {})
    folds = _folds(problem, errors, seed)
    weights = _most_promising(problem, starts, errors, settings[0], balance=balance, seed=seed)

    def score(task: tuple[tuple[float, float], Fold]) -> float:
        (tau, lam), fold = task
        penalties = Penalties.of(tau, lam, balance=balance)
        solution = run_em(fold.rows, fold.answers, weights, errors, penalties, STEPS)
        groups = log_probabilities(solution.weights, problem.features.T).argmax(axis=0)
        return agreement(groups, fold.held_out)

    scores: dict[tuple[float, float], list[float]] = {setting: [] for setting in settings}
    kept = settings
    for part in (folds[:N_FIRST_FOLDS], folds[N_FIRST_FOLDS:]):
        tasks = [(setting, fold) for setting in kept for fold in part]
        found = in_threads(score, tasks, n_jobs=n_jobs, what="settings")
        for (setting, _), value in zip(tasks, found, strict=True):
            scores[setting].append(value)
        # Sorting is stable: settings of equal score stay in the order of their distance from the
        # default.
        kept = sorted(kept, key=lambda setting: -np.mean(scores[setting]))[:N_KEPT]
    means = {setting: float(np.mean(values)) for setting, values in scores.items()}
    return Choice(*max(kept, key=means.__getitem__), means)


def _most_promising(
    problem: Problem,
    starts: Sequence[NDArray[np.float64]],
    errors: Errors,
    setting: tuple[float, float],
    *,
    balance: bool,
    seed: int,
) -> NDArray[np.float64]:
    """Return the start that reaches the highest lower bound within the rounds of `STEPS`."""
    if len(starts) == 1:
        return starts[0]
    answers = errors.informative_answers(problem.known)
    rows = training_rows(problem, answers, MAX_UNANSWERED, seed)
    penalties = Penalties.of(*setting, balance=balance)
    bounds = [
        run_em(rows, answers, weights, errors, penalties, STEPS).bounds[-1] for weights in starts
    ]
    return starts[int(np.argmax(bounds))]


def _distance_from_default(setting: tuple[float, float]) -> float:
    tau, lam = np.maximum(setting, 1e-9)
    return float(abs(np.log2(tau / DEFAULT_TAU)) + abs(np.log2(lam / DEFAULT_LAM)) / 2)


def _folds(problem: Problem, errors: Errors, seed: int) -> list[Fold]:
    folds = []
    for kept, held_out in held_out_folds(problem.known, N_FOLDS, seed):
        answers = errors.informative_answers(kept)
        rows = training_rows(problem, answers, MAX_UNANSWERED, seed)
        folds.append(Fold(rows, answers, held_out))
    return folds


def n_scorable(known: Constraints) -> int:
    """Count the answers that groups can agree with: all but don't-knows about pairs."""
    return len(known) - int((known.pair_answers == DONT_KNOW).sum())


def agreement(groups: NDArray[np.int64], held_out: Constraints) -> float:
    """Weighted share of answers that groups (n_samples,) imply; no don't-knows about pairs."""
    agreeing = total = 0.0
    for table in held_out.tables:
        code = np.array(CODES[table.kind])[table.answer_index]
        weight = table.weights * ((table.kind != "pair") | (code != DONT_KNOW))
        agreeing += float(weight @ (TRUTH[table.kind](groups, table.rows) == code))
        total += float(weight.sum())
    return agreeing / total if total else 0.5


class BestSolution(NamedTuple):
    """The best solution, the name of its start, and the answers that it was fitted to."""

    start: str
    answers: AnsweredRows
    solution: Solution


class Groups(NamedTuple):
    """Groups of some of the sampled rows."""

    rows: NDArray[np.int64]
    group: NDArray[np.int64]


def groups_by_sklr(
    known: Constraints, X: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> Groups:
    """Find groups by k-means in the space that soft SKLR learns from the answers."""
    rows = sampled_rows(known, MAX_ROWS_OF_SKLR, seed)
    space = SKLR(random_state=seed).fit(X[rows], constraints=known.subset(rows))
    return Groups(rows, _kmeans(space.embedding_, n_clusters, n_init, seed))


def initial_weights(
    init: str, problem: Problem, by_sklr: Groups | None, n_clusters: int, n_init: int, seed: int
) -> dict[str, NDArray[np.float64]]:
    """Return the weights of each start by name, (n_clusters, n_features + 1)."""
    starts = {}
    if init != "sklr" or by_sklr is None:
        group = _kmeans(problem.features[:, :-1], n_clusters, n_init, seed)
        starts["kmeans"] = _logistic_model(problem.features, group, n_clusters)
    if by_sklr is not None:
        features = problem.features[by_sklr.rows]
        starts["sklr"] = _logistic_model(features, by_sklr.group, n_clusters)
    return starts


def best_solution(
    starts: Mapping[str, NDArray[np.float64]],
    problem: Problem,
    errors: Errors,
    penalties: Penalties,
    steps: Steps,
    n_jobs: int | None,
    callback: Progress | None,
) -> BestSolution:
    """Run EM from each start, and return the solution of highest `Solution.score`."""
    answers = errors.informative_answers(problem.known)
    rows = training_rows(problem, answers, len(problem.features), 0)
    solutions = in_threads(
        lambda weights: run_em(rows, answers, weights, errors, penalties, steps),
        list(starts.values()),
        n_jobs=n_jobs,
        what="starts",
        callback=callback,
    )
    name, best = max(zip(starts, solutions, strict=True), key=lambda item: item[1].score)
    return BestSolution(name, answers, best)


def _kmeans(
    features: NDArray[np.float64], n_clusters: int, n_init: int, seed: int
) -> NDArray[np.int64]:
    k = min(n_clusters, len(features))
    return kmeans(features, k, n_init=n_init, random_state=seed).labels


def _logistic_model(
    features: NDArray[np.float64], group: NDArray[np.int64], n_clusters: int
) -> NDArray[np.float64]:
    """Fit the weights to given groups by ridge regression."""
    n = len(features)
    rows = TrainingRows(np.ascontiguousarray(features.T), n, np.full(n, 1.0 / n), n)
    weights = np.zeros((n_clusters, features.shape[1]))
    return ascend(weights, rows, np.eye(n_clusters)[:, group], RIDGE, MAX_ITER)[0]


class Transform(Protocol):
    """Computes the features of the logistic model."""

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute them for any rows."""


class GivenFeatures:
    """The features themselves, centered and divided by one number, see `Units.of_mean_variance`."""

    def __init__(self, X: NDArray[np.float64]) -> None:
        self._units = Units.of_mean_variance(X)

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Center and divide rows."""
        return self._units.scale(X)


class ScaledFeatures:
    """Features of a kernel, with the length of `N_FEATURES_OF_KERNEL` standardized features."""

    def __init__(self, map_: Transform) -> None:
        self._map = map_

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the features of rows."""
        return np.asarray(self._map.transform(X) * N_FEATURES_OF_KERNEL**0.5)


class Problem(NamedTuple):
    """The sampled rows, numbered from 0, and the answers about them."""

    features: NDArray[np.float64]
    """(n_rows, n_features + 1); the last feature is 1."""
    known: Constraints
    """The answers about these rows."""
    n_samples: int
    """Number of rows that the sample represents."""


def sampled_rows(known: Constraints, max_unanswered: int, seed: int) -> NDArray[np.int64]:
    """Return the rows with answers and at most `max_unanswered` random others, ascending."""
    rows = (known.pairs.ravel(), known.triplets.ravel(), known.odd_one_out.ravel())
    is_unanswered = np.ones(known.n_samples, bool)
    is_unanswered[np.concatenate(rows)] = False
    others = np.flatnonzero(is_unanswered)
    if len(others) > max_unanswered:
        random = np.random.RandomState(seed)
        others = random.choice(others, max_unanswered, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(~is_unanswered), others]))


def training_rows(
    problem: Problem, answers: AnsweredRows, max_unanswered: int, seed: int
) -> TrainingRows:
    """Return the rows with answers, followed by all others or a sample of them."""
    n = len(problem.features)
    unanswered = np.setdiff1d(np.arange(n), answers.rows, assume_unique=True)
    if len(unanswered) > max_unanswered:
        random = np.random.RandomState(seed)
        unanswered = np.sort(random.choice(unanswered, max_unanswered, replace=False))
    order = np.concatenate([answers.rows, unanswered])
    n_answered = len(answers.rows)
    share = np.full(len(order), 1.0 / problem.n_samples)
    share[n_answered:] = (1.0 - n_answered / problem.n_samples) / max(len(unanswered), 1)
    features = np.ascontiguousarray(problem.features[order].T)
    return TrainingRows(features, n_answered, share, max(answers.n_answers, MIN_EFFECTIVE_ANSWERS))


def group_probabilities(
    X: NDArray[np.float64], map_: Transform, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability of each group for any rows, (n_rows, n_groups), block by block."""
    probabilities = np.empty((len(X), len(weights)))
    for start in range(0, len(X), BLOCK_ROWS):
        block = with_ones(map_.transform(X[start : start + BLOCK_ROWS]))
        probabilities[start : start + BLOCK_ROWS] = np.exp(log_probabilities(weights, block.T)).T
    return probabilities


def with_ones(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append a feature that is 1; its weight is the bias."""
    return np.column_stack([features, np.ones(len(features))])
