"""``clew ask`` by lines on the standard input."""

import csv
import io
import json
import os
import re
import shlex
from gzip import compress
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from scipy.sparse import csr_array, save_npz
from scipy.spatial.distance import pdist, squareform
from tests.cli.projects import pair

from clew import Question
from clew.answers import Edit, entry_to_json, items_of
from clew.cli import main
from clew.cli.asking._replies import Asked, Command, keys_of, meaning
from clew.store import AnswerFile

pytestmark = pytest.mark.usefixtures("small_search")


@pytest.fixture
def rows(here):
    """Two blobs of five rows."""
    X = np.random.RandomState(0).normal(size=(10, 2)) + np.repeat([[0, 0], [9, 9]], 5, axis=0)
    lines = [f"{'ab'[at // 5]}{at % 5},{x:.3f},{y:.3f}" for at, (x, y) in enumerate(X)]
    (here / "rows.csv").write_text("\n".join(["id,x,y", *lines]) + "\n")
    return here / "rows.csv"


@pytest.fixture
def ask(here):
    """Run ``clew ask`` with replies on its standard input."""

    def call(items, replies, *options):
        text = "".join(f"{reply}\n" for reply in replies)
        given = ["ask", str(items), "--annotator", "ann", "-j", "1", *map(str, options)]
        return CliRunner().invoke(main, given, input=text, prog_name="clew")

    return call


def entries(path="answers.jsonl", letters="ab"):
    ids = [f"{letter}{at}" for letter in letters for at in range(5)]
    return AnswerFile(path, ids)


def objects(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_examples_of_a_group_beside_an_item(here, ask):
    """They need 20 answers: before, groups are those of the features alone."""
    ids = [f"{letter}{at}" for letter in "ab" for at in range(20)]
    X = np.random.RandomState(0).normal(size=(40, 2)) + np.repeat([[0, 0], [9, 9]], 20, axis=0)
    lines = [f"{name},{x:.3f},{y:.3f}" for name, (x, y) in zip(ids, X, strict=True)]
    rows = here / "rows.csv"
    rows.write_text("\n".join(["id,x,y", *lines]) + "\n")
    pairs = [(ids[at], ids[(at + 3) % 40]) for at in range(0, 40, 2)]
    said = [pair(i, j, "same" if i[0] == j[0] else "different", "ben") for i, j in pairs]
    entries = AnswerFile("answers.jsonl", ids)
    for entry in said[:-1]:
        entries.append(entry)
    (question,) = objects(ask(rows, [], "--json"))
    assert "examples" not in question
    entries.append(said[-1])
    done = ask(rows, [], "--json")
    (question,) = objects(done)
    ((item, examples),) = question["examples"].items()
    assert item in question["items"]
    assert set(examples).isdisjoint(question["items"])
    assert [name[0] for name in examples] == [item[0]] * 3
    done = ask(rows, ["same"], "--kinds", "pair")
    group = " [|] ".join(f"{name}  x [^|]*" for name in examples)
    assert re.search(rf"^  [12] {item}  x .*\n    its group: {group}\n", done.stdout, re.MULTILINE)
    *_, entry = AnswerFile("answers.jsonl", ids).entries
    assert entry.question.examples == tuple(examples)
    (question,) = objects(ask(rows, [], "--json", "--examples", "0"))
    assert "examples" not in question


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil", [lambda text: text.encode("utf-16"), lambda text: compress(text.encode())]
)
def test_answers_in_other_encodings_are_refused_before_writing(ask, rows, here, spoil):
    ask(rows, ["same"])
    before = spoil(Path("answers.jsonl").read_text())
    Path("answers.jsonl").write_bytes(before)
    again = ask(rows, ["same"])
    grouped = CliRunner().invoke(main, ["group", str(rows), "--answers", "answers.jsonl"])
    assert again.exit_code == 1
    assert re.search(r"answers.jsonl is (text in UTF-16: save|compressed by gzip)", again.stderr)
    assert Path("answers.jsonl").read_bytes() == before
    assert grouped.exit_code == 0, grouped.output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_a_pipe_for_answers_is_refused_at_once(ask, rows, here):
    os.mkfifo("pipe.jsonl")
    asked = ask(rows, ["same"], "--answers", "pipe.jsonl")
    grouped = CliRunner().invoke(main, ["group", str(rows), "--answers", "pipe.jsonl"])
    for done in (asked, grouped):
        assert done.exit_code == 1
        assert "pipe.jsonl is a pipe or a device; answers are kept in a file" in done.stderr


