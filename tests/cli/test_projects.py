"""Projects on the command line: init, add, status, annotator, set-aside."""

import json
import os
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tests.cli.projects import NAMES, clew, photos

from clew.cli.status import _groups
from clew.collections import Project
from clew.session._remaining import Remaining

# init and add -----------------------------------------------------------------------------


def test_init(birds, here):
    with birds.open_store() as store:
        assert store.item_ids() == NAMES
        assert store.settings()["name"] == "birds"
    again = clew("init", "birds")
    assert again.exit_code == 1
    assert "clew add" in again.stderr
    assert len(again.stderr.splitlines()) == 1


def test_init_from_a_file_elsewhere(here):
    (here / "data").mkdir()
    (here / "data" / "t.csv").write_text("id,text\na,wren\nb,owl\n")
    done = clew("init", "project", "--from", "data/t.csv", "--json")
    assert json.loads(done.stdout) == {
        "new": 2, "changed": 0, "moved": 0, "same": 0, "copies": 0, "left_out": {},
        "project": "project",
    }  # fmt: skip
    assert Project.open("project").root == here / "data"


def test_an_interrupted_app_does_not_say_that_nothing_was_written(here, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    # The package's attribute of that name is the command.
    monkeypatch.setattr(sys.modules["clew.cli.serve"], "begin_project", stop)
    done = clew("serve", ".")
    assert done.exit_code == 130
    assert done.stderr == "clew: interrupted; what was saved is kept\n"


@pytest.mark.slow
def test_the_app_does_not_say_to_start_the_app(here, capfd):
    serve = sys.modules["clew.cli.serve"]
    (here / "t.csv").write_text("id,text\na,wren\nb,owl\n")
    project = serve.project_of(here / "t.csv", serve.begin_project(here / "t.csv"))
    assert project.folder == here / ".clew"
    words = capfd.readouterr().err
    assert f"made {here / '.clew'}\n" in words
    assert "next" not in words
    (here / "t.csv").rename(here / "other.csv")
    assert "next: clew ask" in clew("init", "p", "--from", "other.csv").stderr


def test_init_that_fails_leaves_nothing(here):
    (here / "t.csv").write_text("a,b\n1,2\n")
    done = clew("init", "project", "--from", "t.csv")
    assert done.exit_code == 1
    assert "no column of ids" in done.stderr
    assert not (here / "project").exists()
    assert clew("init", "nothing").exit_code == 2
    (here / "photos").mkdir()
    done = clew("init", "photos")
    assert (done.exit_code, os.listdir(here / "photos")) == (1, [])


def test_add_again_changes_nothing(birds):
    done = clew("add", "birds", "-p", "birds")
    assert done.exit_code == 0, done.output
    assert "0 new, 9 there already" in done.stderr


def test_a_moved_file_keeps_its_answers(grouped, here):
    (here / "birds" / NAMES[0]).rename(here / "birds" / "z.png")
    done = clew("add", "birds", "-p", "birds")
    assert "1 moved" in done.stderr
    assert f"{NAMES[0]} is now z.png" in done.stderr
    with grouped.open_store() as store:
        assert store.items_by_id([NAMES[0]])[NAMES[0]].path == "z.png"
        assert len(store.item_ids()) == 9


@pytest.mark.slow
def test_files_that_are_gone_are_named_once(birds, here):
    (here / "birds" / NAMES[0]).unlink()
    (here / "birds" / "old").mkdir()
    (here / "birds" / "new").mkdir()
    (here / "birds" / NAMES[1]).rename(here / "birds" / "new" / "moved.png")
    paths = ("birds/old", "birds/new", "-p", "birds")
    (here / "birds" / "old" / "other.png").write_bytes((here / "birds" / NAMES[2]).read_bytes())
    for options in (("--dry-run",), ()):
        done = clew("add", *paths, *options)
        assert done.stderr.count("1 item whose file is gone") == 1
        assert f"  {NAMES[0]}\n" in done.stderr
        assert "1 moved" in done.stderr
    assert json.loads(clew("add", *paths, "--json").stdout)["gone"] == [NAMES[0]]
    assert clew("set-aside", NAMES[0], "-p", "birds").exit_code == 0
    assert json.loads(clew("add", *paths, "--json").stdout)["gone"] == []


def test_what_cannot_be_read_is_listed(birds, here):
    (here / "birds" / "bad\x1b[2J.png").write_text("no image")
    done = clew("add", "birds", "-p", "birds")
    assert done.exit_code == 0
    assert "1 file cannot be used and is left out" in done.stderr
    assert "\x1b" not in done.stderr
    facts = json.loads(clew("add", "birds", "-p", "birds", "--json").stdout)
    assert list(facts["added"][0]["left_out"]) == ["bad\x1b[2J.png"]


def test_dry_run_adds_nothing(birds, here):
    Image.new("RGB", (9, 9)).save(here / "birds" / "new.png")
    done = clew("add", "birds", "-p", "birds", "--dry-run")
    assert "1 new" in done.stderr
    with birds.open_store() as store:
        assert len(store.item_ids()) == 9


def test_files_out_of_the_folder_of_the_project_are_refused(birds, here):
    photos(here / "others")
    done = clew("add", "others", "-p", "birds")
    assert done.exit_code == 1
    assert "lies outside of" in done.stderr


def test_vectors_of_a_project(here):
    photos(here / "birds")
    X = np.arange(18.0).reshape(9, 2)
    np.savez("X.npz", X=X, ids=NAMES)
    assert clew("init", "birds", "--vectors", "X.npz").exit_code == 0
    project = Project.open("birds")
    assert np.array_equal(project.vectors(NAMES), X)
    assert clew("add", "birds", "-p", "birds", "--vectors", "X.npz").exit_code == 0
    assert len(list((project.folder / "vectors").glob("*.npy"))) == 1


@pytest.mark.parametrize("name", ["vectors", "distances"])
def test_ids_and_numbers_make_a_project_without_a_folder(here, name):
    values = np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])
    np.save("X.npy", values if name == "distances" else values + 1)
    (here / "ids.txt").write_text("a\nb\nc\n")
    assert clew("init", "p", f"--{name}", "X.npy", "--ids", "ids.txt").exit_code == 0
    project = Project.open("p")
    own = project.distances if name == "distances" else project.vectors
    assert np.array_equal(own(["a", "b", "c"]), np.load("X.npy"))


