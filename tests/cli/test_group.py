"""`clew group`: what it writes, and where."""

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from clew import Constraints
from clew.cli._groups import about_numbers
from clew.cli._models import build_model, features_for
from clew.cli._words import sizes_words, wrong_with
from clew.cli.group import METHODS
from clew.constraints._meanings import TRUTH
from clew.metrics import adjusted_rand_score

pytestmark = pytest.mark.usefixtures("fair_search")

HEADER = ["id", "group", "name", "confidence", "doubtful", "doubt_reason", "n_answers"]
BLOBS = np.repeat([0, 1, 2], 10)


def _table(text: str) -> list[dict[str, str]]:
    reader = csv.DictReader(io.StringIO(text))
    assert reader.fieldnames == HEADER
    return list(reader)


def _labels(text: str) -> list[int]:
    return [int(row["group"]) for row in _table(text)]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_blobs(run, X, method):
    trees = ("--n-trees", 200) if method in ("coprf", "clustrf") else ()
    done = run(X, "--n-groups", 3, "--method", method, *trees, fast=False)
    assert done.exit_code == 0, done.output
    # ClustRF, on so few rows, mistakes one or two.
    least = 0.75 if method == "clustrf" else 1
    assert adjusted_rand_score(BLOBS, _labels(done.stdout)) >= least


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("clustrf", "spectral")])
def test_every_method_that_takes_answers_follows_them(run, X, answers, method):
    trees = ("--n-trees", 200) if method == "coprf" else ()
    file = answers("0 1 same", "0 12 different", "13 25 different", "5 6 dont_know")
    done = run(X, "-k", 3, "-c", file, "--method", method, *trees, fast=False)
    assert done.exit_code == 0, done.output
    assert "the groups go against 0" in done.stderr
    assert adjusted_rand_score(BLOBS, _labels(done.stdout)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["guided", "sklr", "dcrc"])
def test_answers_about_three_rows_change_groups_from_both_kinds_of_file(run, X, here, method):
    # The answers are about groups along a feature that varies less than the features of the blobs.
    rows = np.load(X)
    y = np.arange(30) % 2
    np.save(X, np.column_stack([rows, y * 3.0]))
    known = Constraints.from_labels(y, 0, n_triplets=60, n_odd_one_out=60, random_state=0)
    known.to_csv("said.csv")
    known.to_jsonl("said.jsonl")
    said = [run(X, "-k", 2, "-c", f"said.{kind}", "--method", method, fast=False)
            for kind in ("csv", "jsonl")]  # fmt: skip
    assert [done.exit_code for done in said] == [0, 0], said[0].output
    assert said[0].stdout == said[1].stdout
    assert "120 answers" in said[0].stderr
    alone = run(X, "-k", 2, "--method", method, fast=False)
    assert adjusted_rand_score(y, _labels(alone.stdout)) < 0.5
    assert adjusted_rand_score(y, _labels(said[0].stdout)) > 0.8


@pytest.mark.parametrize("method", ["sklr", "itml", "dcrc"])
def test_units_of_features_do_not_matter_where_they_are_standardized(run, X, answers, method):
    file = answers("0 1 same", "0 12 different", "13 25 different")
    options = ("-k", 3, "-c", file, "--method", method)
    expected = _labels(run(X, *options, fast=False).stdout)
    np.save(X, np.load(X) * [1e-6, 1e6, 1.0] + [1.0, 2.0, 3.0])
    assert _labels(run(X, *options, fast=False).stdout) == expected
    assert adjusted_rand_score(BLOBS, expected) == 1


def test_standardized_features_have_mean_0_and_variance_1():
    rows = np.random.RandomState(0).normal(5, 3, (40, 6)) * [1, 1e300, 1e-300, 0, 0, 1]
    rows[:, 3:5] = [1e300, 0.1]
    model = build_model("dcrc", 3)
    found = features_for(model, rows, "auto", is_scaled=False).X
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(found.var(axis=0), [1, 1, 1, 0, 0, 1])
    assert features_for(model, rows, False, is_scaled=False).X is rows