@pytest.mark.parametrize("form", ["table", "array", "distances", "sparse"])
def test_rows_without_ids_that_were_sorted_are_refused(ask, rows, here, form):
    X = np.loadtxt(rows, delimiter=",", skiprows=1, usecols=(1, 2))
    options = ("--distances",) if form == "distances" else ()

    def write(X):
        if form == "table":
            Path("t.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in X))
            return "t.csv"
        if form == "sparse":
            save_npz("t.npz", csr_array(X))
            return "t.npz"
        np.save("t.npy", squareform(pdist(X)) if options else X)
        return "t.npy"

    assert ask(write(X), ["same"], *options).exit_code == 0
    before = Path("answers.jsonl").read_bytes()
    again = ask(write(X), ["different"], *options)
    assert again.exit_code == 0, again.stderr
    assert "continues after 1 answer" in again.stderr
    before = Path("answers.jsonl").read_bytes()
    given = [write(X[::-1]), *options]
    grouped = CliRunner().invoke(main, ["group", *given, "--answers", "answers.jsonl"])
    for done in (ask(*given[:1], ["same"], *options), grouped):
        assert done.exit_code == 1
        assert "2 of 2 answers are about rows that hold something else now" in done.stderr
        assert "give the rows ids" in done.stderr
    assert Path("answers.jsonl").read_bytes() == before


def test_rows_without_ids_may_be_added(ask, rows, here):
    lines = rows.read_text().replace("id", "n").replace("a", "1").replace("b", "2").splitlines()
    Path("t.csv").write_text("\n".join(lines) + "\n")
    ask("t.csv", ["same"])
    Path("t.csv").write_text("\n".join([*lines, ",1.5,"]) + "\n")
    assert ask("t.csv", ["same"]).exit_code == 0


def word(entry):
    """The answer of an entry, as in the file; empty for a retraction."""
    return json.loads(entry_to_json(entry))["answer"] or ""


class Labels:
    """Answers the questions of ``--json`` by the first letter of an id."""

    def __init__(self, ask, rows):
        self._ask, self._rows = ask, rows

    def give(self, n, *options):
        # Which question comes next does not depend on when it is asked.
        replies = []
        for _ in range(n):
            done = self._ask(self._rows, replies, "--json", "-a", "trial.jsonl", *options)
            os.remove("trial.jsonl") if os.path.exists("trial.jsonl") else None
            question = objects(done)[-1]
            if "question" not in question:
                break
            replies.append("same" if len({name[0] for name in question["items"]}) == 1 else "d")
        return replies


def test_answers_are_in_the_file_and_the_next_call_continues(ask, rows):
    done = ask(rows, ["same", "d", "k", "quit"])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("saved: ") == 3
    assert "3 answers in answers.jsonl" in done.stderr
    assert "clew group" in done.stderr
    first = entries()
    assert [word(entry) for entry in first.standing] == ["same", "different", "dont_know"]
    done = ask(rows, ["d"])
    assert "continues after 3 answers" in done.stderr
    assert "question 4:" in done.stdout
    second = entries()
    assert second.entries[:3] == first.entries
    asked = [frozenset(items_of(entry)) for entry in second.entries]
    assert len(set(asked)) == 4
    assert all(entry.annotator == "ann" and entry.ms >= 0 for entry in second.entries)


@pytest.mark.slow
def test_lines_show_what_the_items_are(ask, rows, here):
    expected = {
        f"{name}  x {float(x):g}, y {float(y):g}"
        for name, x, y in (line.split(",") for line in rows.read_text().splitlines()[1:])
    }
    shown = re.findall(r"^  [12] (.*)", ask(rows, []).stdout, re.MULTILINE)
    assert len(expected & {*shown}) == len(shown) == 2
    Path("texts").mkdir()
    for name in "ab":
        Path("texts", f"{name}.txt").write_text(f"a bird\nof {name}\n")
    assert "a.txt  a bird of a\n" in ask("texts", []).stdout


def test_order_shown_is_stored(ask, rows):
    done = ask(rows, ["d"] * 6)
    shown = [line.split()[1] for line in done.stdout.splitlines() if re.match("  [12]", line)]
    found = [entry.shown for entry in entries().entries]
    assert [tuple(shown[at : at + 2]) for at in range(0, 12, 2)] == found
    assert {entry.shown == items_of(entry) for entry in entries().entries} == {True, False}


@pytest.mark.slow
def test_undo_asks_the_same_question_again(ask, rows):
    done = ask(rows, ["undo", "same", "undo", "d", "k", "u", "u", "q"])
    assert "there is no answer to take back" in done.stdout
    file = entries()
    assert [word(entry) for entry in file.entries] == ["same", "", "different", "dont_know", "", ""]
    assert file.standing == []
    assert items_of(file.entries[0]) == items_of(file.entries[2])
    done = ask(rows, ["same", "undo", "q"])
    again = entries().entries
    assert again[-1].revokes == again[-2].id
    assert set(items_of(again[-2])) == set(items_of(file.entries[0]))


@pytest.mark.slow
def test_undo_after_a_new_start(ask, rows):
    ask(rows, ["same"])
    ask(rows, ["undo"])
    assert entries().standing == []


def test_n_ends_after_as_many_answers(ask, rows):
    done = ask(rows, ["d"] * 9, "-n", 2)
    assert len(entries().standing) == 2
    assert done.exit_code == 0


def test_nothing_left_to_ask(ask, here):
    (here / "two.csv").write_text("id,x\na,0\nb,1\nc,5\n")
    done = ask("two.csv", ["d"] * 9)
    assert done.exit_code == 3
    assert "nothing left to ask" in done.stderr


def test_items_that_have_ids_alone_are_asked_about(ask, here):
    (here / "names.csv").write_text(
        "\n".join(["id", *(f"{c}{at}" for c in "ab" for at in range(5))])
    )
    done = ask("names.csv", ["d", "d", "d"], "-n", 3)
    assert done.exit_code == 0, done.output
    assert "answers alone group the rows" in done.stderr
    assert len(entries().standing) == 3


def test_words_that_mean_nothing_are_refused(ask, rows):
    done = ask(rows, ["maybe", "\x1b[2J", "same"])
    assert (
        "'maybe' is not an answer; answers: same, different, don't know, not comparable, bad 1; "
        in (done.stdout)
    )
    assert "\x1b" not in done.stdout
    assert len(entries().standing) == 1


@pytest.mark.slow
def test_status_after_twenty_answers(ask, rows):
    done = ask(rows, [""])
    assert "20 to go" in done.stdout
    replies = Labels(ask, rows).give(3)
    done = ask(rows, [*replies, *["k"] * 17, "", "q"])
    text = done.stdout
    for word in ("groups: ", "how sure: ", "left: ", "agreement: ", "advice: "):
        assert word in text


def test_json_is_for_programs(ask, rows):
    done = ask(rows, ["same", "undo", "x", "d", ""], "--json")
    found = objects(done)
    assert found[0]["kind"] == "pair"
    assert found[0]["answers"] == ["same", "different", "dont_know"]
    assert found[0]["flags"] == ["not_comparable", "bad_item 1", "bad_item 2"]
    assert found[1]["answers"] == 1
    assert found[1]["saved"] == entries().entries[0].id
    assert {"revoked", "message", "status"} <= {key for one in found for key in one}


@pytest.mark.slow
def test_cluster_reads_the_answers(ask, rows, here):
    ask(rows, Labels(ask, rows).give(4))
    done = CliRunner().invoke(
        main, ["group", str(rows), "-a", "answers.jsonl", "-k", "2", "--method",
               "linkage", "--doubtful", "d.csv", "-q"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = {row["id"]: row["group"] for row in csv.DictReader(io.StringIO(done.stdout))}
    assert len({found[f"a{at}"] for at in range(5)}) == 1
    assert len(set(found.values())) == 2


def test_answers_about_unknown_items_are_refused(ask, rows, here):
    ask(rows, ["d"])
    text = rows.read_text()
    rows.write_text(text.replace("a0", "z0").replace("b1", "z1").replace("a1", "z2"))
    for name in set("".join(items_of(entries().entries[0]))):
        assert name in "ab01234"
    rows.write_text("\n".join(["id,x", "p,1", "q,2", "r,5"]))
    before = (here / "answers.jsonl").read_bytes()
    done = ask(rows, ["d"])
    assert done.exit_code == 1
    assert "1 of 1 answers name items that are not there" in done.stderr
    assert (here / "answers.jsonl").read_bytes() == before


@pytest.mark.slow
def test_incomplete_line_is_reported_and_skipped(ask, rows, here):
    ask(rows, ["d", "same"])
    whole = (here / "answers.jsonl").read_bytes()
    (here / "answers.jsonl").write_bytes(whole[:-20])
    grouped = ["group", str(rows), "-a", "answers.jsonl", "-k", "2", "--method", "linkage"]
    done = CliRunner().invoke(main, grouped)
    assert "answers.jsonl, line 2: is incomplete, and is skipped" in done.stderr
    done = ask(rows, ["k"])
    assert "answers.jsonl, line 2: is incomplete, and is skipped" in done.stderr
    assert [word(entry) for entry in entries().standing] == ["different", "dont_know"]


@pytest.mark.slow
def test_full_disk_ends_with_a_clear_last_line(ask, rows, monkeypatch):
    ask(rows, ["d"])

    def fails(*_):
        raise OSError(28, "No space left on device", "answers.jsonl")

    monkeypatch.setattr("clew.store.answer_file._append_line", fails)
    done = ask(rows, ["d"])
    assert done.exit_code == 1
    assert "No space left on device" in done.stderr
    assert "1 answer in answers.jsonl" in done.stderr
    assert len(entries().standing) == 1


@pytest.mark.slow
def test_images(ask, here):
    for at in range(6):
        Image.new("RGB", (20, 20), ("red", "navy")[at % 2]).save(here / f"{at}.png")
    (here / "broken.png").touch()
    done = ask(here, ["same"])
    assert done.exit_code == 0, done.output
    assert "1 file cannot be read" in done.stderr
    assert ".png" in done.stdout
    assert "broken" not in done.stdout


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--kinds", "pair,quad"), "unknown kind 'quad'; use one of pair, triplet, odd_one_out"),
        (("-n", "0"), "-n"),
        (("--answers", "rows.csv"), "also the file of the items"),
        (("--answers", "nowhere/a.jsonl"), "there is no folder nowhere"),
    ],
)
def test_misuse_is_refused(ask, rows, options, word):
    before = rows.read_bytes()
    done = ask(rows, ["same"], *options)
    assert done.exit_code in (1, 2)
    assert word in done.stderr
    assert rows.read_bytes() == before


@pytest.mark.parametrize("kind", ["pair", "odd_one_out", "triplet", "which_of"])
def test_every_key_means_one_thing(kind):
    meanings = {}
    for key in keys_of(kind):
        for word in (key.key, key.label, key.meaning, *key.others):
            assert meaning(kind, word) == meaning(kind, word.upper()) == key.meaning
            assert meanings.setdefault(word, key.meaning) == key.meaning
            assert not isinstance(meaning(kind, word), Command)
    assert meaning(kind, "Don’t know") == "dont_know"
    assert meaning(kind, "u") == Command("undo")
    assert meaning(kind, "") == Command("status")
    assert meaning(kind, "xyz") is None


def test_position_on_the_screen_becomes_the_code():
    odd = Asked(Question("odd_one_out", (4, 7, 9)), (9, 4, 7), 1)
    assert [odd.code(word) for word in ("1", "2", "3", "all_alike", "dont_know")] == [
        2,
        0,
        1,
        -1,
        -2,
    ]
    triplet = Asked(Question("triplet", (4, 7, 9)), (4, 9, 7), 1)
    assert [triplet.code(word) for word in ("1", "2", "dont_know")] == [1, 0, -2]
    for asked, words in ((odd, ("1", "2", "3")), (triplet, ("1", "2"))):
        assert [asked.word(asked.code(word)) for word in words] == [f"number {w}" for w in words]
    assert odd.word(-2) == "don't know"
    assert odd.word(-1) == "all alike"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_groups_are_chosen_by_number(ask, rows, here, options):
    done = ask(rows, ["6", "1", "none", "k", "bad 0"], "--kinds", "which-of", *options)
    assert "'6' is not an answer" in done.stdout
    records = list(map(json.loads, (here / "answers.jsonl").read_text().splitlines()))
    assert {record["kind"] for record in records} == {"which_of"}
    first, *others = records
    assert first["answer"] == first["items"][1]
    assert first["shown"] == first["items"]  # the likeliest group is the first
    assert [record["answer"] for record in others] == ["none_of_these", "dont_know", "bad_item"]
    assert others[-1]["bad"] == [others[-1]["items"][0]]
    if options:
        assert objects(done)[0]["parts"] == first["parts"]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_strangers_are_ticked_by_their_numbers(ask, rows, here, options):
    done = ask(rows, ["9", "1", "all", "k", "u", "bad 1"], "--kinds", "confirm", *options)
    assert "'9' is not an answer" in done.stdout
    records = list(map(json.loads, (here / "answers.jsonl").read_text().splitlines()))
    first, second, third, retraction, last = records
    assert {record.get("kind", "confirm") for record in records} == {"confirm"}
    n_examples = first["parts"][0]
    assert first["answer"] == first["items"][n_examples : n_examples + 1]
    assert first["shown"] == first["items"]
    assert (second["answer"], third["answer"]) == ([], "dont_know")
    assert retraction["revokes"] == third["id"]
    assert last["items"] == third["items"]
    assert last["bad"] == [last["items"][last["parts"][0]]]


def test_auto_asks_pairs_and_groups(ask, rows, here):
    done = ask(rows, ["k"] * 3, "--kinds", "auto")
    assert done.exit_code in (0, 3), done.stderr
    records = list(map(json.loads, (here / "answers.jsonl").read_text().splitlines()))
    assert {record["kind"] for record in records} <= {"pair", "which_of"}


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_all_alike_is_one_word_and_none_is_no_answer(ask, rows, here, options):
    done = ask(rows, ["none", "all alike"], "--kinds", "odd-one-out", *options)
    assert done.exit_code == 0, done.stderr
    assert "'none' is not an answer" in done.stdout
    (record,) = map(json.loads, (here / "answers.jsonl").read_text().splitlines())
    assert (record["kind"], record["answer"]) == ("odd_one_out", "all_alike")
    if not options:
        assert "if all three differ: don't know" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_flags_are_answers_about_the_question(ask, rows, here, options):
    done = ask(rows, ["c", "bad", "bad 2", "bad_item 1", "s"], *options)
    assert done.exit_code == 0, done.stderr
    assert "say which item cannot be judged: bad 1" in done.stdout
    lines = [json.loads(line) for line in (here / "answers.jsonl").read_text().splitlines()]
    assert [one["answer"] for one in lines] == ["not_comparable", "bad_item", "bad_item", "same"]
    assert lines[1]["bad"] == lines[1]["shown"][1:]
    assert lines[2]["bad"] == lines[2]["shown"][:1]
    bad = {*lines[1]["bad"], *lines[2]["bad"]}
    assert not bad & set(lines[3]["items"])  # nobody is asked about these any more
    again = ask(rows, ["d"])
    assert not bad & set(items_of(entries().entries[-1]))
    assert "continues after 4 answers" in again.stderr
    grouped = CliRunner().invoke(main, ["group", str(rows), "--answers", "answers.jsonl"])
    assert grouped.exit_code == 0, grouped.output


@pytest.mark.slow
def test_the_status_says_what_is_left_out_and_how_people_agree_with_themselves(ask, tmp_path):
    ids = [f"{at:02d}" for at in range(30)]
    lines = [f"{name},{at % 3}.{at:02d}" for at, name in enumerate(ids)]
    table = tmp_path / "many.csv"
    table.write_text("\n".join(["id,x", *lines]) + "\n")
    ask(table, ["bad 1", "k"])
    file = AnswerFile("answers.jsonl", ids)
    file.append(Edit("set_aside", ["07"], annotator="ann"))
    done = ask(table, [*["d", "s"] * 25, "", "q"])
    assert done.exit_code == 0, done.output
    assert "bad items: " in done.stdout
    assert "set aside: 1 item, in no group" in done.stdout
    assert "with oneself: " in done.stdout
    asked = [set(items_of(entry)) for entry in AnswerFile("answers.jsonl", ids).entries[3:]]
    assert not any("07" in names for names in asked)
    assert sum(json.loads(line).get("repeat", 0)
               for line in Path("answers.jsonl").read_text().splitlines()) >= 1  # fmt: skip


@pytest.mark.slow
def test_the_command_that_is_printed_groups_the_same_rows(ask, here):
    Path("birds.txt").write_text(
        "Ring|wing, left|note\n"
        + "".join(f"r{at}|{at % 2 * 9 + at / 9:.2f}|{at}\n" for at in range(8))
    )
    done = ask(
        "birds.txt", ["same", "different"], "--id-column", "Ring", "--sep", "|", "--header",
        "--columns", '"wing, left"', "--seed", 3, "-k", 2,
    )  # fmt: skip
    command = shlex.split(done.stderr.rpartition("group by them: clew ")[2])
    grouped = CliRunner().invoke(main, [*command, "--json", "-o", "g.csv"])
    assert grouped.exit_code == 0, grouped.output
    assert json.loads(grouped.stdout)["answers"] == 2
    groups = list(csv.DictReader(io.StringIO(Path("g.csv").read_text("utf-8"))))
    assert [row["id"] for row in groups] == [f"r{at}" for at in range(8)]
    assert len({row["group"] for row in groups}) == 2


def test_quiet_prints_no_message_but_errors(rows, ask):
    done = ask(rows, ["same", "quit"], "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    assert ask(rows, ["same"], "-q", "-a", "no/such/folder.jsonl").stderr
    done = ask(rows, ["same"], "-a", "answers.csv")
    assert (done.exit_code, "such as answers.jsonl; clew group -c" in done.stderr) == (2, True)
