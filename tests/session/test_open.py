"""A session on a store: the same verbs, and what was told is there for everybody."""

from pathlib import Path

import numpy as np
import pytest

import clew
from clew.answers import DIFFERENT, SAME, Edit
from clew.collections import Project
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError, ProjectNotFoundError
from clew.items import Item
from clew.oracles import SimulatedOracle
from clew.session import StoreSession
from clew.store import open_store

pytestmark = pytest.mark.usefixtures("small_search")

N = 40
LABELS = np.arange(N) % 4
X = np.random.RandomState(0).randn(N, 5) * 0.6 + 4 * np.eye(4, 5)[LABELS]
IDS = [f"i{row}" for row in range(N)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = Project.create(tmp_path)
    project.add_vectors(IDS, X)
    with project.open_store() as store:
        store.add_items([Item(name, "vector") for name in IDS])
    return tmp_path


def test_a_worker_asks_learns_and_groups(folder: Path) -> None:
    with clew.Session.open(folder, worker=True) as session:
        session.run(SimulatedOracle(LABELS, random_state=0), 60)
        result = session.result()
        assert result.n_answers == result.revision == 60
        assert result.ids == tuple(IDS)
        assert clew.metrics.adjusted_rand_score(LABELS, result.labels_) > 0.9
        assert set(result.exemplars_) == set(result.group_ids_.tolist())
        (first,) = session.ask(1, annotator="ann")
        assert first.ids == tuple(IDS[row] for row in first.rows)
    with clew.Session.open(folder) as other:  # without a worker: what was published last
        assert other.result().to_dict() == result.to_dict()
        assert other.ask(1, annotator="ann") == [first]
        assert len(other.answers) == 60


def test_what_one_session_was_told_the_other_knows(folder: Path) -> None:
    with clew.Session.open(folder) as one, clew.Session.open(folder / ".clew") as two:
        question = one.question("i0", "i1")
        one.tell(question, "same", annotator="ann").tell(question, "same", annotator="ann")
        assert [answer.value for answer in two.answers] == [SAME]
        two.tell(question, "different", annotator="ann")
        two.tell(clew.Question("pair", (2, 3)), "same", annotator="bob")  # rows, by their ids
        assert [answer.value for answer in one.answers] == [DIFFERENT, SAME]
        assert one.answers[1].question.ids == ("i2", "i3")
        undone = one.undo("ann")
        assert undone is not None
        assert undone.question.ids == ("i0", "i1")
        assert two.ask(1, annotator="ann")[0].ids == ("i0", "i1")
        two.retract(clew.Question("pair", ids=("i3", "i2")), annotator="bob")
        assert one.answers == ()
        edit = one.edit(Edit("lock", ("i0", "i4"), (), "ann"))
        assert two.store.entry(edit.id) is not None
        assert "40 items, 0 answers" in repr(two)


def test_what_is_wrong_is_refused_and_nothing_is_taken(folder: Path, tmp_path: Path) -> None:
    with clew.Session.open(folder) as session:
        with pytest.raises(InvalidConstraintsError, match="no items 'x'"):
            session.tell(session.question("i0", "x"), "same")
        with pytest.raises(InvalidConstraintsError, match="unknown answer 'perhaps'"):
            session.tell(session.question("i0", "i1"), "perhaps")
        with pytest.raises(InvalidArgumentError, match="rows run from 0 to 39"):
            session.tell(clew.Question("pair", (0, 40)), "same")
        with pytest.raises(InvalidArgumentError, match="has no answer of 'ann'"):
            session.retract(session.question("i0", "i1"), annotator="ann")
        with pytest.raises(InvalidArgumentError, match=r"no result yet.*clew worker"):
            session.result()
        assert session.ask(1, annotator="ann") == []  # no worker, no pool
        assert session.answers == ()
    with pytest.raises(ProjectNotFoundError):
        clew.Session.open(tmp_path / "nowhere")


@pytest.mark.slow
def test_a_database_alone_is_grouped_by_answers(tmp_path: Path) -> None:
    address = tmp_path / "alone.db"
    with open_store(address) as store:
        store.add_items([Item(name, "text", text=name) for name in IDS[:8]])
    with clew.Session.open(address, worker=True) as session:
        assert isinstance(session, StoreSession)
        for i in range(8):
            for j in range(i):
                value = "same" if LABELS[i] == LABELS[j] else "different"
                session.tell(session.question(IDS[i], IDS[j]), value, annotator="ann")
        labels = session.result().labels_
    assert clew.metrics.adjusted_rand_score(LABELS[:8], labels) == 1
