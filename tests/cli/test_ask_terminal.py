"""``clew ask`` on a terminal: single keys, signals, and how images are drawn."""

import base64
import contextlib
import fcntl
import io
import itertools
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from clew.answers import Answer, Question
from clew.cli.asking._loop import AskLoop
from clew.cli.asking._pictures import Blocks, SideBySide, cards, escape_of, protocol_of, shortened
from clew.cli.asking._replies import Command
from clew.cli.asking._terminal import Keys
from clew.session import Session
from clew.store import AnswerFile


@pytest.fixture
def images(tmp_path):
    Image.new("RGB", (40, 20), (250, 10, 10)).save(tmp_path / "a.png")
    Image.new("RGB", (20, 40), (10, 10, 250)).save(tmp_path / "b.png")
    return [tmp_path / "a.png", tmp_path / "b.png"]


@pytest.mark.parametrize(
    ("environment", "colors", "expected"),
    [
        ({"TERM": "xterm-kitty"}, "truecolor", "kitty"),
        ({"KITTY_WINDOW_ID": "1", "TERM": "xterm"}, "truecolor", "kitty"),
        ({"TERM_PROGRAM": "iTerm.app"}, "truecolor", "iterm"),
        ({"TERM_PROGRAM": "iTerm.app", "TMUX": "socket,1,0"}, "truecolor", "blocks"),
        ({"TERM": "xterm-256color"}, "256", "blocks"),
        ({"TERM": "vt100"}, "standard", "file"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, None, "file"),
    ],
)
def test_the_terminal_is_recognized(environment, colors, expected):
    assert protocol_of("auto", environment, colors) == expected
    assert protocol_of("kitty", environment, colors) == "kitty"


def drawn(what, width=40):
    console = Console(
        file=io.StringIO(), force_terminal=True, color_system="truecolor", width=width
    )
    console.print(what)
    return console.file.getvalue()


def test_half_blocks_hold_two_pixels_a_cell(images):
    text = drawn(Blocks(images[0], 10), 20)
    assert text.count("▀") == 20 * 5  # 20 columns and 10 pixels high
    assert "38;2;250;10;10" in text
    tall = drawn(Blocks(images[1], 5), 20)
    assert tall.count("▀") == 5 * 5
    assert max(map(len, re.sub(r"\x1b\[[\d;]*m", "", tall).splitlines())) <= 20


