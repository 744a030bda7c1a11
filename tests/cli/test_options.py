"""Options of `clew group`: those that a method lacks, tables, scaling; defaults in all help."""

import gzip
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, save_npz

from clew.cli import main
from clew.cli._models import build_model
from clew.cli.group import METHODS, METHODS_OF
from clew.datasets import load
from clew.metrics import adjusted_rand_score

BLOBS = np.repeat([0, 1, 2], 10)


def _labels(done) -> list[int]:
    assert done.exit_code == 0, done.output
    return [int(line.split(",")[1]) for line in done.stdout.splitlines()[1:]]


@pytest.mark.parametrize("method", METHODS)
def test_threads_and_seed_are_honored_or_refused(run, X, method):
    parameters = build_model(method, 3, seed=7, jobs=2).get_params(deep=True)
    has_jobs = any(name.endswith("n_jobs") for name in parameters)
    assert has_jobs == (method in METHODS_OF["jobs"])
    assert not has_jobs or 2 in [v for k, v in parameters.items() if k.endswith("n_jobs")]
    has_seed = any(name.endswith("random_state") for name in parameters)
    assert has_seed == (method in METHODS_OF["seed"])
    for option, is_known in (("--jobs", has_jobs), ("--seed", has_seed)):
        if not is_known:
            done = run(X, "-k", 3, "--method", method, option, 1, fast=False)
            assert done.exit_code == 2
            assert f"{option} has no effect with --method {method}" in done.stderr


def test_environment_sets_options_of_the_methods_that_have_them(run, X, monkeypatch):
    options = ("-k", 3, "--method", "coprf", "--seed", 3)
    few, many = (run(X, *options, "--n-trees", n, fast=False).stdout for n in (1, 100))
    assert few != many
    monkeypatch.setenv("CLEW_GROUP_N_TREES", "1")
    assert run(X, *options, fast=False).stdout == few
    assert run(X, *options, "--n-trees", 100, fast=False).stdout == many
    assert run(X, "-k", 3, "--method", "pckmeans", fast=False).exit_code == 0
    monkeypatch.setenv("CLEW_GROUP_N_TREES", "none")
    assert run(X, *options, fast=False).exit_code == 2


@pytest.mark.parametrize("method", ["pckmeans", "copkmeans"])
def test_units_do_not_matter(run, here, method):
    wine = load("wine")
    np.save("wine.npy", wine.X)
    done = run("wine.npy", "-k", 3, "--method", method, fast=False)
    assert "features are standardized (units differ)" in done.stderr
    scaled = adjusted_rand_score(wine.y, _labels(done))
    as_given = run("wine.npy", "-k", 3, "--method", method, "--standardize", "no", fast=False)
    assert "features are used as given" in as_given.stderr
    raw = adjusted_rand_score(wine.y, _labels(as_given))
    assert scaled > 0.7 > 0.5 > raw


@pytest.mark.parametrize("method", ["guided", "pckmeans"])
def test_standardize_yes_equals_standardizing_the_file(run, X, method):
    options = ("-k", 3, "--method", method)
    done = run(X, *options, "--standardize", "yes", fast=False)
    assert "features are standardized\n" in done.stderr
    rows = np.load(X)
    np.save(X, (rows - rows.mean(axis=0)) / rows.std(axis=0))
    assert _labels(done) == _labels(run(X, *options, "--standardize", "no", fast=False))


@pytest.mark.slow
def test_mixed_table_with_gaps(run, here):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "id": [f"item {i}" for i in range(30)],
            "size": np.where(np.arange(30) % 9 == 0, np.nan, BLOBS + 0.2 * rng.normal(size=30)),
            "kind": np.array(["a", "b", "c"])[BLOBS],
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(100 * BLOBS, unit="D"),
            "serial": [f"x{i}" for i in range(30)],
        }
    )
    frame.to_csv("t.csv", index=False)
    done = run("t.csv", "-k", 3, fast=False)
    assert _labels(done) == BLOBS.tolist()
    assert "t.csv: 30 rows; ids from 'id'; 6 features from 3 columns" in done.stderr
    assert "  numbers: size (4 missing)\n  dates: day\n" in done.stderr
    assert "  categories: kind (3 values)\n  not used: serial" in done.stderr
    assert done.stdout.splitlines()[1].startswith("item 0,0,")
    alone = run("t.csv", "-k", 3, "--columns", "kind,size", fast=False)
    assert "5 features from 2 columns" in alone.stderr
    dropped = run("t.csv", "-k", 3, "--drop", "day,serial", "--id-column", "serial", fast=False)
    assert "ids from 'serial'" in dropped.stderr
    assert run("t.csv", "-k", 3, "--drop", "Day", fast=False).exit_code == 0
    missing = run("t.csv", "-k", 3, "--drop", "date", fast=False)
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "t.csv: there is no column 'date'; columns are id, size, kind" in missing.stderr


def test_table_as_excel_writes_it(run, here):
    rows = ["name;x;y"]
    rows += [f"n{i};{10 * BLOBS[i]},{i};{i % 3},5" for i in range(30)]
    Path("t.csv").write_bytes("\r\n".join(rows).encode("utf-8-sig"))
    done = run("t.csv", "-k", 3, "--id-column", "name", "--method", "pckmeans", fast=False)
    assert _labels(done) == BLOBS.tolist()
    assert "fields are separated by semicolons" in done.stderr
    assert "numbers have a decimal comma" in done.stderr
    options = ("--sep", ";", "--decimal", ",", "--header")
    again = run(
        "t.csv", "-k", 3, "--id-column", "name", "--method", "pckmeans", *options, fast=False
    )
    assert again.stdout == done.stdout
    assert "semicolons" not in again.stderr


@pytest.mark.parametrize(
    "wrong", [("--sep", ";;"), ("--decimal", ";"), ("--columns", "a,,b"), ("--standardize", "1")]
)
def test_misuse_of_options_of_tables(run, X, wrong):
    assert run(X, "-k", 3, *wrong, fast=False).exit_code == 2


def test_gzip_and_standard_input(run, here, X, monkeypatch):
    frame = pd.DataFrame(np.load(X), columns=list("abc"))
    text = frame.to_csv(index=False).encode()
    Path("t.csv.gz").write_bytes(gzip.compress(text))
    packed = run("t.csv.gz", "-k", 3, "--method", "pckmeans", fast=False)
    assert _labels(packed) == BLOBS.tolist()
    from click.testing import CliRunner

    from clew.cli import main

    piped = CliRunner().invoke(
        main, ["group", "-", "-k", "3", "--method", "pckmeans"], input=text, prog_name="clew"
    )
    assert piped.stdout == packed.stdout
    assert "-: 30 rows" in piped.stderr


@pytest.mark.parametrize("width", [3, 300])
def test_sparse_features(run, here, width):
    rng = np.random.RandomState(0)
    rows = rng.random_sample((30, width)) * (rng.random_sample((30, width)) < 0.2)
    rows[np.arange(30), BLOBS] += 10
    save_npz("X.npz", csr_array(rows))
    done = run("X.npz", "-k", 3, "--method", "pckmeans", fast=False)
    assert _labels(done) == BLOBS.tolist()
    assert ("100 components" in done.stderr) == (width > 100)


def test_help_says_each_default_once():
    def check(command, context):
        for each in command.get_params(context):
            record = each.get_help_record(context) or ("", "")
            assert record[1].count("[default") <= 1, record
            assert '""' not in record[1], record
        for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
            inner = command.get_command(context, name)
            check(inner, click.Context(inner, parent=context, show_default=True))

    check(main, click.Context(main, show_default=True))
