"""The study: sessions with `Guided`, and the numbers that their estimates are made of."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_blobs, make_moons
from sklearn.preprocessing import scale

from benchmarks.papers.active.problems import rows_of
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of, tag_of
from benchmarks.study.problems import Floats, Ints, Problem, load
from clew import Session
from clew.datasets import make_leaf_like
from clew.oracles import SimulatedOracle
from clew.questions import Guided
from clew.session._quality import Quality, expected_pairs, quality_of
from clew.session._result import groups_of

#: Number of rows of each set, and maximum number of rows of a group (0: rows are drawn among all).
#: Constants of sessions were fitted on the first sets, and not on the held-out ones.
FITTED_ON = {
    "leaf_like": (150, 15), "face_like": (150, 10), "leaf_flavia": (200, 15), "uci_leaf": (150, 10),
    "olivetti_64x64": (200, 10), "digits": (200, 0), "iris": (150, 0), "glass": (150, 0),
    "segment_small": (150, 0), "letters_ijlt": (150, 0), "apfaces_900": (200, 0),
    "usps_11000": (150, 0), "scene8_outdoor": (150, 0), "pubfig_900_60": (200, 15),
    "pie10_32x32": (150, 0), "digits389": (150, 0), "lost_faces": (200, 0),
    "many_small": (280, 0),
}  # fmt: skip
HELD_OUT = {
    "vehicle": (130, 0), "balance_scale": (130, 0), "ionosphere": (130, 0), "wine": (130, 0),
    "hja_birdsong": (150, 0), "breast_cancer": (130, 0), "pima_diabetes": (130, 0),
    "blobs": (200, 0), "moons": (150, 0),
}  # fmt: skip
SIZES = FITTED_ON | HELD_OUT
MADE = ("leaf_like", "face_like", "blobs", "moons", "many_small")
NOISE = {"leaf_like": 0.55, "face_like": 0.8}
#: A state is logged every `STEP` answers. A session ends after `BUDGET` answers for each row, or
#: when `N_DONE` consecutive states have a Jaccard index of at least `DONE`.
STEP, BUDGET, N_DONE, DONE = 10, 4, 5, 0.97
#: The truth may be outside an interval by this much, for rounding.
TOLERANCE = 0.002
#: Number of answers to the fourth check, before which stopping is never advised.
LEAST_TO_STOP = 80


class Method(NamedTuple):
    """A row of the tables."""

    name: str = "guided"


class Cell(NamedTuple):
    """The share of wrong answers."""

    error: float

    @property
    def name(self) -> str:
        return f"{self.error:.0%} wrong"


#: Truth and estimates of a state: each estimate with the ends of its interval. `groups_precision`
#: and `groups_recall` are the shares of groups whose intervals hold the truth.
MEASURES = ("jaccard", "precision", "recall")
STATE = (
    "n_answers", "n_groups", "n_checks", *MEASURES,
    *(f"{name} {of}" for name in MEASURES for of in ("value", "low", "high")),
    "groups_precision", "groups_recall",
)  # fmt: skip
METHOD = Method()
CELLS = tuple(map(Cell, (0.0, 0.1, 0.2)))


class Rows(NamedTuple):
    """What a session gets, and the classes."""

    data: dict[str, Floats]  # "X" or "distances"
    y: Ints


@lru_cache(maxsize=4)
def rows(name: str, trial: int) -> Rows:
    """Draw the rows of a trial, in random order."""
    n, per_class = SIZES[name]
    seed = seed_of("session", name, trial)
    if name in MADE:
        return _made(name, n, per_class, seed)
    whole = load(name)
    whole = whole if whole.distances is not None else load(name, "standard")
    chosen = rows_of(whole.y, n, per_class, np.random.RandomState(seed))
    y = np.unique(whole.y[chosen], return_inverse=True)[1]
    if whole.distances is not None:
        return Rows({"distances": whole.distances[np.ix_(chosen, chosen)]}, y)
    return Rows({"X": whole.X[chosen]}, y)


def _made(name: str, n: int, per_class: int, seed: int) -> Rows:
    if name == "moons":
        X, y = make_moons(n, noise=0.15, random_state=seed)
        return Rows({"X": X}, y)
    if name == "many_small":  # 40 groups of 3 to 15 rows, 7 rows on average
        random = np.random.RandomState(seed)
        sizes = np.maximum(3, random.permutation(np.linspace(1, 15, 40)).astype(int))
        y = random.permutation(np.repeat(np.arange(40), sizes))
        return Rows({"X": 1.3 * random.randn(40, 16)[y] + random.randn(len(y), 16)}, y)
    if name == "blobs":
        sizes = np.diff(np.linspace(0, 1, 13) ** 2 * n).round().astype(int)
        X, y = make_blobs(sizes, n_features=8, cluster_std=5.0, random_state=seed)
        return Rows({"X": scale(X)}, y)
    made = make_leaf_like(n, class_size=per_class, noise=NOISE[name], random_state=seed)
    assert made.D is not None
    return Rows({"distances": made.D}, made.y)


@dataclass(frozen=True)
class SessionStudy(Study):
    """The study of sessions."""

    n_trials: int = 2
    sets: tuple[str, ...] = tuple(SIZES)
    stem: str = "session"

    def problem(self, name: str) -> Problem:
        y = rows(name, 0).y
        return Problem(name, np.eye(len(y)), y)

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        return [(METHOD, cell) for cell in CELLS]

    def version(self, method: Method) -> str:
        return tag_of(method, STEP, BUDGET, N_DONE, DONE, STATE)

    def measure(self, task: Task) -> dict[str, Any]:
        """Run a session: "states" every ten answers, each a list of numbers."""
        data, y = rows(task.set, task.trial)
        seed = seed_of("session", *task[:1], task.cell.name, task.trial)
        session = Session(**data, random_state=seed)  # type: ignore[arg-type]
        oracle = SimulatedOracle(y, error=task.cell.error, origin="asked", random_state=seed)
        states: list[list[float]] = []
        while len(session.answers) < BUDGET * len(y):
            (question,) = session.ask(1) or (None,)
            if question is None:
                break
            session.tell(oracle.answer(question))
            if len(session.answers) % STEP == 0:
                states.append(_state(session, y))
                at = STATE.index("jaccard")
                if len(states) >= N_DONE and min(s[at] for s in states[-N_DONE:]) >= DONE:
                    break
        return {"n_items": len(y), "states": states}


def _state(session: Session, y: Ints) -> list[float]:
    """Return the columns of `STATE`."""
    model = _guided(session)
    with session._loop.model() as chooser:
        labels, pairs = groups_of(chooser)
    quality = quality_of(
        session._loop.answered_checks(), expected_pairs(pairs.same, labels), model.error_rate()
    )
    member = np.eye(labels.max() + 1)[labels]
    between = member.T @ (y[:, None] == y) @ member
    sizes, right = member.sum(axis=0), between.diagonal() - member.sum(axis=0)
    same = between.sum(axis=1) - sizes
    n_within, n_same = (sizes * (sizes - 1)).sum(), same.sum()
    true = (
        right.sum() / max(n_within + n_same - right.sum(), 1),
        right.sum() / n_within if n_within else 1.0,
        right.sum() / n_same,
    )
    precision, recall = (
        np.divide(right, whole, out=np.ones(len(right)), where=whole > 0)
        for whole in (sizes * (sizes - 1), same)
    )
    return _rounded(
        len(session.answers),
        len(sizes),
        quality.n_checks,
        *true,
        *(value for name in MEASURES for value in getattr(quality, name)),
        _share_held(quality, "precision", precision),
        _share_held(quality, "recall", recall),
    )


def _share_held(quality: Quality, name: str, true: Floats) -> float:
    """Return the share of groups whose interval holds the truth, within rounding."""
    found = [getattr(quality.groups[at], name) for at in range(len(true))]
    held = [
        each.low - TOLERANCE <= value <= each.high + TOLERANCE
        for each, value in zip(found, true, strict=True)
    ]
    return float(np.mean(held))


def _guided(session: Session) -> Guided:
    assert isinstance(session.strategy, Guided)
    return session.strategy


def _rounded(*values: float) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
