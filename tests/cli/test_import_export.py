"""What goes into a project and out of it: import and export."""

import csv
import io
import json
import os

import pytest
from tests.cli.projects import NAMES, clew, pair

from clew.answers import entry_to_json
from clew.exports import files_of, zipped

# import -----------------------------------------------------------------------------------


def test_import_of_what_clew_ask_wrote(birds, here):
    from clew.store import AnswerFile

    file = AnswerFile("answers.jsonl", NAMES)
    first = file.append(pair(NAMES[0], NAMES[1], "same"))
    file.append(pair(NAMES[0], NAMES[2], "different"))
    file.revoke(first, annotator="ann")
    done = clew("import", "answers", "answers.jsonl", "-p", "birds", "--dry-run")
    assert "3 lines, 3 of them new; nothing was imported" in done.stderr
    with birds.open_store() as store:
        assert store.last_seq() == 0
    done = clew("import", "answers", "answers.jsonl", "-p", "birds", "--json")
    assert json.loads(done.stdout)["new"] == 3
    again = clew("import", "answers", "answers.jsonl", "-p", "birds")
    assert "0 imported" in again.stderr
    done = clew("export", "answers", "-p", "birds")
    assert done.stdout == (here / "answers.jsonl").read_text()
    with (here / "answers.jsonl").open("a") as stream:
        stream.write('{"version":')
    done = clew("import", "answers", "answers.jsonl", "-p", "birds")
    assert "answers.jsonl, line 4: is incomplete, and is skipped" in done.stderr
    assert "0 imported" in done.stderr


def test_unknown_ids_are_refused_and_nothing_is_imported(birds, here):
    lines = [entry_to_json(pair(NAMES[0], NAMES[1], "same")), entry_to_json(pair("x", "y", "same"))]
    made = [line.replace('"id":""', f'"id":"{at}"') for at, line in enumerate(lines)]
    (here / "a.jsonl").write_text("\n".join(made) + "\n")
    done = clew("import", "answers", "a.jsonl", "-p", "birds")
    assert done.exit_code == 1
    assert "1 of 2 lines name items that the project lacks: 'x', 'y'" in done.stderr
    with birds.open_store() as store:
        assert store.last_seq() == 0


def test_import_of_a_table(birds, here):
    (here / "a.csv").write_text(
        f"kind,id_i,id_j,answer,annotator\npair,{NAMES[0]},{NAMES[1]},same,ann\n"
        f"pair,{NAMES[0]},{NAMES[2]},dont_know,ben\n"
    )
    assert "2 imported" in clew("import", "answers", "a.csv", "-p", "birds").stderr
    assert "0 imported" in clew("import", "answers", "a.csv", "-p", "birds").stderr
    done = clew("export", "answers", "-p", "birds", "--as", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["answer"], row["annotator"]) for row in rows] == [
        ("same", "ann"), ("dont_know", "ben"),
    ]  # fmt: skip


def test_a_column_that_counts_the_answers_holds_no_ids(birds, here):
    for file, other in (("a.csv", 1), ("b.csv", 2)):
        lines = [f"1,{NAMES[0]},{NAMES[other]},same", f"1,{NAMES[3]},{NAMES[3 + other]},same"]
        (here / file).write_text("\n".join(["entry,id_i,id_j,answer", *lines]) + "\n")
        assert "2 imported" in clew("import", "answers", file, "-p", "birds").stderr


# export -----------------------------------------------------------------------------------


def test_export_of_groups(grouped, here):
    done = clew("export", "groups", "-p", "birds")
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    assert list(rows) == NAMES
    assert (rows[NAMES[0]]["group"], rows[NAMES[0]]["name"]) == ("1", "red/birds")
    assert rows[NAMES[5]]["doubt_reason"] == "goes against an answer"
    assert (
        clew("export", "groups", "-p", "birds", "-o", "g.parquet", "--as", "parquet").exit_code == 0
    )
    done = clew("export", "exemplars", "-p", "birds", "--as", "jsonl")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [
        NAMES[0], NAMES[3], NAMES[6],
    ]  # fmt: skip


def test_export_before_groups_says_what_to_do(birds):
    for what in ("groups", "exemplars", "affinity"):
        done = clew("export", what, "-p", "birds", "-o", "x")
        assert done.exit_code == 1
        assert "clew group" in done.stderr


