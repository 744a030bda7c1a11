"""Sessions about some rows of a Dask array."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import clew
from clew.cluster import GuidedClustering
from clew.exceptions import InvalidArgumentError, InvalidDataError
from clew.session import _items

pytestmark = pytest.mark.usefixtures("small_search")

da = pytest.importorskip("dask.array", reason="dask is not installed: pip install 'clew[scale]'")

X, Y = make_blobs(240, n_features=3, centers=3, cluster_std=1.0, random_state=0)


@pytest.mark.slow
def test_rows_of_all_blocks_are_asked_about_and_all_rows_grouped(monkeypatch):
    monkeypatch.setattr(_items, "N_REPRESENTATIVES", 60)
    session = clew.Session(da.from_array(X, chunks=(80, 3)), n_clusters=3, random_state=0)
    assert len(session.ids) == 60
    assert {row // 80 for row in session.ids} == {0, 1, 2}
    for question in session.ask(12):
        i, j = question.ids
        session.tell(question, "same" if Y[i] == Y[j] else "different")
    assert session.result().labels_.shape == (60,)
    model = session.fit_all()
    assert model.labels_.shape == (240,)
    answers = [answer.question.ids for answer in session.answers]
    assert {tuple(sorted(pair)) for pair in answers} == set(
        map(tuple, model.result_.constraints.pairs.tolist())
    )


@pytest.mark.slow
def test_of_rows_in_memory_all_are_items():
    session = clew.Session(X[:40], n_clusters=3, random_state=0)
    session.tell(session.question(0, 1), "same" if Y[0] == Y[1] else "different")
    model = session.fit_all()
    assert isinstance(model, GuidedClustering)
    assert (model.labels_ == session.result().labels_).mean() > 0.9


@pytest.mark.slow
def test_what_blocks_cannot_do_is_refused():
    rows = da.from_array(X, chunks=(80, 3))
    with pytest.raises(InvalidArgumentError, match="named by the numbers of their rows"):
        clew.Session(rows, ids=range(240))
    with pytest.raises(InvalidArgumentError, match="add_items needs"):
        clew.Session(rows, random_state=0).add_items(X[:2], ["a", "b"])
    bad = X.copy()
    bad[200, 2] = np.nan
    with pytest.raises(InvalidDataError, match="nan in row 200, column 2"):
        clew.Session(da.from_array(bad, chunks=(80, 3)))