def test_guided_estimates_the_share_of_wrong_answers_by_annotator(run, X, here):
    pairs = Constraints.from_labels(BLOBS, 120, random_state=0).pairs
    truth = BLOBS[pairs[:, 0]] == BLOBS[pairs[:, 1]]
    is_hasty = np.arange(120) % 2 == 1
    answers = np.where(is_hasty & (np.arange(120) % 6 == 1), ~truth, truth)
    who = ["hasty" if hasty else "careful" for hasty in is_hasty]
    said = Constraints(30, pairs=np.column_stack([pairs, answers]), pair_annotators=who)
    said.to_csv("said.csv")
    done = run(X, "-k", 3, "-c", "said.csv", "-o", "g.csv", "--json", fast=False)
    summary = json.loads(done.stdout)
    low, high = summary["error_interval"]
    assert 0 < low < summary["error_rate"] < high < 0.45
    rates = summary["annotators"]
    assert rates["careful"] < 0.1 < 0.2 < rates["hasty"] < 0.45
    assert f"{low:.0%} to {high:.0%} with 95% confidence" in done.stderr
    assert (
        f"by annotator: hasty {rates['hasty']:.0%}, careful {rates['careful']:.0%}" in done.stderr
    )


def test_rows_that_go_against_an_answer_about_three_are_doubtful(run, X, here):
    lines = ["triplet,0,25,1,first", "odd_one_out,10,11,26,third", "odd_one_out,5,15,6,all_alike"]
    lines += ["triplet,3,4,13,dont_know"]
    (here / "said.csv").write_text("\n".join(["kind,i,j,k,answer", *lines]) + "\n")
    done = run(X, "-k", 3, "-c", "said.csv", "--method", "dcrc", fast=False)
    assert done.exit_code == 0, done.output
    rows = _table(done.stdout)
    assert _labels(done.stdout) == BLOBS.tolist()
    against = [row["id"] for row in rows if "goes against an answer" in row["doubt_reason"]]
    assert against == ["0", "1", "5", "6", "15", "25"]
    assert [rows[i]["n_answers"] for i in (0, 2, 13, 26)] == ["1", "0", "1", "1"]
    assert "the groups go against 2" in done.stderr


def test_more_groups_than_asked_for_are_reported(run, X, answers):
    # The first four rows must be in four groups, so three groups are not enough.
    apart = [f"{i} {j} different" for i in range(4) for j in range(i)]
    done = run(X, "-k", 3, "-c", answers(*apart), "--method", "linkage", fast=False)
    assert done.exit_code == 0, done.output
    assert "4 groups" in done.stderr
    assert "Warning" not in done.stderr


def test_groups_are_numbered_by_their_first_rows(run, X):
    assert _labels(run(X, "-k", 3).stdout) == BLOBS.tolist()


def test_without_an_output_the_table_is_all_of_the_standard_output(run, X, here):
    done = run(X, "-k", 3)
    assert len(_table(done.stdout)) == 30
    assert "30 rows in 3 groups of 10 rows each" in done.stderr
    assert [path.name for path in here.iterdir()] == ["X.npy"]
    assert _table(run(X, "-k", 3, "-o", "-").stdout) == _table(done.stdout)


def test_answers_are_counted_and_the_doubtful_ones_are_written_to_a_file(run, X, here, answers):
    file = answers("0 1 same", "0 12 different", "3 4 dont_know")
    done = run(X, "-k", 3, "-c", file, "-o", here / "groups.csv")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    rows = _table((here / "groups.csv").read_text())
    assert [row["n_answers"] for row in rows[:5]] == ["2", "1", "0", "1", "1"]
    assert all(0 <= float(row["confidence"]) <= 1 for row in rows)
    assert (here / "groups.doubtful.csv").read_text().splitlines()[0] == (
        "kind,i,j,k,id_i,id_j,id_k,answer,annotator,weight,p_wrong,line"
    )


