"""The study of people's answers: sets read, scores of answers and annotators, the report."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.studies import _human as human, people as study
from benchmarks.studies.people import GUIDED, METHODS, Cell, PeopleReport, PeopleStudy, draw
from benchmarks.study.engine import Task, run
from benchmarks.study.report import fill
from benchmarks.study.results import Results
from sklearn.datasets import make_blobs

from benchmarks import _harness as harness
from clew import Constraints

pytestmark = pytest.mark.usefixtures("small_search")

N = 24


def _write(folder: Path, name: str, kind: str, *, named: bool = True) -> None:
    """Write a set of 4 groups, whose three annotators answer the same questions; one guesses."""
    X, y = make_blobs(N, 3, centers=4, cluster_std=0.5, random_state=0)
    rng = np.random.default_rng(0)
    width = 2 if kind == "pair" else 3
    rows = np.array([rng.permutation(N)[:width] for _ in range(150)])
    if kind == "pair":
        right = (y[rows[:, 0]] == y[rows[:, 1]]).astype(int)
    else:
        distance = np.linalg.norm(X[rows[:, [0, 0, 1]]] - X[rows[:, [1, 2, 2]]], axis=2)
        right = {"triplet": np.argmin(distance[:, :2], axis=1)}.get(kind, 2 - distance.argmin(1))
    guess = rng.integers(0, width if kind == "odd" else 2, 150)
    of: dict[str, Any] = {"annotator": np.repeat([0, 1, 2], 150)} if named else {}
    np.savez(
        folder / f"{name}.npz",
        kind=kind,
        items=np.tile(rows, (3, 1)),
        answer=np.concatenate([right, right, guess]),
        names=np.array([f"r{i}" for i in range(N)]),
        X=X,
        **{f"y_{of}": y for of in ("shape", "color", "entity")},
        **of,
    )


@pytest.fixture(autouse=True)
def made_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "human"
    folder.mkdir()
    _write(folder, "pk_shapecolor_odd", "odd")
    _write(folder, "pk_shapecolor_pairs_l5", "pair")
    _write(folder, "pk_shapecolor_triplet", "triplet", named=False)
    _write(folder, "crowder_restaurant", "pair")
    monkeypatch.setenv("CLEW_DATA", str(tmp_path))
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    for name in ("car_space", "restaurant_groups", "people_scatter"):
        monkeypatch.setattr(study, name, _no_picture)
    for cached in (human.load, draw):
        cached.cache_clear()
    yield
    for cached in (human.load, draw):
        cached.cache_clear()


def _no_picture() -> Any:
    import matplotlib.pyplot as plt

    return plt.figure()


def test_a_seed_permutes_rows_and_their_answers() -> None:
    plain = human.load("pk_shapecolor_triplet")
    other = human.load("pk_shapecolor_triplet", 1)
    assert plain.names != other.names
    for at in range(5):
        rows = [[of.names[row] for row in of.rows[at]] for of in (plain, other)]
        assert rows[0] == rows[1]
    by_name = [dict(zip(of.names, of.classes["shape"], strict=True)) for of in (plain, other)]
    assert by_name[0] == by_name[1]


def test_held_out_questions_are_in_no_fit() -> None:
    some, most = (draw("restaurant", Cell(amount), 0) for amount in ("1/4", "4/5"))
    every = draw("restaurant", Cell("all"), 0)
    assert len(every.known) == 450
    assert len(every.held) == 0
    assert len(some.known) == 450 // 4
    asked = {tuple(sorted(pair)) for pair in most.known.pairs.tolist()}
    held = {tuple(sorted(pair)) for pair in most.held.pairs.tolist()}
    assert not asked & held
    assert (some.held.pairs == most.held.pairs).all()


def test_the_guessing_annotator_agrees_least() -> None:
    for name in ("pk_shapecolor_odd", "crowder_restaurant"):
        shared = human.agreement(human.load(name).constraints())
        assert shared[:2].min() > shared[2]


def test_true_groups_predict_right_answers() -> None:
    y = np.repeat([0, 1, 2], 5)
    known = Constraints.from_labels(y, 100, n_triplets=100, n_odd_one_out=0, random_state=0)
    held = Constraints.from_labels(y, 50, random_state=1)
    scores = human.held_out_scores(held, human.groups_predict(known, held, y))
    assert scores["accuracy"] == 1
    assert scores["log_loss"] < 0.2


def test_a_tie_counts_half() -> None:
    held = Constraints(3, triplets=[(0, 1, 2, 0), (1, 0, 2, 1)])
    predicted = [np.zeros((0, 2)), np.full((2, 2), 0.5), np.zeros((0, 3))]
    scores = human.held_out_scores(held, predicted)
    assert scores == {"log_loss": pytest.approx(np.log(2)), "accuracy": 0.5}


def test_simple_methods_find_groups_of_right_answers() -> None:
    y = np.repeat([0, 1, 2], 4)
    known = Constraints.from_labels(y, 60, random_state=0)
    for model in (human.CountWard(3), human.MajorityClosure()):
        assert study.adjusted_rand_score(y, model.fit(constraints=known).labels_) == 1


@pytest.mark.slow
def test_a_tiny_study_runs() -> None:
    tiny = PeopleStudy(1, ("pk_odd", "restaurant"), "tiny", n_trees=20, max_answers=450)
    run(tiny, 1, (("pk_odd",), (), ("64 answers",)))
    run(tiny, 1, (("restaurant",), (), ("all answers",)))
    results = Results(tiny)
    for name, cell in (("pk_odd", Cell(64)), ("restaurant", Cell("all"))):
        assert -0.5 <= results.values(name, cell, GUIDED)[0] <= 1
    # Where a third of 64 answers are guessed, groups without features predict no more than guesses.
    assert results.values("pk_odd", Cell(64), study.GUIDED_X, "accuracy")[0] > 0.5
    assert results.values("pk_odd", Cell(64), study.SPACE, "log_loss")[0] < 2
    assert "ari_ward" in results.frame


def test_methods_are_measured_on_answers_that_they_can_learn_from() -> None:
    points = PeopleStudy().points("pk_triplet")
    assert study.MAJORITY not in {method for method, _ in points}
    assert len(points) == len(set(points))
    of_restaurants = {method.name for method, _ in PeopleStudy().points("restaurant")}
    assert of_restaurants == {"guided", "space", "correlation", "majority"}
    assert len({method.name for method in METHODS}) == len(METHODS)


def test_report_shows_what_the_log_holds(pictured: list[str]) -> None:
    small = PeopleStudy(2, ("pk_odd", "restaurant", "zappos85"), "test", max_answers=450)
    for task in small.tasks():
        row: dict[str, Any] = {"ari": 0.5 + 0.02 * task.trial + 0.1 * (task.method == GUIDED)}
        row |= {"fit_seconds": 0.25, "source": "x", "log_loss": 0.5, "accuracy": 0.75}
        row |= {"ari_color": 0.1, "ari_ward": 0.4, "n_groups": 4, "regime": "answers"}
        small.log.append(small.key(task) | row | {"agreement": 0.9})
    text = fill(Results(small), PeopleReport, study.__file__)
    assert pictured == ["test_annotators", "test_cars", "test_restaurants"]
    assert "Not available, and left out: zappos85" in text
    assert re.search(r"\| pk_odd +\| +64 answers \| +0\.610 ± 0\.010 \| +0\.60 \| +yes", text)
    assert re.search(r"\| GuidedClustering +\| \*\*0\.610 ± 0\.010\*\* ", text)
    assert not re.search(r"\bnan\b", text)


def test_tasks_of_methods_without_answers_are_measured_once() -> None:
    tasks = PeopleStudy(1, ("pk_odd",), "test").tasks()
    (ward,) = (task for task in tasks if task.method.name == "ward")
    assert ward.cell == study.NO_ANSWERS
    assert PeopleStudy().measure(Task("pk_odd", ward.method, ward.cell, 0))["ari"] > 0.9
