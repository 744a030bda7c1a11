"""DCRC's choice of tau and lam, by answers held out."""

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
from clew.cluster.dcrc._features import View, seen_by
from clew.cluster.dcrc._objective import Penalties, Seen, log_chances
from clew.constraints import Constraints
from clew.constraints._folds import held_out_folds
from clew.constraints._meanings import TRUTH

__all__ = [
    "DEFAULT_LAM",
    "DEFAULT_TAU",
    "LAMS",
    "TAUS",
    "Choice",
    "choose",
    "n_judging",
    "share_right",
]

TAUS = (0.1, 0.5, 1.0, 1.5)
LAMS = tuple(2.0**power for power in (-10, -8, -6, -4, -2))
#: Taken where too few answers would judge, and where others are no better.
DEFAULT_TAU, DEFAULT_LAM = 1.0, 2.0**-8
N_FOLDS = 5
#: Folds on which all settings are tried; the best go on to the others.
N_FIRST_FOLDS = 2
N_GOING_ON = 6
MIN_ANSWERS = 25
MAX_UNANSWERED = 1_000
STEPS = Steps(max_iter=6, tol=1e-3, max_sweeps=20, sweep_tol=1e-3, max_ascent=8)


class Choice(NamedTuple):
    """What was chosen, and by which scores."""

    tau: float
    lam: float
    scores: dict[tuple[float, float], float]
    """Share of held-out answers that the groups give, by setting; empty where nothing was tried."""

    def is_clearly_above(self, other: Choice, n_answers: int) -> bool:
        """Whether the share of held-out answers is higher by half of its standard error.

        `n_answers` of them judged, see `n_judging`.
        """
        mine, theirs = (choice.scores[choice.tau, choice.lam] for choice in (self, other))
        return bool(mine - theirs > 0.5 * (theirs * (1 - theirs) / n_answers) ** 0.5)


class Fold(NamedTuple):
    """Answers to learn from, and answers to judge by."""

    seen: Seen
    answers: AnsweredRows
    held: Constraints


def choose(
    view: View,
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
    """Try settings, and keep the one whose groups give most of the answers held out.

    Parameters
    ----------
    view : View
        What the fit looks at.
    starts : sequence of ndarray of shape (n_groups, n_features + 1)
        Weights to start from. Trials start from those that lead to the highest lower bound within
        some rounds, with all answers and the setting nearest to the default.
    errors : Errors
        What is believed of annotators.
    taus, lams : sequence of float
        What to choose from.
    balance : bool
        Whether groups are held in balance.
    is_scored : bool
        Whether to try a single setting too.
    seed : int
        Deals the answers out.
    n_jobs : int or None
        Threads over trials.

    Returns
    -------
    Choice
        Of settings that score alike, the one nearest to the default.
    """
    settings = sorted(product(taus, lams), key=_distance_from_default)
    if n_judging(view.known) < MIN_ANSWERS or (len(settings) == 1 and not is_scored):
        return Choice(*settings[0], {})
    folds = _folds(view, errors, seed)
    weights = _most_promising(view, starts, errors, settings[0], balance=balance, seed=seed)

    def score(task: tuple[tuple[float, float], Fold]) -> float:
        (tau, lam), fold = task
        penalties = Penalties.of(tau, lam, balance=balance)
        found = run_em(fold.seen, fold.answers, weights, errors, penalties, STEPS)
        groups = log_chances(found.weights, view.features.T).argmax(axis=0)
        return share_right(groups, fold.held)

    heard: dict[tuple[float, float], list[float]] = {setting: [] for setting in settings}
    going = settings
    for part in (folds[:N_FIRST_FOLDS], folds[N_FIRST_FOLDS:]):
        tasks = [(setting, fold) for setting in going for fold in part]
        scores = in_threads(score, tasks, n_jobs=n_jobs, what="settings")
        for (setting, _), value in zip(tasks, scores, strict=True):
            heard[setting].append(value)
        # Stable: of settings alike, those near the default come first.
        going = sorted(going, key=lambda setting: -np.mean(heard[setting]))[:N_GOING_ON]
    means = {setting: float(np.mean(values)) for setting, values in heard.items()}
    return Choice(*max(going, key=means.__getitem__), means)


def _most_promising(
    view: View,
    starts: Sequence[NDArray[np.float64]],
    errors: Errors,
    setting: tuple[float, float],
    *,
    balance: bool,
    seed: int,
) -> NDArray[np.float64]:
    """Find the start that leads to the highest lower bound within some rounds."""
    if len(starts) == 1:
        return starts[0]
    answers = errors.answers_in(view.known)
    seen = seen_by(view, answers, MAX_UNANSWERED, seed)
    penalties = Penalties.of(*setting, balance=balance)
    bounds = [
        run_em(seen, answers, weights, errors, penalties, STEPS).bounds[-1] for weights in starts
    ]
    return starts[int(np.argmax(bounds))]


def _distance_from_default(setting: tuple[float, float]) -> float:
    tau, lam = np.maximum(setting, 1e-9)
    return float(abs(np.log2(tau / DEFAULT_TAU)) + abs(np.log2(lam / DEFAULT_LAM)) / 2)


def _folds(view: View, errors: Errors, seed: int) -> list[Fold]:
    folds = []
    for kept, held in held_out_folds(view.known, N_FOLDS, np.random.RandomState(seed)):
        answers = errors.answers_in(kept)
        folds.append(Fold(seen_by(view, answers, MAX_UNANSWERED, seed), answers, held))
    return folds


def n_judging(known: Constraints) -> int:
    """Count the answers by which groups can be judged: all but don't-knows about pairs."""
    return len(known) - int((known.pair_answers == DONT_KNOW).sum())


def share_right(groups: NDArray[np.int64], held: Constraints) -> float:
    """Give the share of answers, by weight, that groups give as well.

    Don't-knows about pairs are left aside: groups always settle a pair.

    Parameters
    ----------
    groups : ndarray of shape (n_samples,), int64
        The group of each row.
    held : Constraints
        The answers.

    Returns
    -------
    float
        0.5 where there is nothing to judge by.
    """
    right = whole = 0.0
    for said in held.tables:
        code = np.array(CODES[said.kind])[said.answer_index]
        counts = said.weights * ((said.kind != "pair") | (code != DONT_KNOW))
        right += float(counts @ (TRUTH[said.kind](groups, said.rows) == code))
        whole += float(counts.sum())
    return right / whole if whole else 0.5