def test_what_looks_like_distances_is_not_taken_for_vectors(here):
    np.save("D.npy", np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]]))
    done = clew("init", "p", "--from", "D.npy")
    assert done.exit_code == 1
    assert "add --kind distances; if they are features, --kind vectors" in done.stderr
    assert not (here / "p").exists()
    assert clew("init", "p", "--from", "D.npy", "--kind", "vectors").exit_code == 0
    done = clew("add", "D.npy", "-p", "p", "--vectors", "D.npy")
    assert "name it with --distances" in done.stderr


def test_distances_are_between_all_items(here):
    D = np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])
    np.savez("D.npz", D=D, ids=["a", "b", "c"])
    assert clew("init", "p", "--from", "D.npz", "--kind", "distances").exit_code == 0
    np.savez("E.npz", D=D[:2, :2], ids=["a", "x"])
    done = clew("add", "E.npz", "-p", "p", "--kind", "distances")
    assert done.exit_code == 1
    assert "have no distances in this file" in done.stderr


def test_a_further_table_with_other_columns(here):
    """Rows keep gaps where a column was renamed: it is said; and how many rows are not listed."""
    rows = range(14)
    first = pd.DataFrame({"id": [f"r{at}" for at in rows], "height": rows, "width": rows})
    first.to_csv(here / "a.csv", index=False)
    first.rename(columns={"width": "breadth"}).to_csv(here / "b.csv", index=False)
    assert clew("init", "table", "--from", "a.csv").exit_code == 0
    done = clew("add", "a.csv", "-p", "table")
    assert "column" not in done.stderr
    done = clew("add", "b.csv", "-p", "table")
    assert "b.csv lacks the column 'width'" in done.stderr
    assert "b.csv is the first table with the column 'breadth'" in done.stderr
    assert done.stderr.splitlines()[-1] == "  and 4 more"


