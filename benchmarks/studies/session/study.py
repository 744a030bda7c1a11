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
from clew.answers import SAME, Answer, Question
from clew.datasets import make_leaf_like
from clew.oracles import SimulatedOracle
from clew.questions import Guided
from clew.session._evidence import evidence_of
from clew.session._quality import expected_pairs
from clew.session._remaining import progress_of

#: Number of rows of each set, and maximum number of rows of a group (0: rows are drawn among all).
#: Constants of sessions were fitted on the first sets, and not on the held-out ones.
FITTED_ON = {
    "leaf_like": (150, 15), "face_like": (150, 10), "leaf_flavia": (200, 15), "uci_leaf": (150, 10),
    "olivetti_64x64": (200, 10), "digits": (200, 0), "iris": (150, 0), "glass": (150, 0),
    "segment_small": (150, 0), "letters_ijlt": (150, 0), "apfaces_900": (200, 0),
    "usps_11000": (150, 0), "scene8_outdoor": (150, 0), "pubfig_900_60": (200, 15),
    "pie10_32x32": (150, 0), "digits389": (150, 0), "lost_faces": (200, 0),
}  # fmt: skip
HELD_OUT = {
    "vehicle": (130, 0), "balance_scale": (130, 0), "ionosphere": (130, 0), "wine": (130, 0),
    "hja_birdsong": (150, 0), "breast_cancer": (130, 0), "pima_diabetes": (130, 0),
    "blobs": (200, 0), "moons": (150, 0),
}  # fmt: skip
SIZES = FITTED_ON | HELD_OUT
MADE = ("leaf_like", "face_like", "blobs", "moons")
NOISE = {"leaf_like": 0.55, "face_like": 0.8}
#: A state is logged every `STEP` answers. A session ends after `BUDGET` answers for each row, or
#: when `N_DONE` consecutive states have a Jaccard index of at least `DONE`.
STEP, BUDGET, N_DONE, DONE = 10, 4, 5, 0.97


class Method(NamedTuple):
    """A row of the tables."""

    name: str = "guided"


class Cell(NamedTuple):
    """The share of wrong answers."""

    error: float

    @property
    def name(self) -> str:
        return f"{self.error:.0%} wrong"


#: What is known of a state, and of a check before its answer.
STATE = (
    "n_answers", "jaccard", "precision", "recall", "error",
    "n_within", "false", "missed", "n_typical", "n_cores", "share_wrong",
)  # fmt: skip
CHECK = ("n_answers", "is_within", "same", "uncertain", "is_same")
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
        return tag_of(method, STEP, BUDGET, N_DONE, DONE)

    def measure(self, task: Task) -> dict[str, Any]:
        """Run a session: "states" every ten answers, and "checks", each a list of numbers."""
        data, y = rows(task.set, task.trial)
        seed = seed_of("session", *task[:1], task.cell.name, task.trial)
        session = Session(**data, random_state=seed)  # type: ignore[arg-type]
        oracle = SimulatedOracle(y, error=task.cell.error, origin="asked", random_state=seed)
        states: list[list[float]] = []
        checks: list[list[float]] = []
        while len(session.answers) < BUDGET * len(y):
            (question,) = session.ask(1) or (None,)
            if question is None:
                break
            answer = oracle.answer(question)
            if question.origin == "random":
                checks.append(_check(session, question, answer))
            session.tell(answer)
            if len(session.answers) % STEP == 0:
                states.append(_state(session, y))
                if len(states) >= N_DONE and min(state[1] for state in states[-N_DONE:]) >= DONE:
                    break
        return {"n_items": len(y), "states": states, "checks": checks}


def _state(session: Session, y: Ints) -> list[float]:
    """Return the columns of `STATE`."""
    model, labels = _guided(session), session.labels()
    evidence = evidence_of(model, labels, None)
    progress = progress_of(model)
    assert progress is not None
    within, same = labels[:, None] == labels, y[:, None] == y
    both, n_within, n_same = (of.sum() - len(y) for of in (within & same, within, same))
    true = (
        both / max(n_within + n_same - both, 1),
        both / n_within if n_within else 1.0,
        both / n_same,
    )
    expected, doubts = expected_pairs(evidence, labels), float(model.answer_doubts().mean())
    return _rounded(
        len(session.answers), *true, model.error_rate(), *expected, progress.n_cores, doubts
    )


def _check(session: Session, question: Question, answer: Answer) -> list[float]:
    """Return the columns of `CHECK`."""
    guided, labels = _guided(session), session.labels()
    i, j = question.rows
    same, uncertain = (
        guided.probabilities([(i, j)], for_questions=kind)[0] for kind in (False, True)
    )
    n = len(session.answers)
    return _rounded(n, labels[i] == labels[j], same, uncertain, answer.value == SAME)


def _guided(session: Session) -> Guided:
    assert isinstance(session.strategy, Guided)
    return session.strategy


def _rounded(*values: float) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
