"""One model: the same rows, answers and seed have the same groups wherever one asks."""

import csv
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import pairwise_distances

from clew import Answer, Constraints, GuidedClustering, Question, Session
from clew.cli import main
from clew.oracles import SimulatedOracle
from clew.questions._strategy import in_order_of_rows
from clew.store import AnswerFile

pytestmark = pytest.mark.usefixtures("small_search")

SEED = 3


def blobs():
    """Sixty rows in five groups that overlap."""
    return make_blobs(60, centers=5, cluster_std=2.0, random_state=1)


def table():
    """Measurements in units of their own."""
    X, y = load_iris(return_X_y=True)
    rows = np.random.RandomState(0).permutation(150)[:80]
    return X[rows] * [1, 10, 100, 1], y[rows]


@cache
def session_of(kind, n_clusters=None):
    """A session that was told 60 answers, one in ten wrong, and what it groups."""
    X, y = table() if kind == "table" else blobs()
    data = {"distances": pairwise_distances(X)} if kind == "distances" else {"X": X}
    if kind == "alone":
        data = {"items": list(range(len(y)))}
    oracle = SimulatedOracle(y, error=0.1, origin="asked", random_state=SEED)
    session = Session(**data, n_clusters=n_clusters, random_state=SEED)
    return session.run(oracle, 60, batch=5), data


@pytest.mark.parametrize(
    ("kind", "n_clusters"),
    [("features", None), ("table", None), ("distances", None), ("alone", None), ("features", 4),
     ("alone", 4)],
)  # fmt: skip
def test_session_and_fit_agree_to_the_last_bit(kind, n_clusters):
    session, data = session_of(kind, n_clusters)
    result = session.result()
    known = Constraints.from_answers(session.answers, n_samples=len(session.ids))
    metric = "precomputed" if kind == "distances" else "euclidean"
    model = GuidedClustering(n_clusters, metric=metric, random_state=SEED)
    X = data.get("X", data.get("distances"))
    model.fit(X, constraints=known)
    np.testing.assert_array_equal(in_order_of_rows(model.labels_), result.labels_)
    doubts = {doubt.answer: doubt.p_wrong for doubt in result.doubtful_}
    expected = {
        answer: p
        for answer, p in zip(session.answers, model.answer_posterior_.pairs.tolist(), strict=True)
        if p >= 0.5
    }
    assert doubts == expected


@pytest.mark.parametrize("kind", ["features", "table"])
def test_the_command_line_agrees_with_the_session(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session, data = session_of(kind)
    ids = [f"r{row}" for row in range(len(session.ids))]
    lines = [
        ",".join([name, *map(repr, row)]) for name, row in zip(ids, data["X"].tolist(), strict=True)
    ]
    header = ",".join(["id", *(f"x{at}" for at in range(data["X"].shape[1]))])
    (tmp_path / "x.csv").write_text("\n".join([header, *lines]))
    file = AnswerFile("answers.jsonl", ids)
    for answer in session.answers:
        file.append(answer)
    words = ["group", "x.csv", "--answers", "answers.jsonl", "--seed", str(SEED), "-j", "1"]
    done = CliRunner().invoke(main, [*words, "-o", "groups.csv"], prog_name="clew")
    assert done.exit_code == 0, done.output
    with open("groups.csv", encoding="utf-8") as groups:
        found = [int(row["group"]) for row in csv.DictReader(groups)]
    known = Constraints.read_jsonl("answers.jsonl", ids=ids)
    X = np.array([row.split(",")[1:] for row in lines], float)
    model = GuidedClustering(random_state=SEED).fit(X, constraints=known)
    cells = set(zip(found, model.labels_.tolist(), strict=True))
    assert len(cells) == len(set(found)) == model.n_clusters_
    again = {*zip(found, session.result().labels_.tolist(), strict=True)}
    assert len(again) == len(set(found)) == len(set(session.result().labels_.tolist()))


def test_repeated_and_incomparable_questions_count_the_same_everywhere(tmp_path):
    session, data = session_of("features")
    file = AnswerFile(tmp_path / "answers.jsonl", [f"r{row}" for row in range(60)])
    asked = [replace(one, id="", annotator="ann") for one in session.answers[:40]]
    told = Session(**data, ids=file.ids, random_state=SEED)
    again = [
        replace(one, value=1 - one.value, question=replace(one.question, repeat=1))
        for one in asked[:8]
    ]
    questions = [Question("odd_one_out", (at, at + 1, at + 2)) for at in range(0, 30, 3)]
    flagged = [Answer(one, "not_comparable", annotator="ann") for one in questions]
    for answer in (*asked, *again, *flagged):
        file.append(answer)
    told.apply(file.entries)
    known = Constraints.read_jsonl(file.path, ids=file.ids)
    model = GuidedClustering(random_state=SEED).fit(data["X"], constraints=known)
    result = told.result()
    assert result.n_clusters_probabilities_ == model.n_clusters_probabilities_
    np.testing.assert_array_equal(in_order_of_rows(model.labels_), result.labels_)
    assert (len(known.pairs), len(known.odd_one_out)) == (40, 0)


def test_the_order_and_size_of_batches_do_not_matter():
    X, y = blobs()
    known = Constraints.from_labels(y, 90, error=0.1, random_state=0)
    whole = GuidedClustering(random_state=SEED).fit(X, constraints=known)
    for size in (6, 30):
        part = np.arange(90) // size
        model = GuidedClustering(random_state=SEED)
        for at in (0, 1, *range(2, part.max() + 1)):
            more = known.select(pairs=part == at)
            model.partial_fit(X, constraints=more, refit=at in (0, part.max()))
        np.testing.assert_array_equal(model.labels_, whole.labels_)
        np.testing.assert_array_equal(model.probabilities_, whole.probabilities_)


def test_a_result_can_be_written(tmp_path):
    session, _ = session_of("features")
    model = GuidedClustering(random_state=SEED).fit(
        blobs()[0], constraints=Constraints.from_answers(session.answers, n_samples=60)
    )
    numbers = model.n_clusters_probabilities_
    assert sum(numbers.values()) == pytest.approx(1)
    assert json.loads(json.dumps(numbers))
    for other in model.alternatives_:
        assert other.n_clusters == len(np.unique(other.labels)) != model.n_clusters_


def test_progress_never_exceeds_its_total():
    X, y = blobs()
    known = Constraints.from_labels(y, 90, error=0.1, random_state=0)
    for n_clusters in (None, 5):
        seen = []
        model = GuidedClustering(n_clusters, random_state=SEED)
        model.fit(X, constraints=known, callback=lambda done, n, seen=seen: seen.append((done, n)))
        assert all(done <= n for done, n in seen)
        assert seen[-1][0] == seen[-1][1]
        assert seen[-2][0] < seen[-2][1]
