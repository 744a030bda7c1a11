"""The summary of a fit as text."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from clew import Constraints
from clew.cluster import GuidedClustering

pytestmark = pytest.mark.usefixtures("small_search")


def test_groups_answers_and_members_are_summed_up(blobs):
    model = blobs.model
    text = model.summary()
    sizes = np.bincount(model.labels_)
    assert text.startswith(
        f"GuidedClustering: 60 rows in 3 groups (number given) of {min(sizes)} to {max(sizes)} rows"
    )
    assert f"Answers: 120 pairs, of 1 annotator; the groups violate {model.n_violated_}" in text
    low, high = model.error_interval_
    assert f"{model.error_rate_:.1%}, between {low:.1%} and {high:.1%}" in text
    n_doubted = int((model.answer_posterior_.pairs >= 0.5).sum())
    assert f"{n_doubted} are probably wrong" in text or n_doubted == 1
    lines = text.splitlines()
    for name, weight in model.weights_.items():
        (line,) = (line for line in lines if line.startswith(f"{name}  "))
        assert line.split()[-2:] == [f"{weight:.2f}", f"{model.scores_[name]:.3f}"]
    assert not any("annotator " in line for line in lines)


def test_answers_dont_know_are_counted(blobs):
    unsure = Constraints.from_labels(blobs.y, 80, dont_know=0.5, random_state=1)
    n_unsure = int((unsure.pair_answers == -2).sum())
    model = GuidedClustering(3, random_state=0).fit(blobs.X, constraints=unsure)
    assert f"Answers: 80 pairs ({n_unsure} don't know), of 1 annotator" in model.summary()


def test_annotators_are_listed_the_one_who_errs_most_first(fitted, blobs):
    good = Constraints.from_labels(blobs.y, 80, random_state=1)
    bad = Constraints.from_labels(blobs.y, 80, error=0.5, random_state=2)
    pairs = [
        (*pair, answer, name)
        for name, one in (("ann", good), ("ben", bad))
        for pair, answer in zip(one.pairs.tolist(), one.pair_answers.tolist(), strict=True)
    ]
    known = Constraints(
        60, pairs=[row[:3] for row in pairs], pair_annotators=[row[3] for row in pairs]
    )
    model = fitted(blobs.X, known)
    lines = model.summary().splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("annotator"))
    assert [line.split()[0] for line in lines[at + 1 : at + 3]] == ["ben", "ann"]
    rate = dict(zip(model.confusion_.annotators_, model.confusion_.error_rates_, strict=True))
    assert f"{rate['ben']:.1%}" in lines[at + 1]


def test_without_answers(fitted, blobs):
    text = fitted(blobs.X).summary()
    assert "No answers" in text
    assert "nan%" not in text
    silent = Constraints(60, pairs=[(0, 1, -2)])
    assert "No answer is informative" in fitted(blobs.X, silent).summary()


def test_an_unfitted_model_has_no_summary():
    with pytest.raises(NotFittedError):
        GuidedClustering(3).summary()
