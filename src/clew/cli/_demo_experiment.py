"""The experiment of ``clew demo``: images, people who err, and three methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import in_threads, one_library_thread
from clew.answers import SAME, Question
from clew.cli._models import build_model
from clew.cli._tables import Groups, doubted_answers, find_groups
from clew.constraints import Constraints
from clew.datasets import load
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle

__all__ = ["METHODS", "Outcome", "Run", "Setting", "experiment"]

N_DIGITS = 10
#: What is compared: keys of the figures, and words for people.
METHODS = {"ari_no_answers": "no answers", "ari_ward": "Ward linkage", "ari": "clew"}


@dataclass(frozen=True, slots=True)
class Setting:
    """The size of the experiment."""

    seeds: int = 3
    n_answers: int = 1000
    error: float = 0.1
    jobs: int = -1


class Run(NamedTuple):
    """The results of one seed."""

    known: Constraints
    """The answers."""
    wrong: NDArray[np.bool_]
    """Whether each answer is wrong, (n_answers,)."""
    doubted: NDArray[np.int64]
    """Positions of the answers that look wrong, the most doubtful first."""
    p_wrong: NDArray[np.float64]
    """Estimated probability that each answer is wrong, (n_answers,)."""
    groups: Groups
    probabilities: NDArray[np.float64]
    """Probability of each group, (n_images, n_groups)."""


class Outcome(NamedTuple):
    """The results of all seeds."""

    X: NDArray[np.float64]
    """Images, (n_images, 64), from 0 for white to 16 for black."""
    y: NDArray[np.int64]
    """The digit that each shows."""
    scores: dict[str, list[float]]
    """Adjusted Rand index by method of `METHODS` and seed."""
    first: Run
    """The run with seed 0."""


def experiment(setting: Setting, advance: Callable[[int, int], None]) -> Outcome:
    """Group the images with each seed.

    Parameters
    ----------
    setting : Setting
        The size of the experiment.
    advance : callable
        Called after each fit with the number of fits done and of all.

    Returns
    -------
    Outcome
    """
    digits = load("digits")
    X, y = np.asarray(digits.X), digits.y
    n_fits = 1 + 2 * setting.seeds
    ward = adjusted_rand_score(y, _ward(X))
    advance(1, n_fits)

    def fitted(task: tuple[int, Constraints | None]) -> Any:
        seed, known = task
        return build_model("guided", N_DIGITS, seed=seed).fit(X, constraints=known)

    asked = [ask(y, setting, seed) for seed in range(setting.seeds)]
    tasks = [(seed, used) for seed, known in enumerate(asked) for used in (None, known)]
    with one_library_thread():
        models = in_threads(
            fitted,
            tasks,
            n_jobs=setting.jobs,
            callback=lambda done, _: advance(done + 1, n_fits),
        )
    scores = {
        "ari_no_answers": [adjusted_rand_score(y, model.labels_) for model in models[::2]],
        "ari_ward": [ward] * setting.seeds,
        "ari": [adjusted_rand_score(y, model.labels_) for model in models[1::2]],
    }
    return Outcome(X, y, scores, _run_of(models[1], X, asked[0], y))


def ask(y: NDArray[np.int64], setting: Setting, seed: int) -> Constraints:
    """Ask simulated people about random pairs, each pair once."""
    pairs = Constraints.from_labels(y, setting.n_answers, random_state=seed).pairs
    people = SimulatedOracle(y, error=setting.error, random_state=seed)
    answers = people.answer_all([Question("pair", (i, j)) for i, j in pairs.tolist()])
    return Constraints.from_answers(answers, n_samples=len(y))


def _ward(X: NDArray[np.float64]) -> NDArray[np.int64]:
    from sklearn.cluster import AgglomerativeClustering

    labels: NDArray[np.int64] = AgglomerativeClustering(N_DIGITS, linkage="ward").fit_predict(X)
    return labels


def _run_of(model: Any, X: NDArray[np.float64], known: Constraints, y: NDArray[np.int64]) -> Run:
    is_same = y[known.pairs[:, 0]] == y[known.pairs[:, 1]]
    return Run(
        known=known,
        wrong=is_same != (known.pair_answers == SAME),
        doubted=np.array([answer.at for answer in doubted_answers(model)], np.int64),
        p_wrong=model.answer_posterior_.pairs,
        groups=find_groups(model, X, known),
        probabilities=model.probabilities_,
    )
