"""``clew ask`` begins with the question of the last call, while the session is prepared."""

import os
import signal
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from clew.cli import main
from clew.cli.asking import _run
from clew.cli.asking._loop import AskLoop, NextQuestion, in_background
from clew.cli.asking._replies import BAD, Command
from clew.session import Session
from clew.store import AnswerFile

IDS = [str(row) for row in range(10)]
PATIENCE = 60


def session():
    X = np.repeat([[0.0], [9.0]], 5, axis=0) + np.arange(10.0)[:, None] / 9
    return Session(X, ids=IDS, strategy="random", random_state=0)


class Screen:
    """Replies from a list, and what was shown before each; then it quits."""

    def __init__(self, *replies, on_wait=None):
        self.replies, self.shown, self.waits = list(replies), [], 0
        self._on_wait = on_wait

    def show(self, asked, progress):
        self.shown.append((asked.question.rows, progress.left))

    def reply(self):
        return self.replies.pop(0) if self.replies else Command("quit")

    def wait(self):
        self.waits += 1
        if self._on_wait is not None:
            self._on_wait()

    def __getattr__(self, name):
        return lambda *_: None


@pytest.fixture
def start(tmp_path):
    """Make a loop on the same file of answers; its session is prepared already if one is given."""

    def made(screen, prepared=None, *, is_early=False, **options):
        file = AnswerFile(tmp_path / "answers.jsonl", IDS)
        given = {"items": Path("x.csv"), "annotator": "ann", "kinds": ("pair",), "seed": 0}
        job = SimpleNamespace(**given | {"n_groups": None} | options)
        following = NextQuestion(job, file, tmp_path / "cache")
        if prepared is None:
            prepared = Future()
            prepared.set_result(session())
        return AskLoop(
            prepared, file, screen, annotator="ann", n_wanted=None, seed=0, following=following,
            is_early=is_early,
        )  # fmt: skip

    return made


def test_the_unanswered_question_is_shown_before_the_session_is_prepared(start):
    first = Screen("same", "different")
    start(first).run()
    second, future = Screen(), Future()
    assert start(second, future).run() is False
    assert second.shown[0][0] == first.shown[2][0]
    assert second.waits == 0
    assert not future.done()


@pytest.mark.slow
def test_an_answer_is_on_disk_before_the_session_is_prepared(start, tmp_path):
    start(Screen("same")).run()
    future, on_disk = Future(), []

    def prepare():
        on_disk.append(len(AnswerFile(tmp_path / "answers.jsonl", IDS).standing))
        prepared = session()
        prepared.tell(prepared.ask()[0], "same", annotator="ann")
        future.set_result(prepared)

    screen = Screen("different", on_wait=prepare)
    loop = start(screen, future)
    loop.run()
    assert (screen.waits, on_disk) == (1, [2])
    assert len(screen.shown) == len({rows for rows, _ in screen.shown}) == 2
    assert [answer.value for answer in loop.session.answers] == [1, 0]


@pytest.mark.slow
def test_undo_takes_back_an_answer_of_the_earlier_call(start):
    start(Screen("same")).run()
    prepared = session()
    prepared.tell(prepared.ask()[0], "same", annotator="ann")
    future = Future()
    screen = Screen(Command("undo"), on_wait=lambda: future.set_result(prepared))
    loop = start(screen, future)
    loop.run()
    assert loop.session.answers == ()
    assert loop.file.standing == []
    assert len(screen.shown) == 2


def test_random_pairs_are_asked_until_the_session_is_prepared(start):
    future = Future()
    replies = ["same", Command("undo"), "different", "same", f"{BAD}1", "same", "same"]

    class Slow(Screen):
        def reply(self):
            if len(self.replies) == 1:
                future.set_result(session())
            return super().reply()

    screen = Slow(*replies)
    loop = start(screen, future, is_early=True)
    assert loop.has_question
    loop.run()
    assert screen.waits == 0
    shown = [rows for rows, _ in screen.shown]
    assert shown[2] == shown[0]  # the question whose answer was taken back
    assert len(set(shown)) == len(shown) - 1 == 7
    (bad,) = {name for answer in loop.file.standing for name in answer.bad}
    later = shown[5:-1]
    assert not any(int(bad) in rows for rows in later)
    assert {answer.origin for answer in loop.file.standing[:-1]} == {"imported"}
    assert [a.id for a in loop.session.answers] == [a.id for a in loop.file.standing]
    assert loop.session.result().quality_ is None


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["options", "answers", "items", "damaged"])
def test_a_question_of_another_state_is_not_shown(start, tmp_path, changed):
    start(Screen("same")).run()
    (path,) = (tmp_path / "cache").iterdir()
    if changed == "answers":
        start(Screen("same", "different")).run()
        (tmp_path / "answers.jsonl").unlink()
    if changed == "items":
        path.write_text(path.read_text().replace('"items": ["', '"items": ["x'))
    if changed == "damaged":
        path.write_text("[1, 2")
    future = Future()
    screen = Screen(on_wait=lambda: future.set_result(session()))
    start(screen, future, **({"seed": 1} if changed == "options" else {})).run()
    assert screen.waits == 1


def test_a_folder_that_cannot_be_written_is_no_obstacle(start, tmp_path):
    (tmp_path / "cache").touch()
    screen = Screen("same")
    start(screen).run()
    assert len(screen.shown) == 2


def test_an_error_of_the_preparation_is_raised_by_the_loop(start):
    def fails():
        raise MemoryError("full")

    with pytest.raises(MemoryError, match="full"):
        start(Screen(), in_background(fails)).run()


@pytest.mark.slow
def test_the_estimate_is_made_anew_after_an_answer_is_taken_back(start):
    loop = start(Screen(*["dont_know"] * 21, Command("undo")))
    loop._left, loop._estimated_at = "about 9", 21
    loop.run()
    shown = [left for _, left in loop.screen.shown]
    assert shown[20:] == ["about 9", "about 9", ""]


def test_the_estimate_is_made_anew_after_the_status(start):
    screen = Screen(Command("status"))
    screen.status = lambda *_: None
    loop = start(screen)
    loop._left = "about 9"
    loop.run()
    assert loop._left == ""


def test_an_estimate_from_before_an_undo_is_dropped(start):
    loop = start(Screen())
    before = loop._n_revoked
    loop._forget_estimate()
    loop._left = "new"
    loop._estimate_now(before)
    assert loop._left == "new"


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_a_signal_ends_the_first_preparation(tmp_path, monkeypatch, name):
    assert threading.current_thread() is threading.main_thread()
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("id,x\na,0\nb,1\nc,5\n")
    is_over, number = threading.Event(), getattr(signal, name)

    def prepare(*_):
        os.kill(os.getpid(), number)
        assert is_over.wait(PATIENCE)

    monkeypatch.setattr(_run, "session_of", prepare)
    monkeypatch.setattr(os, "_exit", sys.exit)
    done = CliRunner().invoke(main, ["ask", "x.csv", "--annotator", "ann"], prog_name="clew")
    is_over.set()
    assert done.exit_code == 128 + number
    assert "interrupted before the first question" in done.stderr
    assert not Path("answers.jsonl").exists()
