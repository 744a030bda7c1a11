"""Guided clustering of Dask arrays: the same groups as in memory, whatever happens to workers."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.cluster.guided import _anchors, _row_blocks
from clew.exceptions import (
    ClusterError,
    InvalidArgumentError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.similarity import ClustRF

dask = pytest.importorskip("dask", reason="dask is not installed: pip install 'clew[scale]'")
da = pytest.importorskip("dask.array", reason="dask is not installed: pip install 'clew[scale]'")
import clew._dask as arrays  # noqa: E402
from clew.cluster.guided import _dask  # noqa: E402

pytestmark = pytest.mark.usefixtures("small_search")

N_ROWS = 600
X, Y = make_blobs(N_ROWS, n_features=6, centers=4, cluster_std=2.5, random_state=0)
KNOWN = Constraints.from_labels(Y, 200, n_triplets=20, error=0.1, dont_know=0.02, random_state=0)
POOL = [("k-means", KMeans(4, n_init=2, random_state=0))]


def model(**given):
    given = {"scale": "anchors", "n_anchors": 40, "pool": POOL, "random_state": 0} | given
    return GuidedClustering(4, **given)


@pytest.fixture(autouse=True)
def small_blocks(request, monkeypatch):
    """Several blocks for few rows; of other processes, blocks stay as they are."""
    if "cluster" not in request.fixturenames:
        for module in (_anchors, _row_blocks, arrays):
            monkeypatch.setattr(module, "BLOCK_ROWS", 128)


@pytest.fixture(scope="module")
def in_memory():
    with pytest.MonkeyPatch.context() as patch:
        for module in (_anchors, _row_blocks):
            patch.setattr(module, "BLOCK_ROWS", 128)
        return model().fit(X, constraints=KNOWN)


def assert_same(one, two):
    assert (one.labels_ == two.labels_).all()
    dense = [
        np.asarray(fit.probabilities_.toarray())
        if hasattr(fit.probabilities_, "toarray")
        else np.asarray(fit.probabilities_)
        for fit in (one, two)
    ]
    np.testing.assert_array_equal(*dense)
    assert one.error_rate_ == two.error_rate_
    for first, second in zip(one.answer_posterior_, two.answer_posterior_, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.slow
@pytest.mark.parametrize("chunks", [(250, 2), (600, 6), ((300, 0, 1, 299), 6)])
def test_groups_are_those_of_rows_in_memory(in_memory, chunks):
    found = model().fit(da.from_array(X, chunks=chunks), constraints=KNOWN)
    assert_same(found, in_memory)
    assert found.n_features_in_ == 6
    assert found.labels_.shape == (N_ROWS,)
    assert str(found.explain(3, 9)) == str(in_memory.explain(3, 9))
    assert found.summary() == in_memory.summary()


@pytest.mark.slow
def test_without_answers():
    found, expected = model().fit(da.from_array(X, chunks=(200, 6))), model().fit(X)
    assert (found.labels_ == expected.labels_).all()


@pytest.mark.slow
def test_integers_and_single_precision():
    whole = np.round(X * 100).astype(np.int32)
    found = model().fit(da.from_array(whole, chunks=(250, 6)), constraints=KNOWN)
    assert (found.labels_ == model().fit(whole, constraints=KNOWN).labels_).all()
    single = X.astype(np.float32)
    found = model().fit(da.from_array(single, chunks=(250, 6)), constraints=KNOWN)
    assert (found.labels_ == model().fit(single, constraints=KNOWN).labels_).all()


@pytest.mark.slow
def test_prediction_is_lazy_and_equals_that_of_rows_in_memory(in_memory):
    rows = da.from_array(X, chunks=(250, 6))
    for fit in (in_memory, model().fit(rows, constraints=KNOWN)):
        groups, probabilities = fit.predict(rows), fit.predict_proba(rows)
        assert isinstance(groups, da.Array)
        assert (groups.compute() == in_memory.predict(X)).all()
        np.testing.assert_array_equal(probabilities.compute(), in_memory.predict_proba(X).toarray())
        assert (fit.predict(X[:50]) == in_memory.predict(X[:50])).all()


def test_a_model_of_few_rows_predicts_blocks():
    few = GuidedClustering(4, pool=POOL, random_state=0).fit(X[:200])
    groups = few.predict(da.from_array(X, chunks=(250, 6)))
    assert (groups.compute() == few.predict(X)).all()


@pytest.mark.slow
def test_further_answers_and_a_stored_model(in_memory):
    first, more = (
        KNOWN.select(pairs=np.arange(200) < 120),
        KNOWN.select(pairs=np.arange(200) >= 120, triplets=np.zeros(20, np.bool_)),
    )
    rows = da.from_array(X, chunks=(300, 6))
    both = model().fit(rows, constraints=first).partial_fit(constraints=more)
    assert_same(both, model().fit(X, constraints=first + more))
    again = pickle.loads(pickle.dumps(model().fit(rows, constraints=KNOWN)))
    assert_same(again, in_memory)
    assert (again.predict(X) == in_memory.predict(X)).all()


def test_a_bad_value_is_named():
    bad = X.copy()
    bad[500, 3] = np.nan
    with pytest.raises(InvalidDataError, match=r"nan in row 500, column 3 .*rows 384 to 511"):
        model().fit(da.from_array(bad, chunks=(300, 6)))
    fit = model().fit(da.from_array(X, chunks=(300, 6)))
    with pytest.raises(InvalidDataError, match="nan in row 500"):
        fit.predict(da.from_array(bad, chunks=(300, 6))).compute()


def test_unsuitable_arrays_are_refused():
    with pytest.raises(InvalidDataError, match="two dimensions"):
        model().fit(da.ones(9, chunks=3))
    sparse = da.from_array(X, chunks=(300, 6)).map_blocks(csr_array, dtype=np.float64)
    with pytest.raises(InvalidDataError, match="the blocks of X are sparse"):
        model().fit(sparse)
    with pytest.raises(InvalidDataError, match="holds <U"):
        model().fit(da.from_array(np.array([["a"], ["b"]]), chunks=1))
    with pytest.raises(InvalidParameterError, match="needs all rows in memory"):
        model(scale="exact").fit(da.from_array(X, chunks=(300, 6)))
    with pytest.raises(InvalidParameterError, match="needs all rows in memory"):
        model(metric="precomputed").fit(da.ones((9, 9), chunks=3))
    fit = model().fit(da.from_array(X, chunks=(300, 6)))
    with pytest.raises(InvalidArgumentError, match="tree_ needs the positions of all rows"):
        _ = fit.tree_
    with pytest.raises(InvalidDataError, match="2 features, but GuidedClustering was fitted to 6"):
        fit.predict(da.ones((9, 2), chunks=3))


@pytest.mark.slow
def test_data_frames_in_parts():
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    columns = [f"x{at}" for at in range(6)]
    frame = pandas.DataFrame(X, columns=columns)
    found = model().fit(frames.from_pandas(frame, npartitions=4), constraints=KNOWN)
    expected = model().fit(X, constraints=KNOWN)
    assert (found.labels_ == expected.labels_).all()
    assert found.feature_names_in_.tolist() == columns
    turned = frames.from_pandas(frame[columns[::-1]], npartitions=2)
    with pytest.raises(InvalidDataError, match=r"fitted to x0, x1, .* in the same order"):
        found.predict(turned)
    again = found.predict(frames.from_pandas(frame, npartitions=3)).compute()
    assert (again == expected.predict(X)).all()
    assert not hasattr(found.fit(da.from_array(X, chunks=(300, 6))), "feature_names_in_")


# --- A cluster of processes -----------------------------------------------------------------------

N_MANY = 3 * 65_536 - 500
MANY, KINDS = make_blobs(N_MANY, n_features=4, centers=5, cluster_std=2.5, random_state=1)
ANSWERS = Constraints.from_labels(KINDS, 4_000, error=0.1, random_state=0)


def many_model():
    pool = [("k-means", KMeans(5, n_init=2, random_state=0))]
    return GuidedClustering(5, scale="anchors", n_anchors=200, pool=pool, random_state=0)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address=":0"
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def expected():
    return many_model().fit(MANY, constraints=ANSWERS)


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_groups(cluster, expected):
    rows = da.from_array(MANY, chunks=(40_000, 4))
    two = many_model().fit(rows, constraints=ANSWERS)
    assert (two.labels_ == expected.labels_).all()
    assert (two.predict(rows).compute() == expected.predict(MANY)).all()


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["sampled", "linked", "update", "groups"])
def test_a_worker_killed_in_any_stage_changes_nothing(cluster, expected, monkeypatch, stage):
    """A worker is killed while the stage computes; the others, and its successor, do its work."""
    place = _dask.LinkableRows if stage in ("sampled", "linked") else _dask.DaskBlocks
    run, killed = getattr(place, stage), []

    def kill():
        time.sleep(0.05)
        pids = cluster.run(os.getpid)
        killed.append(next(iter(pids.values())))
        os.kill(killed[-1], signal.SIGKILL)

    def killing(self, *arguments, **named):
        if not killed:
            threading.Thread(target=kill).start()
        return run(self, *arguments, **named)

    monkeypatch.setattr(place, stage, killing)
    found = many_model().fit(da.from_array(MANY, chunks=(40_000, 4)), constraints=ANSWERS)
    assert len(killed) == 1
    assert (found.labels_ == expected.labels_).all()
    cluster.wait_for_workers(2, timeout=30)


def _take_memory(block):
    if block.size:  # Dask calls it with an empty block to find the type
        taken = [np.ones(25 << 20) for _ in range(4)]  # 800 MiB
        time.sleep(5.0)
        block = block + taken[0][0]
    return block


@pytest.mark.slow
def test_workers_that_run_out_of_memory_are_said():
    distributed = pytest.importorskip("distributed")
    settings = {"distributed.scheduler.allowed-failures": 0}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit="600MiB", dashboard_address=":0"
        ) as made,
        distributed.Client(made),
    ):
        rows = da.from_array(MANY, chunks=(40_000, 4)).map_blocks(_take_memory, dtype=np.float64)
        fit = many_model()
        with pytest.raises(ClusterError, match="give each worker at least"):
            fit.fit(rows, constraints=ANSWERS)
        assert not hasattr(fit, "labels_")


@pytest.mark.slow
def test_a_lost_scheduler_is_said():
    distributed = pytest.importorskip("distributed")
    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        made = distributed.LocalCluster(n_workers=1, dashboard_address=":0")
        # Entered, or the work would go to the client of the other tests.
        with distributed.Client(made):
            rows = da.from_array(MANY, chunks=(40_000, 4)).map_blocks(_slowly, dtype=np.float64)
            threading.Timer(1.5, made.close).start()
            with pytest.raises(ClusterError, match="scheduler was lost"):
                many_model().fit(rows, constraints=ANSWERS)


def _slowly(block):
    time.sleep(1.0)
    return block


@pytest.mark.slow
def test_trees_grow_on_the_workers(cluster):

    one = ClustRF(60, random_state=0).fit(X)
    with joblib.parallel_config(backend="dask"):
        other = ClustRF(60, random_state=0).fit(X)
    np.testing.assert_array_equal(one.affinity_matrix_, other.affinity_matrix_)