@pytest.mark.parametrize(
    ("form", "files"),
    [
        ("coco", {"out"}),
        ("label-studio", {"tasks.json", "interface.xml"}),
        ("fiftyone", {"labels.json", "data.json"}),
    ],
)
def test_export_for_programs(grouped, here, form, files):
    done = clew("export", "groups", "-p", "birds", "--as", form, "-o", "out", "--json")
    assert done.exit_code == 0, done.output
    assert {os.path.basename(path) for path in json.loads(done.stdout)["files"]} == files
    assert all(os.path.isfile(path) for path in json.loads(done.stdout)["files"])


def test_camtrap_dp_needs_places(grouped):
    done = clew("export", "groups", "-p", "birds", "--as", "camtrap-dp", "-o", "out")
    assert done.exit_code == 1
    assert "needs the deployment of every photo" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("groups", "--as", "folders"),
        ("answers", "--as", "coco"),
        ("affinity", "--as", "csv"),
        ("groups", "--undo", "."),
        ("groups", "--json"),
    ],
)
def test_misuse_of_export(grouped, arguments):
    assert clew("export", *arguments, "-p", "birds").exit_code == 2


def test_folders(grouped, here):
    done = clew("export", "groups", "-p", "birds", "--as", "folders", "-o", "out", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "red_birds/0.png" in done.stderr
    assert not (here / "out").exists()
    assert clew("export", "groups", "-p", "birds", "--as", "folders", "-o", "out").exit_code == 0
    assert sorted(path.name for path in (here / "out" / "red_birds").iterdir()) == [
        "0.png", "1.png", "2.png",
    ]  # fmt: skip
    again = clew("export", "groups", "-p", "birds", "--as", "folders", "-o", "out")
    assert again.exit_code == 1
    assert "nothing is overwritten" in again.stderr
    assert clew("export", "--undo", "out").exit_code == 0
    assert not (here / "out").exists()


def test_an_interrupted_export_is_undone(grouped, here, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("clew.exports._files._move", stop)
    move = ("export", "groups", "-p", "birds", "--as", "folders", "--how", "move", "-o", "birds/s")
    done = clew(*move, "--yes")
    assert done.exit_code == 130
    assert "--undo birds/s" in done.stderr
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert clew("export", "--undo", "birds/s", "-p", "birds").exit_code == 0
    assert not (here / "birds" / "s").exists()
    with grouped.open_store() as store:
        assert [item.path for item in store.items()] == NAMES


def test_moves_are_followed_and_undone(grouped, here):
    move = ("export", "groups", "-p", "birds", "--as", "folders", "--how", "move", "-o", "birds/s")
    done = clew(*move)
    assert done.exit_code == 2
    assert "--yes" in done.stderr
    assert clew(*move, "--yes").exit_code == 0
    with grouped.open_store() as store:
        assert store.items()[0].path == "s/red_birds/0.png"
    assert "9 there already" in clew("add", "birds", "-p", "birds").stderr
    assert clew("export", "--undo", "birds/s", "-p", "birds").exit_code == 0
    with grouped.open_store() as store:
        assert [item.path for item in store.items()] == NAMES


@pytest.mark.slow
def test_everything_there_and_back(grouped, here):
    clew("annotator", "add", "cleo", "--role", "viewer", "-p", "birds")
    assert clew("export", "all", "-p", "birds", "-o", "one").exit_code == 0
    assert clew("init", "again", "--from", "birds", "--empty", "--name", "birds").exit_code == 0
    done = clew("import", "all", "one", "-p", "again")
    assert done.exit_code == 0, done.output
    assert clew("export", "all", "-p", "again", "-o", "two").exit_code == 0
    names = sorted(path.name for path in (here / "one").iterdir())
    assert names == sorted(path.name for path in (here / "two").iterdir())
    for name in names:
        assert (here / "one" / name).read_bytes() == (here / "two" / name).read_bytes(), name
    groups = [clew("export", "groups", "-p", each).stdout for each in ("birds", "again")]
    assert groups[0] == groups[1]
    assert clew("import", "all", "one", "-p", "again").exit_code == 1
    assert clew("export", "all", "-p", "birds", "-o", "one").exit_code == 1


@pytest.mark.slow
def test_everything_of_the_app_s_zip(grouped, here):
    with grouped.open_store() as store:
        (here / "all.zip").write_bytes(zipped(files_of("all", store)))
    assert clew("init", "again", "--from", "birds", "--empty").exit_code == 0
    done = clew("import", "all", "all.zip", "-p", "again")
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("all.zip: ")
    groups = [clew("export", "groups", "-p", each).stdout for each in ("birds", "again")]
    assert groups[0] == groups[1]
