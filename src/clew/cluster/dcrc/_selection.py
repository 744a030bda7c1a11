"""DCRC's choice of tau and lam by cross-validation over the answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import in_threads
from clew.answers import CODES, DONT_KNOW
from clew.cluster.dcrc._answers import AnsweredRows
from clew.cluster.dcrc._em import Errors, Steps, run_em
from clew.cluster.dcrc._features import Problem, training_rows
from clew.cluster.dcrc._objective import Penalties, TrainingRows, log_probabilities
from clew.constraints import Constraints
from clew.constraints._folds import held_out_folds
from clew.constraints._meanings import TRUTH

__all__ = [
    "DEFAULT_LAM",
    "DEFAULT_TAU",
    "LAMS",
    "TAUS",
    "Choice",
    "agreement",
    "choose",
    "n_scorable",
]

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


class Choice(NamedTuple):
    """The chosen setting, and the scores of all that were tried."""

    tau: float
    lam: float
    scores: dict[tuple[float, float], float]
    """Agreement with the held-out answers, by setting; empty if nothing was tried."""

    def is_clearly_above(self, other: Choice, n_answers: int) -> bool:
        """Whether the agreement is higher by more than half of its standard error.

        Parameters
        ----------
        other : Choice
            The choice to compare with.
        n_answers : int
            Number of answers that were scored, see `n_scorable`.
        """
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
    """Choose the setting whose groups agree best with held-out answers.

    Parameters
    ----------
    problem : Problem
        Rows and answers.
    starts : sequence of ndarray of shape (n_groups, n_features + 1)
        Initial weights. All settings are tried from those that reach the highest lower bound after
        six rounds with all answers and the setting nearest to the default.
    errors : Errors
        Assumptions about the errors of annotators.
    taus, lams : sequence of float
        Values to choose from.
    balance : bool
        Whether groups of equal size are rewarded.
    is_scored : bool
        Whether to compute the score even if there is only one setting.
    seed : int
        Seed of the folds.
    n_jobs : int or None
        Number of threads, in which settings and folds are fitted.

    Returns
    -------
    Choice
        Among settings of equal score, the one nearest to the default.
    """
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
    """Return the weighted share of answers that follow from the groups.

    Don't-knows about pairs are ignored: groups always determine whether two rows are the same
    or different.

    Parameters
    ----------
    groups : ndarray of shape (n_samples,), int64
        The group of each row.
    held_out : Constraints
        The answers.

    Returns
    -------
    float
        In [0, 1]; 0.5 if no answer has any weight.
    """
    agreeing = total = 0.0
    for table in held_out.tables:
        code = np.array(CODES[table.kind])[table.answer_index]
        weight = table.weights * ((table.kind != "pair") | (code != DONT_KNOW))
        agreeing += float(weight @ (TRUTH[table.kind](groups, table.rows) == code))
        total += float(weight.sum())
    return agreeing / total if total else 0.5
