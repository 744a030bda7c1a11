"""answers.jsonl: what was acknowledged is in the file, whatever happens next."""

import errno
import gzip
import json
import multiprocessing
import os
from dataclasses import replace
from datetime import datetime

import pytest

from clew import Answer, Constraints, Question
from clew.answers import entry_to_json
from clew.answers._log import parse_log
from clew.exceptions import FileFormatError
from clew.store import AnswerFile

#: Some ids are words for answers, and some hold characters that JSON escapes.
IDS = ["wren", "robin", "all_alike", 'her"o}n', "ü\u2028\n", "same"]


def pair(i, j, word="same", who="ann"):
    return Answer(Question("pair", (i, j)), word, who)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


@pytest.fixture
def file(path):
    return AnswerFile(path, IDS)


def test_a_line_says_all_about_an_answer(file, path):
    question = Question("odd_one_out", (0, 1, 3), origin="random")
    answer = Answer(question, "third", "ann", origin="random")
    file.append(replace(answer, shown=[IDS[row] for row in (3, 0, 1)], ms=1234))
    (line,) = path.read_text().splitlines()
    record = json.loads(line)
    assert datetime.fromisoformat(record.pop("time")).tzinfo is not None
    assert len(record.pop("id")) == 32
    assert len(record.pop("question")) == 16
    assert record.pop("source").startswith("clew ")
    assert record == {
        "version": 1, "kind": "odd_one_out", "items": ["wren", "robin", 'her"o}n'],
        "shown": ['her"o}n', "wren", "robin"], "answer": 'her"o}n', "annotator": "ann", "ms": 1234,
        "origin": "random", "revokes": None,
    }  # fmt: skip


#: Each of another person: of one person, only the last answer to a question counts.
ANSWERS = [
    Answer(question, word, f"person {at}")
    for question, words in (
        (Question("pair", (0, 4)), ("same", "different", "dont_know")),
        (
            Question("odd_one_out", (0, 2, 5)),
            ("first", "second", "third", "all_alike", "dont_know"),
        ),
        (Question("triplet", (4, 2, 5)), ("first", "second", "dont_know")),
    )
    for at, word in enumerate(words)
]


def test_every_answer_is_read_back(file, path):
    for answer in ANSWERS:
        file.append(answer)
    again = AnswerFile(path, IDS)
    assert [(entry.question.kind, entry.value) for entry in again.standing] == [
        (answer.question.kind, answer.value) for answer in ANSWERS
    ]
    assert [entry_to_json(entry) for entry in again.entries] == path.read_text().split("\n")[:-1]


def test_constraints_read_the_same_file(file, path):
    for answer in ANSWERS:
        file.append(answer)
    known = Constraints.read_jsonl(path, ids=IDS)
    assert known == Constraints.from_answers(ANSWERS, ids=IDS)


def test_the_same_question_has_one_id(file):
    triplets = [Answer(Question("triplet", rows), 0) for rows in ((0, 1, 2), (0, 2, 1), (1, 0, 2))]
    pairs = [pair(0, 1), pair(1, 0), pair(0, 2)]
    ids = [json.loads(entry_to_json(file.append(one)))["question"] for one in (*pairs, *triplets)]
    assert ids[0] == ids[1] != ids[2]
    assert ids[3] == ids[4] != ids[5]


def test_an_answer_that_is_taken_back_stays_in_the_file(file, path):
    first, _ = file.append(pair(0, 1)), file.append(pair(0, 2))
    file.revoke(first, annotator="ben")
    again = AnswerFile(path, IDS)
    assert len(again.entries) == 3
    assert [entry.question.ids for entry in again.standing] == [("wren", "all_alike")]
    assert again.entries[2].annotator == "ben"
    assert len(Constraints.read_jsonl(path, ids=IDS)) == 1