def test_wrong_answers_are_the_first_in_the_file_of_doubtful_ones(run, X, here):
    known = Constraints.from_labels(BLOBS, 200, random_state=0)
    said = np.column_stack([known.pairs, known.pair_answers])
    lies = [5, 60, 150]
    said[lies, 2] = 1 - said[lies, 2]
    annotators = np.where(np.isin(np.arange(200), lies), "liar", "ann")
    Constraints(30, pairs=said, pair_annotators=annotators).to_csv("said.csv")
    done = run(X, "-k", 3, "-c", "said.csv", "-o", "g.csv", "--doubtful", "odd.csv", "--json")
    assert done.exit_code == 0, done.output
    with open("odd.csv", newline="") as file:
        doubted = list(csv.DictReader(file))
    assert {row["annotator"] for row in doubted[:3]} == {"liar"}
    pairs = {(int(row["i"]), int(row["j"])) for row in doubted[:3]}
    assert pairs == {tuple(pair) for pair in said[lies, :2].tolist()}
    assert {int(row["line"]) for row in doubted[:3]} == {at + 2 for at in lies}
    probabilities = [float(row["p_wrong"]) for row in doubted]
    assert probabilities == sorted(probabilities, reverse=True)
    assert min(probabilities) > 0.5
    assert json.loads(done.stdout)["doubted"] == len(doubted)
    assert not (here / "doubtful.csv").exists()


@pytest.mark.slow
def test_guided_doubts_answers_of_all_kinds_and_chooses_the_number_of_groups(run, X, here):
    known = Constraints.from_labels(
        BLOBS, 60, n_triplets=60, n_odd_one_out=60, random_state=0, error=0.05
    )
    known.to_csv("said.csv")
    done = run(X, "-c", "said.csv", "-o", "g.csv", "--json", fast=False)
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert (summary["method"], summary["sizes"]) == ("guided", [10, 10, 10])
    assert 0 < summary["error_rate"] < 0.2
    with open("g.doubtful.csv", newline="") as file:
        doubted = list(csv.DictReader(file))
    assert {row["kind"] for row in doubted} == {"pair", "triplet", "odd_one_out"}
    for row in doubted:
        assert (row["k"] == "") == (row["kind"] == "pair") == (row["id_k"] == "")
    n_wrong = sum(
        (said != TRUTH[kind](BLOBS, rows)).sum()
        for kind, rows, said in (
            ("pair", known.pairs, known.pair_answers),
            ("triplet", known.triplets, known.triplet_answers),
            ("odd_one_out", known.odd_one_out, known.odd_one_out_answers),
        )
    )
    assert len(doubted) == n_wrong > 5


@pytest.mark.slow
def test_pairs_that_a_person_called_both_ways_are_counted(run, X, here):
    known = Constraints.from_labels(BLOBS, 60, random_state=0)
    asked = np.column_stack([known.pairs, known.pair_answers])
    turned = np.column_stack([known.pairs[:, ::-1], 1 - known.pair_answers])
    pairs = np.vstack([asked, turned, asked[:5], turned[5:7]])
    who = ["ann"] * 120 + ["bob"] * 7
    Constraints(30, pairs=pairs, pair_annotators=who).to_csv("said.csv")
    done = run(X, "-c", "said.csv", "-o", "g.csv", fast=False)
    assert "60 pairs are called both same and different by the same person" in done.stderr
    assert "the answers look random: these are groups by features alone" in done.stderr
    assert "chose 3 groups, by features\n" in done.stderr
    Constraints(30, pairs=pairs[:60]).to_csv("said.csv")
    done = run(X, "-c", "said.csv", "-o", "g.csv", fast=False)
    assert "both" not in done.stderr
    assert "random" not in done.stderr


def test_doubtful_rows_are_named_with_the_place_of_their_reasons(run, X, here, answers):
    file = answers(*(f"0 {row} same" for row in range(10, 17)))
    done = run(X, "-k", 3, "-c", file, "--method", "pckmeans", "-o", "g.csv", fast=False)
    rows = [
        line.split(",")[0] for line in Path("g.csv").read_text().splitlines() if ",true," in line
    ]
    (line,) = [line for line in done.stderr.splitlines() if "doubtful row" in line]
    named, _, where = line.partition("; ")
    number, _, ids = named.partition(" doubtful rows: ")
    assert int(number) == len(rows) > 5
    ids, _, more = ids.partition(" and ")
    assert set(ids.split(", ")) < set(rows)
    assert more == f"{len(rows) - 5} more"
    assert where == "the column doubt_reason of g.csv says why"