def test_images_are_side_by_side_in_a_file_that_ends_with_the_program(
    images, monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    beside = SideBySide()
    path = beside.write(images)
    assert path.is_relative_to(tmp_path)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    pixels = np.asarray(Image.open(path))
    assert pixels[450, 450, 0] > 200 > 100 > pixels[450, 450, 2]
    assert pixels[450, 1300, 2] > 200 > 100 > pixels[450, 1300, 0]
    beside.write(images[::-1])
    assert [one.name for one in path.parent.iterdir()] == ["question.jpg"]
    beside.close()
    assert not path.parent.exists()


def test_escape_sequences_hold_the_picture(images):
    kitty = escape_of("kitty", images, 40, 10)
    parts = re.findall(r"\x1b_G[^;]*;([^\x1b]*)\x1b", kitty)
    whole = Image.open(io.BytesIO(base64.b64decode("".join(parts))))
    assert whole.size[0] > whole.size[1]
    assert all(len(part) <= 4096 for part in parts)
    iterm = re.search(r"File=[^:]*:(.*)\a", escape_of("iterm", images, 40, 10))
    assert Image.open(io.BytesIO(base64.b64decode(iterm[1]))).size == whole.size


def test_names_and_texts_cannot_command_the_terminal():
    assert shortened("a/long/path/to/an/image.jpg", 12) == "…n/image.jpg"
    assert "\x1b" not in shortened("\x1b[2Jx", 20)
    items = SimpleNamespace(
        folder=None, texts=["\x1b[2Jone", "two " * 900], ids=["a", "b"], frame=None, has_ids=True
    )
    text = drawn(cards(items, (0, 1), ("1", "2"), 78, 9, "blocks"), 80)
    assert "\x1b[2J" not in text
    assert "characters" in text


def test_lines_of_texts_are_lines():
    items = SimpleNamespace(
        folder=None, texts=["one\ntwo\n", "three\r\n"], ids=["a", "b"], frame=None, has_ids=True
    )
    text = drawn(cards(items, (0, 1), ("1", "2"), 78, 9, "blocks"), 80)
    assert "\\" not in text
    first, second = text.splitlines()[1:3]
    assert ("one" in first, "two" in second, "three" in first) == (True, True, True)


class Terminal:
    """``clew ask`` in a process with a terminal of its own."""

    def __init__(self, *arguments, size=(24, 80), shell=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        environment.pop("TMUX", None)
        command = [sys.executable, "-m", "clew.cli", "ask"]
        if shell is not None:
            command = ["sh", "-c", shell, "sh"]
        self.process = subprocess.Popen(
            [*command, *arguments], stdin=slave, stdout=slave, stderr=slave,
            env=environment, start_new_session=True, close_fds=True,
        )  # fmt: skip
        os.close(slave)
        self.text = ""

    def until(self, pattern, seconds=120):
        """Wait for new text; return it without escape sequences."""
        end = time.monotonic() + seconds
        seen = ""
        while time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                with contextlib.suppress(OSError):
                    seen += os.read(self.master, 1 << 16).decode("utf-8", "replace")
            plain = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", seen)
            if re.search(pattern, plain, re.DOTALL):
                time.sleep(0.2)  # keys that come at once are not replies
                return plain
        raise AssertionError(f"no {pattern!r} in {seen[-2000:]!r}")

    def press(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        status = self.process.wait(60)
        os.close(self.master)
        return status

    def close(self):
        """Close the window, as a person does; return the status."""
        os.close(self.master)
        return self.process.wait(60)


def words(path):
    return [json.loads(line)["answer"] for line in path.read_text().splitlines()]


@pytest.mark.slow  # starts a process
def test_keys_answer_and_a_held_key_answers_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{at},{at % 2}.{at}" for at in range(12)]
    (tmp_path / "x.csv").write_text("\n".join(["id,x", *lines]))
    terminal = Terminal("x.csv", "-j", "1", "--annotator", "ann")
    terminal.until("Same thing.*same.*don't know")
    terminal.press("x")  # means nothing
    terminal.press("\x1b[A")  # nor does an arrow
    time.sleep(0.2)
    terminal.press("s")
    terminal.until("ann · 1 answer ·.*saved: same")
    terminal.press("dddddddd")
    terminal.until("ann · 2 answers")
    terminal.press("u")
    terminal.until("taken back")
    terminal.process.send_signal(signal.SIGTERM)
    last = terminal.until("1 answer in answers.jsonl")
    assert "interrupted" in last
    assert terminal.end() == 128 + signal.SIGTERM
    assert words(tmp_path / "answers.jsonl") == ["same", "different", None]


@pytest.mark.slow  # starts a process
def test_keys_are_listed_and_nothing_is_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{at},{at % 2}.{at}" for at in range(12)]
    (tmp_path / "x.csv").write_text("\n".join(["id,x", *lines]))
    terminal = Terminal("x.csv", "-j", "1", "--annotator", "ann")
    terminal.until("Same thing.*h keys")
    for key in "?h":
        time.sleep(0.4)
        terminal.press(key)
        terminal.until("k or 0.*not asked again.*h or [?].*back to the question")
        time.sleep(0.4)
        terminal.press("s")  # leaves the list
        terminal.until("ann · 0 answers.*Same thing")
    time.sleep(0.4)
    terminal.press("k")
    terminal.until("saved: don't know")
    terminal.press("q")
    assert terminal.end() == 0
    assert words(tmp_path / "answers.jsonl") == ["dont_know"]


@pytest.mark.slow  # starts a process
def test_q_quits_where_it_says_how_sure_the_groups_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{at},{at % 2}.{at}" for at in range(12)]
    (tmp_path / "x.csv").write_text("\n".join(["id,x", *lines]))
    ids = [str(at) for at in range(12)]
    file = AnswerFile(tmp_path / "answers.jsonl", ids)
    for i, j in list(itertools.combinations(range(12), 2))[:20]:
        said = "same" if i % 2 == j % 2 else "different"
        file.append(Answer(Question("pair", ids=(ids[i], ids[j])), said, "ann"))
    terminal = Terminal("x.csv", "-j", "1", "--annotator", "ann")
    terminal.until("Same thing.*Enter: how sure")
    terminal.press("\r")
    terminal.until("advice.*Enter go on.*q quit")
    time.sleep(0.4)
    terminal.press("q")
    assert "20 answers in answers.jsonl" in terminal.until("group by them")
    assert terminal.end() == 0


@pytest.mark.slow  # starts a process
def test_strangers_are_ticked_and_unticked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{at},{at % 2}.{at}" for at in range(12)]
    (tmp_path / "x.csv").write_text("\n".join(["id,x", *lines]))
    terminal = Terminal("x.csv", "-j", "1", "--annotator", "ann", "--kinds", "confirm")
    terminal.until("do not belong to the group.*all others belong")
    time.sleep(0.4)
    terminal.press("1")
    terminal.until("✗ 1")
    terminal.press("a")
    terminal.until("saved: strangers 1")
    terminal.press("u")
    terminal.until("taken back")
    for key in "11":
        time.sleep(0.4)
        terminal.press(key)
    time.sleep(0.4)
    terminal.press("a")
    terminal.until("saved: all belong")
    terminal.press("q")
    assert terminal.end() == 0
    first, _, last = words(tmp_path / "answers.jsonl")
    assert (len(first), last) == (1, [])


@pytest.fixture
def keyboard(monkeypatch):
    """Keys of a terminal in this process: a function that types, and the keys that read them."""
    master, slave = pty.openpty()
    held = []
    with open(slave, closefd=False) as screen, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", screen)
        with Keys(lambda: None, lambda *what: held.append(what)) as keys:
            yield lambda text: os.write(master, text.encode()), keys, held
    os.close(slave)
    os.close(master)


@pytest.mark.parametrize("key", ["d", "\n", "u", " ", "k"])
def test_a_key_counts_at_once(keyboard, key):
    press, keys, held = keyboard
    press("s")
    assert keys.read() == "s"
    keys.shown()
    press(key)
    assert keys.read() == key
    assert held == []


@pytest.mark.slow
@pytest.mark.parametrize("key", ["s", "\n"])
def test_a_repeat_of_the_same_key_is_held_back_and_said(keyboard, key):
    press, keys, held = keyboard
    press(key)
    assert keys.read() == key
    keys.shown()
    press(f"{key}{key}d")
    assert keys.read() == "d"
    assert held == [(key, "it came twice at once")] * 2
    time.sleep(0.4)
    press("d")
    assert keys.read() == "d"


def test_a_key_that_came_before_its_question_is_held_back_and_said(keyboard):
    press, keys, held = keyboard
    press("sd")
    assert keys.read() == "s"
    keys.shown()
    assert held == [("d", "it came before the question")]
    press("s")
    assert keys.read() == "s"


class Quiet:
    """A screen that records what it is asked to show."""

    def __init__(self, replies):
        self._replies, self.notes = iter(replies), []

    def reply(self):
        return next(self._replies, Command("quit"))

    def __getattr__(self, name):
        return lambda *_: self.notes.append((name, *_)[:2])


@pytest.fixture
def asked_rows(tmp_path):
    """A session of ten rows, and its empty file of answers."""
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 5, axis=0) + np.random.RandomState(0).normal(
        size=(10, 2)
    )
    ids = [str(row) for row in range(10)]
    return Session(X, ids=ids, random_state=0, n_jobs=1), AnswerFile(tmp_path / "a.jsonl", ids)


def test_breaks_do_not_count_into_the_time_of_an_answer(asked_rows, monkeypatch):
    session, file = asked_rows
    now = [0.0]
    monkeypatch.setattr("clew.cli.asking._loop.time.monotonic", lambda: now[0])

    class Slow(Quiet):
        """Somebody who answers in 2 to 4 seconds, and takes a break of ten minutes."""

        def __init__(self):
            super().__init__(["same"] * 4)
            self._seconds = iter([2, 600, 4, 3])

        def reply(self):
            now[0] += next(self._seconds)
            return super().reply()

    prepared = Future()
    prepared.set_result(session)
    loop = AskLoop(prepared, file, Slow(), annotator="ann", n_wanted=4, seed=0)
    assert loop.progress.pace is None
    loop.run()
    assert loop.progress.seconds == 609
    assert loop.progress.pace == 3.5


def test_an_answer_counts_as_unsaved_until_it_is_written(asked_rows, monkeypatch):
    session, file = asked_rows
    screen = Quiet(["same"])
    prepared = Future()
    prepared.set_result(session)
    loop = AskLoop(prepared, file, screen, annotator="ann", n_wanted=None, seed=0)

    def fails(*_):
        raise OSError(28, "No space left on device", "a.jsonl")

    with monkeypatch.context() as patch:
        patch.setattr("clew.store.answer_file._append_line", fails)
        assert loop.run() is False
    assert loop.is_unsaved
    assert ("refused", f"{file.path}: No space left on device") in screen.notes
    screen._replies = iter(["same"])
    loop.run()
    assert not loop.is_unsaved
    assert len(file.standing) == 1


@pytest.mark.slow  # starts processes
def test_a_closed_terminal_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{at},{at % 2}.{at}" for at in range(12)]
    (tmp_path / "x.csv").write_text("\n".join(["id,x", *lines]))
    # Opening a terminal makes it that of the session, which gets SIGHUP when it closes.
    script = f': < "$(tty)"; exec {sys.executable} -m clew.cli ask "$@" 2> errors.txt'
    for n in (1, 2):
        # Standard error is a file: it is still there when the terminal is gone.
        terminal = Terminal("x.csv", "-j", "1", "--annotator", "ann", shell=script)
        terminal.until("Same thing.*same.*don't know")
        terminal.press("s")
        terminal.until("saved: same")
        assert terminal.close() == 128 + signal.SIGHUP
        errors = (tmp_path / "errors.txt").read_text()
        assert f"clew: interrupted; {n} answer" in errors
        assert "Traceback" not in errors
        assert words(tmp_path / "answers.jsonl") == ["same"] * n