def test_every_cut_loses_the_last_line_at_most(file, path):
    for answer in ANSWERS[:3]:
        file.append(answer)
    whole = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    for cut in (*range(ends[1], len(whole) - 3, 9), *range(len(whole) - 3, len(whole))):
        path.write_bytes(whole[:cut])
        again = AnswerFile(path, IDS)
        # The last character alone may be missing: that line is whole.
        n = 3 if cut == len(whole) - 1 else 2
        assert len(again.entries) == n
        assert again.torn == ([3] if n == 2 and cut > ends[1] else [])
        again.append(pair(1, 2))
        after = AnswerFile(path, IDS)
        assert [entry.id for entry in after.entries] == [entry.id for entry in again.entries]
        assert len(Constraints.read_jsonl(path, ids=IDS)) == n + 1


def test_zeros_after_a_power_cut_are_a_torn_line(file, path):
    file.append(pair(0, 1))
    with path.open("ab") as raw:
        raw.write(bytes(40))
    again = AnswerFile(path, IDS)
    assert (len(again.entries), again.torn) == (1, [2])


def line(**fields):
    """A line about wren and robin, with some fields replaced, as JSON."""
    given = {
        "version": "1", "id": '"a"', "kind": '"pair"', "items": '["wren","robin"]',
        "answer": '"same"',
    } | fields  # fmt: skip
    return "{" + ",".join(f'"{name}":{value}' for name, value in given.items()) + "}"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("not json", "line 2: not JSON"),
        ("[1]", "line 2: expected an object"),
        ('{"version":2}', "this clew reads version 1"),
        ('{"version":1,"id":"a","kind":"edit","items":["wren"],"answer":"same"}', "edit"),
        (
            '{"version":1,"id":"a","kind":"pair","items":["wren"],"answer":"same"}',
            "asks about 2 rows",
        ),
        ('{"version":1,"id":"a","kind":"pair","items":["wren","robin"],"answer":"x"}', "'x'"),
        (
            '{"version":1,"id":"a","kind":"odd-one-out","items":["wren","robin","same"],"answer":9}',
            "9",
        ),
        ('{"version":1,"id":"a","kind":"pair","items":["wren","robin"]}', "'answer' is missing"),
        (f'{{"ms":{"9" * 5000}}}', "line 2: not JSON"),
        (line(ms="Infinity"), "line 2: ms must be a number of milliseconds or null, got inf"),
        (line(ms="-1"), "line 2: ms must be"),
        (line(ms='"12"'), "line 2: ms must be"),
        (line(origin='"foo"'), "line 2: unknown origin 'foo'; use one of imported, random"),
        (line(origin="[1]"), "line 2: unknown origin"),
        (line(answer='["same"]'), "line 2: answer must be a word, an id or a position, got \\["),
        (line(answer="{}"), "line 2: answer must be"),
        (line(items="null"), "line 2: items must be a list of ids, got None"),
        (line(items='[["wren"],"robin"]'), "line 2: items must be a list of ids"),
        (line(shown="3"), "line 2: shown must be a list of ids"),
        (line(id="null"), "line 2: id must be a text"),
    ],
)
def test_an_invalid_line_is_refused(file, path, text, word):
    file.append(pair(0, 1))
    with path.open("a") as raw:
        raw.write(f"{text}\n")
    with pytest.raises(FileFormatError, match=rf"answers\.jsonl, .*{word}"):
        AnswerFile(path, IDS)


SPOILED = {
    "UTF-16: save it as UTF-8": lambda text: text.encode("utf-16"),
    "in UTF-16": lambda text: text.encode("utf-16-le"),
    "compressed by gzip: unpack it": lambda text: gzip.compress(text.encode()),
}


@pytest.mark.parametrize(("words", "spoil"), SPOILED.items())
def test_other_encodings_are_refused_before_anything_is_written(file, path, words, spoil):
    file.append(pair(0, 1))
    before = spoil(path.read_text())
    path.write_bytes(before)
    with pytest.raises(FileFormatError, match=words):
        AnswerFile(path, IDS)
    assert path.read_bytes() == before
    # What is only read may have any of these forms.
    assert len(Constraints.read_jsonl(path, ids=IDS)) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_a_pipe_or_a_device_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/full", "/dev/null"):
        for read in (AnswerFile, lambda path, ids: Constraints.read_jsonl(path, ids=ids)):
            with pytest.raises(FileFormatError, match="is a pipe or a device; answers are kept"):
                read(path, IDS)