def test_add_takes_ids_from_the_column_that_init_was_told(here):
    frame = pd.DataFrame({"wine": ["w1", "w2", "w3"], "x": [1.0, 2.5, 3.0]})
    frame.to_csv("wines.csv", index=False)
    frame.replace("w3", "w4").to_csv("more.csv", index=False)
    assert clew("init", "p", "--from", "wines.csv", "--id-column", "wine").exit_code == 0
    done = clew("add", "more.csv", "-p", "p")
    assert "1 new, 2 there already" in done.stderr, done.output
    frame.rename(columns={"wine": "id"}).to_csv("other.csv", index=False)
    done = clew("add", "other.csv", "-p", "p")
    assert done.exit_code == 1
    assert "no column 'wine'" in done.stderr
    assert "clew init took the ids from it; --id-column names another one" in done.stderr
    assert clew("add", "other.csv", "-p", "p", "--id-column", "id").exit_code == 0
    assert clew("add", "more.csv", "-p", "p").exit_code == 0


# status -----------------------------------------------------------------------------------


def test_status_without_answers(birds):
    done = clew("status", "-p", "birds")
    assert done.stdout.splitlines() == [
        "birds: 9 items", "answers: 0 answers", "groups: none yet; clew group makes them",
    ]  # fmt: skip


def test_status_counts_items_that_came_after_the_groups(grouped, here):
    assert "not among these groups" not in clew("status", "-p", "birds").stdout
    Image.new("RGB", (40, 30), (3, 90, 200)).save(here / "birds" / "new.png")
    assert clew("add", "birds", "-p", "birds").exit_code == 0
    assert "not among these groups: 1 item; clew group" in clew("status", "-p", "birds").stdout


def test_status(grouped, here, monkeypatch):
    monkeypatch.chdir(here / "birds" / "0")
    facts = json.loads(clew("status", "--json").stdout)
    assert facts["items"] == 9
    assert facts["annotators"] == {"ann": 2, "ben": 1}
    assert facts["groups"][0] == {"id": 1, "name": "red/birds", "size": 3}
    assert facts["not_learned"] == 0
    assert facts["remaining"]["median"] == 140
    text = clew("status").stdout
    assert "answers: 3 answers (ann 2, ben 1)" in text
    assert "red/birds (3), " in text
    assert "too early to say" in text


def test_commands_without_a_project_say_how_to_make_one(here):
    for arguments in (("status",), ("export", "groups"), ("doctor",), ("annotator", "list")):
        done = clew(*arguments)
        assert done.exit_code == 1
        assert "clew init" in done.stderr
    done = clew("ask")
    assert done.exit_code == 2
    assert "name a folder or a file of items" in done.stderr


def test_status_says_why_it_is_too_early():
    body = {
        "revision": 1,
        "groups": [{"id": 0, "name": "", "size": 3}],
        "answers": 60,
        "not_learned": 0,
        "doubtful": 0,
    }
    facts = {**body, "quality": None, "remaining": None, "regime": None, "stop": {
        "is_enough": False, "reason": "too early to say: 3 of 4 random checks are answered so far"
    }}  # fmt: skip
    assert "too early to say: 3 of 4" in "\n".join(_groups(facts))
    for left, words in (((0, 0, 13), "few more (up to 13)"), ((18, 4, 96), "about 18 (4 to 96)")):
        estimate = dict(zip(("median", "low", "high"), left, strict=True))
        reason = f"{facts['stop']['reason']}; {Remaining(*left)}"
        lines = _groups({**facts, "remaining": estimate, "stop": {"reason": reason}})
        assert lines[-1] == f"questions left: {words}"
        assert " more question" not in lines[-2]
    random = {"name": "features", "reason": "the answers look random"}
    said = "the answers look random: these are groups by features alone"
    assert said in _groups({**facts, "regime": random})
    assert said not in _groups({**facts, "answers": 19, "regime": random})


# annotator --------------------------------------------------------------------------------


