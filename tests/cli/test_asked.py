"""``clew group`` with answers of ``clew ask`` has as many groups as the session."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from click.testing import CliRunner

from clew import Constraints, Session
from clew.cli import main
from clew.cli._asked import number_from_questions
from clew.cli._inputs import Items
from clew.cli._progress import Words
from clew.oracles import SimulatedOracle
from clew.store import AnswerFile

Y = np.repeat([0, 1, 2, 3], 6)
X = 3 * np.column_stack([Y % 2, Y // 2]) + 0.5 * np.random.RandomState(0).randn(24, 2)
IDS = [f"r{row}" for row in range(24)]


@pytest.fixture(scope="module")
def answers():
    """Thirty answers to the questions of a session."""
    oracle = SimulatedOracle(Y, origin="asked", random_state=0)
    return Session(X, random_state=0).run(oracle, 30).answers


def number(known):
    items = Items(X, IDS, True, None, (), [], is_scaled=True)
    return number_from_questions(items, known, False, 0, Words(quiet=True))


def test_number_of_groups_follows_answers_to_chosen_questions(answers):
    assert number(Constraints.from_answers(answers, n_samples=24)) == 4


@pytest.mark.parametrize("which", ["few", "imported", "mixed"])
def test_number_of_groups_does_not_follow_few_or_imported_answers(answers, which):
    known = Constraints.from_answers(answers[: 19 if which == "few" else 30], n_samples=24)
    if which != "few":
        known = known.with_origin("imported")
    if which == "mixed":
        asked = Constraints.from_answers(answers[:20], n_samples=24)
        imported = Constraints.from_answers(answers, n_samples=24).with_origin("imported")
        known = asked + imported
    assert number(known) is None


def test_clew_cluster_says_that_answers_to_chosen_questions_gave_the_number(here, answers):
    lines = [f"{name},{x:.3f},{y:.3f}" for name, (x, y) in zip(IDS, X, strict=True)]
    (here / "x.csv").write_text("\n".join(["id,x,y", *lines]))
    file = AnswerFile("answers.jsonl", IDS)
    for answer in answers:
        file.append(answer)
    given = ["group", "x.csv", "--answers", "answers.jsonl", "-j", "1"]
    done = CliRunner().invoke(main, given, prog_name="clew")
    assert done.exit_code == 0, done.output
    assert "chose 4 groups, by the answers to questions that clew chose" in done.stderr
    assert len({row["group"] for row in csv.DictReader(io.StringIO(done.stdout))}) == 4