def test_unknown_items_are_named_and_nothing_is_read(file, path):
    for answer in (pair(0, 1), pair(1, 3), pair(0, 3), pair(0, 5)):
        file.append(answer)
    with pytest.raises(FileFormatError, match=r"3 of 4 answers name items.*'robin', 'same'"):
        AnswerFile(path, ["wren", 'her"o}n'])
    with pytest.raises(FileFormatError, match=r"'robin', 'same'; no answer was read"):
        Constraints.read_jsonl(path, ids=["wren", 'her"o}n'])


def test_items_of_answers_that_were_taken_back_may_be_gone(file, path):
    file.revoke(file.append(pair(0, 5)), annotator="ann")
    file.append(pair(0, 1))
    assert len(AnswerFile(path, IDS[:2]).standing) == 1


def test_a_line_that_is_there_twice_counts_once(file, path):
    file.append(pair(0, 1))
    path.write_bytes(2 * path.read_bytes())
    assert len(AnswerFile(path, IDS).entries) == 1


@pytest.mark.parametrize("written", [0, 7])
def test_full_disk_leaves_the_file_as_it_was(file, path, monkeypatch, written):
    file.append(pair(0, 1))
    before, write = path.read_bytes(), os.write

    calls = []

    def fails(descriptor, data):
        calls.append(1)
        if written and len(calls) == 1:
            return write(descriptor, data[:written])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", fails)
    with pytest.raises(OSError, match=r"No space left.*answers\.jsonl"):
        file.append(pair(0, 2))
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert len(file.entries) == 1
    file.append(pair(0, 2))
    assert len(AnswerFile(path, IDS).entries) == 2


def test_an_answer_is_flushed_to_disk_before_it_counts(file, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(len(file.entries)))
    file.append(pair(0, 1))
    # The file and, because it is new, its folder: both before the entry is there.
    assert synced == [0, 0]


def test_what_another_process_appended_is_read(file, path):
    file.append(pair(0, 1))
    other = AnswerFile(path, IDS)
    entry = other.append(pair(1, 2, who="ben"))
    assert [one.id for one in file.read_new()] == [entry.id]
    assert file.read_new() == []
    file.append(pair(2, 3))
    assert [one.question.ids for one in other.read_new()] == [("all_alike", 'her"o}n')]


def test_own_lines_are_not_read_back(file, path, monkeypatch):
    read = []
    monkeypatch.setattr(
        "clew.store.answer_file.parse_log",
        lambda content, *where: read.append(content) or parse_log(content, *where),
    )
    for _ in range(5):
        file.append(pair(0, 1))
        assert file.read_new() == []
    assert read == []
    AnswerFile(path, IDS).append(pair(2, 3))
    file.append(pair(0, 4))
    assert [entry.question.ids for entry in file.read_new()] == [("all_alike", 'her"o}n')]
    file.append(pair(0, 4))
    with path.open("a") as raw:
        raw.write("{}\n")
    with pytest.raises(FileFormatError, match="line 9: 'version' is missing"):
        file.read_new()


def test_a_file_that_became_shorter_is_refused(file, path):
    for at in range(1, 4):
        file.append(pair(0, at))
    file.read_new()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FileFormatError, match="shorter"):
        file.append(pair(0, 1))
    with pytest.raises(FileFormatError, match="shorter"):
        file.read_new()


def _append_many(path, who):
    file = AnswerFile(path, IDS)
    for at in range(40):
        file.append(pair(at % 3, 3 + at % 3, who=who))


def test_processes_that_append_at_once_do_not_damage_the_file(path):
    context = multiprocessing.get_context("fork")
    people = [context.Process(target=_append_many, args=(path, name)) for name in ("ann", "ben")]
    for person in people:
        person.start()
    for person in people:
        person.join()
    file = AnswerFile(path, IDS)
    assert file.torn == []
    assert sorted(entry.annotator for entry in file.entries) == ["ann"] * 40 + ["ben"] * 40
