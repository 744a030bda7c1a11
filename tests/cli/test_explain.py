"""`clew explain`: why two rows of a saved result are together or apart."""

import csv
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from clew import Constraints
from clew.cli import main
from clew.cli._groups import _answer, find_groups, read_saved, saved_bytes
from clew.cluster import GuidedClustering
from clew.cluster.guided._explain import GivenAnswer

pytestmark = pytest.mark.usefixtures("small_search")

LABEL = np.repeat([2, 0, 1], 10)
IDS = [f"w{row}" for row in range(100, 130)]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    rng = np.random.RandomState(0)
    rows = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[LABEL] + rng.normal(size=(30, 2))
    pd.DataFrame(rows, columns=["a", "b"]).assign(id=IDS).to_csv(folder / "t.csv", index=False)
    lines = ["w100,w101,same,ann", "w101,w102,same,ann", "w102,w115,different,bob"]
    lines += [f"w1{row:02},w1{row + 1:02},same,bob" for row in (11, 13, 21, 23, 25)]
    (folder / "said.csv").write_text(
        "kind,id_i,id_j,answer,annotator\n" + "".join(f"pair,{line}\n" for line in lines)
    )
    given = ["group", "t.csv", "-c", "said.csv", "-k", "3", "-o", "g.csv", "--save", "r.npz"]
    given = [str(folder / one) if "." in one else one for one in given]
    done = CliRunner().invoke(main, given, prog_name="clew")
    assert done.exit_code == 0, done.output
    return folder / "r.npz"


def _explain(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["explain", *map(str, arguments)], prog_name="clew")


def test_rows_that_are_together(saved):
    done = _explain(saved, "w100", "w102")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("w100 and w102 are together, in group 1. Probability")
    assert "- no answer about both" in lines
    assert "- other answers imply w100 = w101 = w102" in lines
    assert sum("rows nearest to" in line for line in lines) == 2


def test_rows_that_are_apart(saved):
    done = _explain(saved, "w100", "w115")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("w100 and w115 are apart: w100 in group 1, w115 in group 2.")
    assert "- other answers imply w100 = w101 = w102 ≠ w115" in lines


def test_an_answer_about_both_is_quoted(saved):
    words = _explain(saved, "w100", "w101").stdout
    assert "- answer of ann: same (wrong with probability 0." in words


@pytest.mark.parametrize(
    ("kind", "word", "words"),
    [
        ("odd_one_out", "second", "b is the odd one out, beside a and c"),
        ("odd_one_out", "all_alike", "all alike, about a, b, c"),
        ("triplet", "first", "a is more like b than like c"),
        ("triplet", "second", "a is more like c than like b"),
        ("triplet", "dont_know", "dont know, about a, b, c"),
    ],
)
def test_answers_about_three_rows_are_written_out(kind, word, words):
    answer = GivenAnswer(kind, (0, 1, 2), word, "ann", np.nan)
    assert _answer(answer, "abc".__getitem__) == f"answer of ann: {words}"


def test_groups_are_numbered_as_in_the_table(saved):
    with (saved.parent / "g.csv").open(newline="") as file:
        cluster = {row["id"]: int(row["group"]) for row in csv.DictReader(file)}
    for i, j in (("w100", "w129"), ("w115", "w125"), ("w110", "w111")):
        record = json.loads(_explain(saved, i, j, "--json").stdout)
        assert record["ids"] == [i, j]
        assert record["groups"] == [cluster[i], cluster[j]]
        assert 0 <= record["p_together"] <= 1


def test_row_numbers_are_asked_for(saved):
    by_id = _explain(saved, "w100", "w102")
    assert _explain(saved, "0", "2", "--rows").stdout == by_id.stdout
    done = _explain(saved, "0", "2")
    assert done.exit_code == 2
    assert "no row with the id '0'" in done.stderr
    assert "add --rows" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("w100", "w100"), "the same row"),
        (("w100", "nobody"), "no row with the id 'nobody'"),
        (("0", "30", "--rows"), "from 0 to 29"),
    ],
)
def test_rows_that_cannot_be_explained(saved, arguments, words):
    done = _explain(saved, *arguments)
    assert done.exit_code == 2
    assert words in done.stderr


def test_other_files_are_refused_and_pickles_are_not_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return Path.touch, (tmp_path / "sprung",)

    (tmp_path / "a.npz").write_bytes(pickle.dumps(Trap()))
    np.savez(tmp_path / "b.npz", form=np.array([Trap()], dtype=object))
    np.savez(tmp_path / "c.npz", X=np.ones(3))
    (tmp_path / "d.npz").write_text("kind,i,j\n")
    for name in "abcd":
        done = _explain(tmp_path / f"{name}.npz", 0, 1)
        assert done.exit_code == 1, done.output
        assert f"{name}.npz is not a result of clew" in done.stderr
        assert "allow_pickle" not in done.stderr
    assert not (tmp_path / "sprung").exists()


def test_a_result_holds_all_that_explains(tmp_path):
    rng = np.random.RandomState(0)
    X = np.repeat(np.eye(3) * 9, 10, axis=0) + rng.normal(size=(30, 3))
    y = np.repeat([0, 1, 2], 10)
    known = Constraints.from_labels(
        y, 40, n_triplets=20, n_odd_one_out=20, error=0.1, random_state=0
    ).with_weights(pair_weights=np.linspace(0, 1, 40))
    model = GuidedClustering(3, random_state=0).fit(X, constraints=known)
    groups = find_groups(model, X, known, names=("wren",))
    (tmp_path / "r.npz").write_bytes(saved_bytes(model, list(map(str, range(30))), known, groups))
    saved = read_saved(tmp_path / "r.npz")
    assert saved.known == known
    assert saved.titles == ["wren", "group 2", "group 3"]
    for ours, theirs in zip(saved.doubts, model.answer_posterior_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert saved.doubts.to_frame().equals(model.answer_posterior_.to_frame())
    for i, j in ((0, 1), (0, 20), (11, 25)):
        ours, theirs = saved.explain(i, j), model.explain(i, j)
        assert ours.p_together == pytest.approx(theirs.p_together)
        assert (ours.chain, ours.neighbors) == (theirs.chain, theirs.neighbors)
        # As text: a probability may be NaN, which is not equal to itself.
        assert repr(ours.answers) == repr(theirs.answers)


def test_only_guided_saves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", np.eye(5))
    given = ["group", "X.npy", "-k", "2", "--method", "e2cp", "--save", "r.npz"]
    done = CliRunner().invoke(main, given, prog_name="clew")
    assert done.exit_code == 2
    assert "--save has no effect with --method e2cp" in done.stderr