def test_rows_that_go_against_an_answer_are_doubtful(run, X, answers):
    file = answers("0 1 same", "2 25 same")
    done = run(X, "-k", 3, "-c", file, "--trust", "none")
    rows = _table(done.stdout)
    assert _labels(done.stdout) == BLOBS.tolist()
    against = [row["id"] for row in rows if "goes against an answer" in row["doubt_reason"]]
    assert against == ["2", "25"]
    assert all((row["doubtful"] == "true") == bool(row["doubt_reason"]) for row in rows)


def test_json_without_a_file_puts_the_groups_into_groups_csv(run, X, answers, here):
    done = run(X, "-k", 3, "-c", answers("0 1 same"), "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert (summary["groups_file"], summary["doubtful_file"]) == (
        "groups.csv",
        "groups.doubtful.csv",
    )
    assert len((here / "groups.csv").read_text().splitlines()) == 31
    assert (here / "groups.doubtful.csv").exists()


def test_json_sums_up(run, X, answers):
    file = answers("0 1 same", "0 12 different")
    done = run(X, "-k", 3, "-c", file, "-o", "g.csv", "--json", "--seed", 7, "-q")
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert summary.pop("seconds") > 0
    assert 0 <= summary.pop("error_rate") < 0.5
    assert summary == {
        "rows": 30,
        "features": 3,
        "method": "coprf",
        "seed": 7,
        "sizes": [10, 10, 10],
        "names": [],
        "alternatives": [],
        "probabilities": {},
        "doubtful_rows": 0,
        "answers": 2,
        "violated": 0,
        "both_ways": 0,
        "doubted": 0,
        "error_interval": None,
        "annotators": None,
        "groups_file": "g.csv",
        "doubtful_file": "g.doubtful.csv",
    }


@pytest.mark.slow
def test_the_same_seed_gives_the_same_file_whatever_the_threads(run, X):
    forest = ("-k", 5, "--method", "coprf", "--n-trees", 40)
    for options in (forest, ("-k", 5)):
        first = run(X, *options, "-j", 1, fast=False).stdout
        assert len(_table(first)) == 30
        assert run(X, *options, "-j", 2, fast=False).stdout == first
    first = run(X, *forest, "-j", 1, fast=False).stdout
    assert run(X, *forest, "--seed", 1, fast=False).stdout != first


def test_an_older_output_is_replaced(run, X, here):
    (here / "g.csv").write_text("old")
    assert run(X, "-k", 3, "-o", "g.csv").exit_code == 0
    assert _labels((here / "g.csv").read_text()) == BLOBS.tolist()


