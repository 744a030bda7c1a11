"""`clew group` without features: answers alone group the rows that a file or the answers name."""

import csv
import json

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("small_search")

NAMES = [f"car_{at:02}" for at in range(24)]
GROUP = {name: at % 3 for at, name in enumerate(NAMES)}


@pytest.fixture
def pairs(here):
    """Right answers of two people, about 150 pairs by id."""
    rng = np.random.default_rng(0)
    rows = [rng.choice(NAMES, 2, replace=False) for _ in range(150)]
    lines = [
        f"pair,{a},{b},{'same' if GROUP[a] == GROUP[b] else 'different'},{who}"
        for a, b in rows
        for who in ("ann", "ben")
    ]
    path = here / "answers.csv"
    path.write_text("\n".join(["kind,id_i,id_j,answer,annotator", *lines]) + "\n")
    return path


def groups_in(path):
    with path.open() as file:
        return {row["id"]: row["group"] for row in csv.DictReader(file)}


def are_right(found):
    return len(set(found.values())) == 3 and len({(found[n], GROUP[n]) for n in found}) == 3


@pytest.mark.slow
def test_only_answers_are_needed(run, here, pairs):
    done = run("-c", pairs, "-k", 3, "-o", "g.csv", "--save", "r.npz", "--report", "r.html",
               fast=False)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    found = groups_in(here / "g.csv")
    assert sorted(found) == NAMES
    assert are_right(found)
    assert "24 rows, of the answers; no features" in done.stderr
    assert "features are" not in done.stderr
    assert "car_00" in (here / "r.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("header", ["id", "id,name"])
def test_a_table_of_ids_names_the_rows(run, here, pairs, header):
    names = [*NAMES, "car_99"]  # no answer names the last one
    fields = [name if header == "id" else f"{name},the {name}" for name in names]
    (here / "cars.csv").write_text("\n".join([header, *fields]) + "\n")
    done = run("cars.csv", "-c", pairs, "-k", 3, "--json", fast=False)
    assert done.exit_code == 0, done.stderr
    assert "answers alone group the rows" in done.stderr
    assert json.loads(done.stdout)["features"] == 0
    found = groups_in(here / "groups.csv")
    assert list(found) == names
    assert are_right({name: found[name] for name in NAMES})


def test_rows_by_number_or_from_a_file_of_ids(run, here, pairs):
    pairs.write_text(pairs.read_text().replace("car_", "").replace("id_", ""))
    done = run("-c", pairs, "-k", 3, fast=False)
    assert done.exit_code == 0, done.stderr
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == list(
        map(str, range(24))
    )
    (here / "ids.txt").write_text("\n".join(["zero", "one"]))
    done = run("--ids", "ids.txt", "-c", pairs, fast=False)
    assert done.exit_code == 1
    assert "out of range" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ((), 2, "name a file of rows, X.csv, or of answers, --constraints; or work in a project"),
        (("-c", "answers.csv", "--method", "e2cp", "-k", 3), 2, "--method e2cp needs a file of"),
        (("-c", "answers.csv", "--distances"), 2, "--distances needs the file"),
        (("ids.csv",), 1, "rows without features can be grouped by answers (--constraints)"),
        (("ids.csv", "-c", "answers.csv", "--method", "e2cp", "-k", 3), 1, "needs features"),
        (("-c", "answers.csv", "-k", 25), 1, "--n-groups 25 is too many: answers.csv"),
        (("-c", "unknown.csv"), 1, "answers name rows in columns id_i and id_j"),
        (("-c", "one.csv"), 1, "one.csv names 0 rows; grouping needs two rows or more"),
        (("-c", "bad.csv"), 1, "bad.csv, line 2: not a row number: 'x'"),
    ],
)
def test_missing_input_is_named(run, here, pairs, arguments, status, words):
    (here / "ids.csv").write_text("\n".join(["id", *NAMES]))
    (here / "unknown.csv").write_text("kind,a,b,answer\npair,x,y,same\n")
    (here / "one.csv").write_text("kind,id_i,id_j,answer\n")
    (here / "bad.csv").write_text("kind,i,j,answer\npair,x,1,same\n")
    done = run(*arguments, fast=False)
    assert done.exit_code == status, done.stderr
    assert words in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_file_of_an_experiment_is_grouped(run, here):
    rng = np.random.default_rng(0)
    lines = ["trial,participant,left,middle,right,response"]
    while len(lines) < 300:
        three = rng.choice(NAMES, 3, replace=False).tolist()
        groups = [GROUP[name] for name in three]
        odd = [name for name in three if groups.count(GROUP[name]) == 1]
        if len(odd) == 1:
            lines.append(f"{len(lines)},p{len(lines) % 3},{','.join(three)},{odd[0]}")
    (here / "trials.csv").write_text("\n".join(lines) + "\n")
    named = ("--item-columns", "left,middle,right", "--answer-column", "response",
             "--annotator-column", "participant")  # fmt: skip
    for options, output in (((), "a.csv"), (named, "b.csv")):
        done = run("-c", "trials.csv", "-k", 3, "-o", output, *options, fast=False)
        assert done.exit_code == 0, done.stderr
        assert are_right(groups_in(here / output))
    assert (here / "a.csv").read_text() == (here / "b.csv").read_text()
    refused = run("-c", "trials.csv", "--answer-column", "reply", fast=False)
    assert refused.exit_code == 1
    assert "there is no column 'reply'" in refused.stderr


def test_columns_of_answers_need_a_table_of_answers(run, X):
    done = run(X, "-k", 3, "--answer-column", "response")
    assert done.exit_code == 2
    assert "--answer-column is about a table of answers" in done.stderr
