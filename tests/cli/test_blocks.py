"""clew group of Zarr arrays and on Dask clusters."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.cli import main
from clew.metrics import adjusted_rand_score

pytestmark = pytest.mark.usefixtures("small_search")

zarr = pytest.importorskip("zarr", reason="zarr is not installed: pip install 'clew[scale]'")
pytest.importorskip("dask.array", reason="dask is not installed: pip install 'clew[scale]'")

X, Y = make_blobs(300, n_features=4, centers=3, cluster_std=1.5, random_state=0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stored = zarr.create_array("vectors.zarr", shape=X.shape, chunks=(70, 4), dtype="f4")
    stored[:] = X
    np.save("vectors.npy", X.astype(np.float32))
    answers = Constraints.from_labels(Y, 150, error=0.05, random_state=0)
    answers.to_csv("answers.csv")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, ["group", *map(str, arguments)])


def groups_of(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [str(row) for row in range(len(X))]
    return np.array([int(row["group"]) for row in rows])


@pytest.mark.slow
def test_an_array_of_zarr(folder):
    found = run("vectors.zarr", "-c", "answers.csv", "-k", "3", "-o", "groups.csv", "--json")
    assert found.exit_code == 0, found.output
    summary = json.loads(found.stdout)
    assert (summary["rows"], summary["features"]) == (300, 4)
    assert adjusted_rand_score(Y, groups_of("groups.csv")) > 0.8
    with open("groups.doubtful.csv", newline="") as file:
        assert all(row["id_i"].isdigit() for row in csv.DictReader(file))


def test_what_needs_all_rows_is_refused(folder):
    for option in (["--report", "r.html"], ["--save", "r.npz"]):
        found = run("vectors.zarr", *option)
        assert (found.exit_code, "needs all rows in memory" in found.stderr) == (2, True)
    assert run("vectors.zarr", "--method", "coprf", "-k", "3").exit_code == 2
    assert run("vectors.zarr", "--distances").exit_code == 2


def test_files_that_are_no_arrays_are_said(folder):
    zarr.create_array("flat.zarr", shape=(50,), chunks=(10,), dtype="f4")
    found = run("flat.zarr")
    assert (found.exit_code, "rows by features are two dimensions" in found.stderr) == (1, True)
    (folder / "empty.zarr").mkdir()
    found = run("empty.zarr")
    assert (found.exit_code, "cannot be read as an array" in found.stderr) == (1, True)
    (folder / "table.csv").write_text("x,y\n1,2\n3,4\n")
    found = run("table.csv", "--dask", "tcp://127.0.0.1:9")
    assert (found.exit_code, "X.zarr or X.npy" in found.stderr) == (1, True)


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_said(folder):
    found = run("vectors.npy", "--dask", "tcp://127.0.0.1:9")
    assert (found.exit_code, "no scheduler answers there" in found.stderr) == (1, True)


@pytest.mark.slow
def test_a_cluster_gives_the_groups_of_one_machine(folder):
    distributed = pytest.importorskip("distributed")
    assert run("vectors.zarr", "-c", "answers.csv", "-o", "one.csv").exit_code == 0
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as made:
        address = made.scheduler_address
        found = run("vectors.npy", "-c", "answers.csv", "-o", "two.csv", "--dask", address)
    assert found.exit_code == 0, found.output
    assert "Dask: 2 workers" in found.stderr
    assert (groups_of("one.csv") == groups_of("two.csv")).all()