def test_ids_come_from_the_table_and_cannot_be_formulas(run, here):
    lines = ["id,a", "=1+1,0.0", "-3,0.1", '"a,b",5.0', "@x,5.2"]
    (here / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    done = run("t.csv", "-k", 2)
    assert [row["id"] for row in _table(done.stdout)] == ["'=1+1", "-3", "a,b", "'@x"]


@pytest.mark.parametrize(
    "said",
    [
        [],
        ["0 12 different", "3 25 different"],
        ["0 1 same", "11 12 same"],
        [f"{i} {i + 1} same" for i in range(29)],
        ["0 1 dont_know"],
    ],
    ids=["none", "cannot-links", "must-links", "one component", "dont-knows"],
)
@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_files_with_answers_of_one_value_are_grouped(run, X, answers, said, mode):
    done = run(X, "-k", 3, "-c", answers(*said), "--mode", mode)
    assert done.exit_code == 0, done.output
    assert len(_table(done.stdout)) == 30


@pytest.mark.parametrize("method", ["coprf", "clustrf", "spectral"])
def test_constant_columns_and_duplicate_rows_are_fine(run, here, method):
    rows = np.repeat([[0.0, 7.0, 1.0], [5.0, 7.0, 3.0]], 10, axis=0)
    np.save("X.npy", rows)
    done = run("X.npy", "-k", 2, "--method", method, fast=method != "spectral")
    assert done.exit_code == 0, done.output
    assert _labels(done.stdout) == [0] * 10 + [1] * 10


def test_equal_rows_are_grouped(run, here):
    np.save("X.npy", np.ones((12, 3)))
    done = run("X.npy", "-k", 2)
    assert done.exit_code == 0, done.output
    assert len(_table(done.stdout)) == 12


@pytest.mark.parametrize("k", [1, 30])
def test_one_group_and_as_many_groups_as_rows(run, X, k):
    done = run(X, "-k", k)
    assert done.exit_code == 0, done.output
    assert set(_labels(done.stdout)) <= set(range(k))


def test_verbose_prints_each_step(run, X, answers):
    done = run(X, "-k", 3, "-c", answers("0 1 same"), "-v")
    assert "30 rows, 3 features" in done.stderr
    assert "answers.csv: 1 answer\n" in done.stderr
    assert "grouping by coprf, seed 0" in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_output_may_be_a_device(run, X):
    assert run(X, "-k", 3, "-o", Path(os.devnull)).exit_code == 0


def test_environment_sets_the_number_of_trees(run, X, monkeypatch):
    forest = ("-k", 5, "--method", "coprf", "-j", 1)
    few, more = (run(X, *forest, "--n-trees", n, fast=False).stdout for n in (5, 40))
    assert few != more
    monkeypatch.setenv("CLEW_GROUP_N_TREES", "5")
    assert run(X, *forest, fast=False).stdout == few
    assert run(X, *forest, "--n-trees", 40, fast=False).stdout == more


def test_environment_gives_options_and_the_command_line_overrides_it(run, X, monkeypatch):
    monkeypatch.setenv("CLEW_GROUP_N_GROUPS", "2")
    assert set(_labels(run(X).stdout)) == {0, 1}
    assert set(_labels(run(X, "-k", 3).stdout)) == {0, 1, 2}


@pytest.mark.parametrize("is_file", [False, True])
def test_names_of_groups_are_in_the_table(run, X, here, is_file):
    (here / "names.txt").write_text("north\nsouth, far\n")
    names = "names.txt" if is_file else 'north,"south, far"'
    done = run(X, "-k", 3, "--names", names)
    assert done.exit_code == 0, done.output
    table = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(table[0])[:3] == ["id", "group", "name"]
    assert {(row["group"], row["name"]) for row in table} == {
        ("0", "north"), ("1", "south, far"), ("2", "group 3")
    }  # fmt: skip


def test_more_names_than_groups(run, X):
    done = run(X, "-k", 3, "--names", "a,b,c,d")
    assert done.exit_code == 2
    assert "--names has 4 names for 3 groups" in done.stderr
    done = run(X, "--names", "a,b,c,d,e,f,g", fast=False)
    assert done.exit_code == 0
    assert "there are only 3 groups for 7 names" in done.stderr


def test_an_empty_name_and_a_missing_file_are_refused(run, X, here):
    (here / "names.txt").write_text("north\n\nsouth\n")
    for names in ("north,,south", "names.txt"):
        done = run(X, "-k", 3, "--names", names)
        assert done.exit_code == 2
        assert "empty" in done.stderr
    done = run(X, "-k", 3, "--names", "nmaes.txt")
    assert (done.exit_code, "there is no file nmaes.txt" in done.stderr) == (2, True)


def test_numbers_of_groups_are_compared_by_the_answers_that_they_violate():
    assert about_numbers({4: 255, 2: 784}, {4: 0.96, 2: 0.04}) == (
        "4 groups go against 255 answers, 2 against 784"
    )
    assert about_numbers({1: 1, 2: 0}, {}) == "1 group goes against 1 answer, 2 against 0"
    assert about_numbers({3: 5}, {3: 1.0}) == ""
    assert about_numbers({30: 5}, {24: 0.5, 30: 0.5}) == ""
    doubt = (
        "it is not sure yet how many groups there are: 3 to 5 (probability 0.9); more answers "
        "will tell"
    )
    undecided = about_numbers({3: 5, 4: 4}, {4: 0.4, 3: 0.5, 5: 0.1})
    assert undecided == f"3 groups go against 5 answers, 4 against 4; {doubt}"
    assert about_numbers({3: 5}, {3: 0.94, 5: 0.06}) == doubt


def test_no_answer_is_surely_wrong():
    assert [wrong_with(p) for p in (0.999, 0.5)] == [
        "wrong with probability 0.99", "wrong with probability 0.50"
    ]  # fmt: skip


def test_sizes_in_words():
    assert sizes_words([8, 8], "row") == "8 rows each"
    assert sizes_words([8], "row") == "8 rows"
    assert sizes_words([1, 1], "row") == "1 row each"
    assert sizes_words([1200, 8], "row") == "8 to 1,200 rows"
