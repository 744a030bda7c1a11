"""The loop in a project: ask, group, status, review, add, and what reads its rows."""

import csv
import io
import json
import re
import sys
from collections import Counter

import numpy as np
import pytest
from tests.cli.projects import clew, pair

from clew import Constraints, Session
from clew.answers import Answer, Edit, Question
from clew.collections import Project

pytestmark = pytest.mark.usefixtures("small_search")

N = 8
IDS = [f"{group}{number}" for group in "abc" for number in range(N)]


def vectors(n=N, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], n, axis=0)
    return centers + rng.normal(size=centers.shape)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A project of three groups of vectors with 60 answers, two of them wrong, and its groups."""
    top = tmp_path_factory.mktemp("learned")
    np.savez(top / "X.npz", X=vectors(), ids=IDS)
    assert clew("init", top / "p", "--from", top / "X.npz").exit_code == 0
    rng = np.random.default_rng(1)
    with Project.open(top / "p").open_store() as store:
        answers = []
        for i, j in rng.integers(0, len(IDS), (70, 2)).tolist():
            if i != j:
                same = IDS[i][0] == IDS[j][0]
                answers.append(pair(IDS[i], IDS[j], "same" if same else "different"))
        wrong = [pair("a0", "b0", "same", "ben"), pair("a1", "a2", "different", "ben")]
        store.append([*answers, *wrong])
    done = clew("group", "-p", top / "p", "-q")
    assert done.exit_code == 0, done.output
    return top / "p"


@pytest.fixture
def project(learned, here):
    """A copy of that project."""
    assert clew("backup", "-p", learned, "-o", here / "p", "-q").exit_code == 0
    return here / "p"


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_group_keeps_the_groups_in_the_project(learned):
    facts = json.loads(clew("status", "-p", learned, "--json").stdout)
    assert [one["size"] for one in facts["groups"]] == [N, N, N]
    assert facts["not_learned"] == 0
    assert facts["doubtful"] >= 1
    found = {
        row["id"]: row["group"] for row in rows(clew("export", "groups", "-p", learned).stdout)
    }
    assert len({found[name] for name in IDS if name.startswith("a")}) == 1


@pytest.mark.slow
def test_every_reader_has_the_same_groups_and_doubts(here):
    np.savez("X.npz", X=vectors(), ids=IDS)
    project = "p"
    assert clew("init", project, "--from", "X.npz").exit_code == 0
    alike = [(f"{group}{at}", f"{group}{at + 1}") for group in "abc" for at in range(N - 1)]
    apart = [(f"{group}{at}", f"c{at}") for group in "ab" for at in range(N)]
    with Project.open(project).open_store() as store:
        store.append(
            [
                *(pair(*names, "same") for names in alike),
                *(pair(*names, "different") for names in apart),
                pair("a0", "c1", "same", "ben"),
                Edit("merge", tuple(IDS[:3]), tuple(IDS[8:11]), "ann"),
                Edit("merge", tuple(IDS[3:6]), tuple(IDS[11:14]), "ann"),
                Edit("set_aside", ("c7",), (), "ann", note="blurred"),
            ]
        )
    out = ("-o", "g.csv", "--doubtful", "d.csv", "--report", "r.html", "--save", "r.npz")
    done = clew("group", "-p", project, "--names", "wren", *out, "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts == json.loads(clew("status", "-p", project, "--json").stdout)
    table = rows((here / "g.csv").read_text())
    assert (here / "g.csv").read_text() == clew("export", "groups", "-p", project).stdout
    groups = {row["id"]: row["group"] for row in table}
    sizes = {str(one["id"]): one["size"] for one in facts["groups"]}
    assert groups.pop("c7") == ""
    assert sizes == Counter(groups.values()) == {groups["a0"]: 16, groups["c0"]: 7}
    with Session.open(project) as session:
        result = session.result()
    found = dict(zip(result.ids, map(str, result.group_ids_.tolist()), strict=True))
    assert found.pop("c7") == "-1"
    assert found == groups
    page = text_of(here / "r.html")
    assert "23 rows in 2 groups" in page
    assert "Wren" not in page
    assert "group 1, 16 rows" in page
    assert f"{facts['doubtful']} answers that look wrong" in page
    why = clew("explain", "r.npz", "a0", "b0")
    assert "a0 and b0 are together, in wren." in why.stdout
    doubts = {
        "doubtful.csv": {row["entry"] for row in rows(exported(project, "doubtful"))},
        "review": {one["id"] for one in reviewed(project)},
        "Session.open": {one["id"] or one["edit"] for one in result.to_dict()["doubtful"]},
    }  # fmt: skip
    assert len({frozenset(each) for each in doubts.values()}) == 1, doubts
    assert len(doubts["review"]) == facts["doubtful"]
    assert len(rows((here / "d.csv").read_text())) >= facts["doubtful"]


def test_a_file_of_texts_has_the_groups_of_its_project(here):
    random = np.random.default_rng(0)
    words = [f"{a}{b}" for a in "bdfgk" for b in "aeiou"]
    topics = [words[:8], words[8:16], words[16:]]
    kind = random.integers(0, 3, 45)
    lines = [" ".join([f"item{at}", *random.choice(topics[k], 4)]) for at, k in enumerate(kind)]
    (here / "t.txt").write_text("\n".join(lines))
    answers = "id_i,id_j,answer\n" + "\n".join(
        f"{lines[i]},{lines[j]},{'same' if kind[i] == kind[j] else 'different'}"
        for i, j in random.permuted(np.tile(np.arange(45), (30, 1)), axis=1)[:, :2]
    )
    (here / "a.csv").write_text(answers)
    assert clew("group", "t.txt", "--constraints", "a.csv", "-o", "g.csv").exit_code == 0
    assert clew("init", "p", "--from", "t.txt").exit_code == 0
    assert clew("import", "answers", "a.csv", "-p", "p").exit_code == 0
    assert clew("group", "-p", "p", "-o", "h.csv").exit_code == 0
    of_file, of_project = (rows((here / name).read_text()) for name in ("g.csv", "h.csv"))
    columns = "id", "group", "confidence"
    assert [[one[c] for c in columns] for one in of_file] == [
        [one[c] for c in columns] for one in of_project
    ]


@pytest.mark.slow
def test_doubts_about_imported_answers_name_the_line_of_the_file_and_no_time(project, here):
    (here / "one.csv").write_text("id_i,id_j,answer,who\nc0,c1,same,ann\nb0,c0,same,eve\n")
    (here / "two.csv").write_text("who,id_i,id_j,answer\n\neve,b1,c1,same\neve,b2,b3,same\n")
    asked = {"version": 1, "id": "e1", "question": "q1", "kind": "pair", "items": ["b2", "c2"]}
    asked |= {"answer": "same", "annotator": "eve"}
    timed = {**asked, "id": "e2", "items": ["b4", "c4"], "time": "2026-03-01T10:05:00.000Z"}
    (here / "log.jsonl").write_text(f"{json.dumps(asked)}\n{json.dumps(timed)}\n")
    for name in ("one.csv", "two.csv", "log.jsonl"):
        assert clew("import", "answers", name, "-p", project).exit_code == 0
    done = clew("group", "-p", project, "-q", "--doubtful", "d.csv")
    assert done.exit_code == 0, done.output
    places = {
        frozenset((row["id_i"], row["id_j"])): (row["file"], row["line"])
        for row in rows((here / "d.csv").read_text())
    }
    expected = {
        frozenset(("b0", "c0")): ("one.csv", "3"),
        frozenset(("b1", "c1")): ("two.csv", "3"),
        frozenset(("b2", "c2")): ("log.jsonl", "1"),
        frozenset(("b4", "c4")): ("", ""),
        frozenset(("a0", "b0")): ("", ""),
    }
    assert places.items() >= expected.items()
    text = clew("review", "-p", project, "--no-preview").stdout
    for i, j, said in re.findall(r"\d+ of \d+: (\w+), (\w+)\n(.+)", text):
        file, line = expected.get(frozenset((i, j)), ("", ""))
        assert (f" same ({file}, line {line});" in said) == (" at " not in said) == bool(file)
    for row in rows(exported(project, "doubtful")):
        assert bool(row["time"]) != bool(row["line"])
    (here / "one.csv").write_text("id_i,id_j,answer,who\nc3,c4,same,ann\nc0,c1,same,ann\n")
    again = clew("import", "answers", "one.csv", "-p", project).stderr
    assert "1 imported" in again
    assert "1 were there already" in again


@pytest.mark.slow
def test_answers_that_were_exported_as_a_table_are_imported_once(project, here):
    place = Project.open(project)
    with place.open_store() as store:
        store.append(
            [
                Answer(Question("triplet", ids=("a0", "c0", "b0")), "second", "ben", 1 / 3),
                Answer(Question("odd_one_out", ids=("c0", "b0", "a0")), "third", "ben"),
            ]
        )
        n = store.last_seq()
    done = clew("export", "answers", "-p", project, "--as", "csv", "-o", "a.csv")
    assert done.exit_code == 0, done.output
    n_lines = len(rows((here / "a.csv").read_text()))
    dry = clew("import", "answers", "a.csv", "-p", project, "--dry-run")
    assert f"{n_lines} lines, 0 of them new" in dry.stderr
    done = clew("import", "answers", "a.csv", "-p", project)
    assert done.stderr == f"a.csv: {n_lines} lines, 0 imported\n  {n_lines} were there already\n"
    # What was changed in the table is neither that answer nor a further one.
    table = (here / "a.csv").read_text()
    (here / "a.csv").write_text(table.replace(",same,", ",different,", 1))
    done = clew("import", "answers", "a.csv", "-p", project)
    assert "1 are refused: the log has another entry of that id" in done.stderr
    with place.open_store() as store:
        assert store.last_seq() == n


@pytest.mark.slow
def test_import_reads_every_table_of_answers_that_group_reads(project, here):
    Constraints.from_pairs(must_link=[("c0", "c1")], ids=["c0", "c1"]).to_jsonl("table.jsonl")
    done = clew("import", "answers", "table.jsonl", "-p", project)
    assert "1 line, 1 imported" in done.stderr, done.output
    assert "row numbers" not in done.stderr
    (here / "numbers.csv").write_text("i,j,answer\n0,1,same\n")
    done = clew("import", "answers", "numbers.csv", "-p", project, "--dry-run")
    assert "i, j and k are row numbers from 0; if they are ids, rename" in done.stderr
    trials = "rater 1,links,Mitte,rechts,Antwort\neve,a0,a1,c0,rechts\neve,a0,a1,b0,\n"
    (here / "trials.csv").write_text(trials, encoding="utf-8")
    said = ("--item-columns", "links,Mitte,rechts", "--answer-column", "antwort")
    done = clew("import", "answers", "trials.csv", "-p", project, *said, "--kind", "odd-one-out")
    assert "1 line without an answer skipped" in done.stderr, done.output
    assert "1 line, 1 imported" in done.stderr
    done = clew("import", "answers", "table.jsonl", "-p", project, "--kind", "pair")
    assert done.exit_code == 2
    assert "--kind is about a table of answers, clew import answers ANSWERS.csv" in done.output


def exported(project, what):
    return clew("export", what, "-p", project).stdout


def reviewed(project):
    return json.loads(clew("review", "-p", project, "--no-preview", "--json").stdout)


def text_of(path):
    words = re.sub(r"<[^>]+>", " ", path.read_text())
    return " ".join(words.split())


def test_group_of_other_methods_writes_files_alone(project):
    done = clew("group", "-p", project, "--method", "pckmeans", "-k", 3, "-o", "g.csv", "-q")
    assert done.exit_code == 0, done.output
    with open("g.csv", encoding="utf-8") as file:
        assert len(rows(file.read())) == len(IDS)


@pytest.mark.slow
def test_names_and_numbers_stay_when_items_come(project, here):
    with Project.open(project).open_store() as store:
        before = store.result().body
        group = dict(zip(before["ids"], before["group_ids"], strict=True))
        store.name_group(group["b0"], name="wren")
    new = [f"{group}{number}" for group in "abc" for number in (20, 21)]
    np.savez(here / "Y.npz", X=vectors(2, seed=3), ids=new)
    done = clew("add", "Y.npz", "-p", project)
    assert done.exit_code == 0, done.output
    assert clew("group", "-p", project, "-q").exit_code == 0
    found = {row["id"]: row for row in rows(clew("export", "groups", "-p", project).stdout)}
    assert found["b20"]["name"] == found["b0"]["name"] == "wren"
    for name in IDS:
        assert int(found[name]["group"]) == group[name]


def test_ask_writes_to_the_project(project):
    def status():
        return json.loads(clew("status", "-p", project, "--json").stdout)

    before = status()["answers"]
    ask = ("ask", "-p", project, "--annotator", "cleo", "-n", 3)
    done = clew(*ask, input="same\nundo\ndifferent\ndon't know\nsame\n")
    assert done.exit_code == 0, done.output
    after = status()
    assert after["answers"] == before + 3
    assert after["annotators"]["cleo"] == 3
    assert after["not_learned"] > 0
    done = clew("ask", "-p", project, "--annotator", "cleo", "--json", input="quit\n")
    question = json.loads(done.stdout.splitlines()[0])
    assert set(question["items"]) <= set(IDS)


@pytest.mark.slow
def test_ask_of_a_file_needs_no_project(project, here, monkeypatch):
    monkeypatch.chdir(project)
    np.save("Z.npy", vectors())
    done = clew("ask", "Z.npy", "-n", 1, "--answers", here / "a.jsonl", input="same\n")
    assert done.exit_code == 0, done.output
    assert len((here / "a.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "--answers", "a.jsonl"),
        ("ask", "--ids", "a.csv"),
        ("group", "--id-column", "x"),
        ("group", "--seed", 3),
        ("group", "-c", "a.csv"),
        ("subclusters", "--report", "r.html"),
        ("simulate", "--truth", "kind", "--sep", ";"),
    ],
)
def test_options_of_files_are_refused(project, here, arguments):
    (here / "a.csv").write_text("kind,i,j,answer\n")
    done = clew(*arguments, "-p", project)
    assert done.exit_code == 2, done.output


def test_a_file_and_a_project_are_refused(project, here):
    np.save(here / "Z.npy", vectors())
    for command in ("ask", "group", "subclusters"):
        assert clew(command, here / "Z.npy", "-p", project).exit_code == 2


@pytest.mark.slow
def test_review_says_what_each_change_would_do(project):
    done = clew("review", "-p", project, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [one["p_wrong"] for one in found] == sorted(
        (one["p_wrong"] for one in found), reverse=True
    )
    first = next(one for one in found if set(one["items"]) == {"a0", "b0"})
    assert (first["answer"], first["annotator"]) == ("same", "ben")
    assert [(one["key"], one["does"]) for one in first["changes"]] == [
        ("t", "take it back"), ("s", "same"), ("d", "different"),
    ]  # fmt: skip
    assert [one["preview"]["moves"] for one in first["changes"] if one["key"] != "s"] == [[], []]
    text = clew("review", "-p", project, "--no-preview").stdout
    assert re.search(r"ben said same( on [-\d]{10} at \d\d:\d\d UTC)?; wrong", text)
    assert not re.search(r"\d\dT\d\d:", text)
    taken = clew("review", "-p", project, "--take-back", first["id"])
    assert taken.exit_code == 0, taken.output
    again = json.loads(clew("review", "-p", project, "--no-preview", "--json").stdout or "[]")
    assert first["id"] not in {one["id"] for one in again}
    done = clew("review", "-p", project, "--take-back", first["id"])
    assert done.exit_code == 1
    assert "was taken back before" in done.stderr


def test_review_on_a_terminal(project, monkeypatch):
    monkeypatch.setattr(sys.modules["clew.cli.review"], "_is_terminal", lambda: True)
    review = ("review", "-p", project, "--no-preview", "--annotator", "cleo")
    done = clew(*review, input="x\nt\nq\n")
    assert done.exit_code == 0, done.output
    with Project.open(project).open_store() as store:
        (new,) = store.log(annotator="cleo")
        assert not store.entry(new.entry.revokes).is_standing


KINDS = [
    (Answer(Question("triplet", ids=("a", "b", "c")), "first", id="x"), "a is more like b",
     ["take it back", "a is more like b", "a is more like c"]),
    (Answer(Question("odd_one_out", ids=("a", "b", "c")), "all_alike", id="x"), "all alike",
     ["take it back", "a is the odd one", "b is the odd one", "c is the odd one", "all alike"]),
    (Answer(Question("which_of", ids=("a", "b", "c", "d"), parts=(1, 2, 1)), 1, id="x"),
     "a belongs to the group of d",
     ["take it back", "a belongs to the group of b", "a belongs to the group of d",
      "none of these"]),
    (Answer(Question("confirm", ids=("a", "b", "c"), parts=(1, 2)), 2, id="x"),
     "c does not belong", ["take it back", "all belong together"]),
    (Edit("not_in", ("a",), ("b",), id="x"), "not in", ["take it back"]),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "said", "does"), KINDS)
def test_every_kind_of_entry_can_be_reviewed(entry, said, does):
    from clew.cli.review import _said, changes_to

    changes = changes_to(entry, "cleo")
    assert _said(entry) == said
    assert [change.does for change in changes] == does
    assert changes[0].entry.revokes == "x"
    for change in changes[1:]:
        assert change.entry.revokes == (None if change.entry.value == entry.value else "x")
        assert change.entry.question == entry.question
    assert len({change.entry.id for change in changes}) == len(changes)


def test_nothing_to_review(here):
    np.savez("X.npz", X=vectors(), ids=IDS)
    clew("init", "p", "--from", "X.npz")
    done = clew("review", "-p", "p")
    assert done.exit_code == 1
    assert "clew group" in done.stderr
    with Project.open("p").open_store() as store:
        body = {"ids": [], "labels": [], "group_ids": [], "confidence": [], "doubtful": []}
        store.publish(0, body)
    assert clew("review", "-p", "p").exit_code == 3


def test_subclusters_of_a_project(project):
    found = rows(clew("subclusters", "-p", project, "-n", 3).stdout)
    assert len(found) == 9
    groups = {}
    for row in found:
        groups.setdefault(row["group"], set()).add(row["id"][0])
    assert all(len(letters) == 1 for letters in groups.values())
    assert [row["position"] for row in found] == ["0", "1", "2"] * 3
    done = clew("subclusters", "-p", project, "-k", 3, "-n", 2, "-o", "s.csv", "-q")
    assert done.exit_code == 0, done.output


@pytest.mark.slow
def test_simulate_on_a_project(here):
    lines = ["id,kind,a,b"]
    for name, (a, b) in zip(IDS, vectors().tolist(), strict=True):
        lines.append(f"{name},{name[0]},{a:.3f},{b:.3f}")
    (here / "t.csv").write_text("\n".join(lines) + "\n")
    assert clew("init", "p", "--from", "t.csv").exit_code == 0
    done = clew("simulate", "-p", "p", "--truth", "kind", "--budget", 4, "--json", "-q")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert (facts["rows"], facts["classes"]) == (24, 3)
    done = clew("simulate", "-p", "p", "--truth", "sort")
    assert done.exit_code == 1
    assert "columns are a, b, kind" in done.stderr