@pytest.mark.slow
def test_annotators(grouped):
    assert clew("annotator", "add", "cleo", "--role", "reviewer", "-p", "birds").exit_code == 0
    link = clew(
        "annotator", "link", "cleo", "-p", "birds", "--url", "https://x.org/"
    ).stdout.strip()
    secret = link.removeprefix("https://x.org/a/")
    usual = clew("annotator", "link", "cleo", "-p", "birds")
    assert usual.stdout.startswith("http://127.0.0.1:8765/a/")
    assert "--url names another address" in usual.stderr
    with grouped.open_store() as store:
        token = store.check_token(secret, "invite")
        assert (token.annotator, token.role) == ("cleo", "reviewer")
    found = json.loads(clew("annotator", "list", "-p", "birds", "--json").stdout)
    assert {one["name"]: (one["role"], len(one["links"])) for one in found}["cleo"] == (
        "reviewer",
        2,
    )
    assert secret not in json.dumps(found)
    assert (
        "ben: person, annotator; 1 answer; 0 links"
        in clew("annotator", "list", "-p", "birds").stdout
    )
    assert clew("annotator", "revoke", "cleo", "-p", "birds").exit_code == 0
    with grouped.open_store() as store:
        assert store.check_token(secret, "invite") is None
    assert clew("annotator", "link", "cleo", "-p", "birds").exit_code == 1
    done = clew("annotator", "revoke", "nobody", "-p", "birds")
    assert done.exit_code == 1
    assert "there is ann, ben, cleo" in done.stderr
    missing = clew("annotator", "link", "nosuch", "-p", "birds")
    assert missing.exit_code == 1
    assert "clew annotator add nosuch" in missing.stderr
    with grouped.open_store() as store:
        assert store.annotator("nosuch") is None
    assert "cleo, reviewer;" in clew("annotator", "add", "cleo", "-p", "birds").stderr
    clew("annotator", "add", "cleo", "--code", "c7", "--note", "mornings", "-p", "birds")
    changed = clew("annotator", "add", "cleo", "--role", "viewer", "-p", "birds")
    assert "cleo, viewer (was reviewer);" in changed.stderr
    with grouped.open_store() as store:
        cleo = store.annotator("cleo")
        assert cleo is not None
        assert (cleo.code, cleo.note) == ("c7", "mornings")
    assert clew("annotator", "add", " x\n", "-p", "birds").exit_code == 2


# set-aside --------------------------------------------------------------------------------


def test_items_are_set_aside_and_brought_back(grouped):
    done = clew("set-aside", *NAMES[:2], "-p", "birds", "--note", "blurred", "--annotator", "ann")
    assert done.exit_code == 0, done.output
    assert "set aside 2 items; clew group learns it" in done.stderr
    assert "9 items, 2 of them set aside" in clew("status", "-p", "birds").stdout
    assert clew("set-aside", "-p", "birds").stdout == f"{NAMES[0]}: blurred\n{NAMES[1]}: blurred\n"
    with grouped.open_store() as store:
        last = store.last_seq()
    again = clew("set-aside", NAMES[0], "-p", "birds", "--json")
    assert json.loads(again.stdout) == {
        "changed": [], "set_aside": {NAMES[0]: "blurred", NAMES[1]: "blurred"}, "dry_run": False,
    }  # fmt: skip
    dry = clew("set-aside", NAMES[1], "--back", "--dry-run", "-p", "birds")
    assert "would have brought back 1 item: --dry-run" in dry.stderr
    with grouped.open_store() as store:
        assert store.last_seq() == last
    back = json.loads(clew("set-aside", NAMES[1], "--back", "-p", "birds", "--json").stdout)
    assert back == {"changed": [NAMES[1]], "set_aside": {NAMES[0]: "blurred"}, "dry_run": False}


def test_set_aside_refuses_what_it_cannot_do(grouped):
    done = clew("set-aside", NAMES[0], "nope.png", "-p", "birds")
    assert done.exit_code == 1
    assert "no items 'nope.png'; nothing was done" in done.stderr
    with grouped.open_store() as store:
        assert store.counts().n_set_aside == 0
    assert clew("set-aside", "--back", "-p", "birds").exit_code == 2
