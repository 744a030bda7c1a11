"""Questions on a terminal: one on the screen at a time, answered by single keys."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Self

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from clew.answers import Answer
from clew.cli._rows import Rows
from clew.cli._words import counted, printable
from clew.cli.asking._lines import status_of, too_early
from clew.cli.asking._loop import EARLY, AskJob, AskProgress
from clew.cli.asking._pictures import SideBySide, cards, escape_of, protocol_of
from clew.cli.asking._replies import (
    BAD,
    BAD_COMMAND,
    BAD_KEY,
    FLAGS,
    HELP,
    HINTS,
    MOST_GROUPS,
    MOST_MEMBERS,
    QUIT,
    STRANGERS,
    Asked,
    Command,
    commands_of,
    help_of,
    keys_of,
    labels_of,
    meaning,
)
from clew.exceptions import ClewError
from clew.session import Session

QUESTIONS = {
    "pair": "Same thing?",
    "odd_one_out": "Which one is the odd one out?",
    "triplet": "Which one is more like the first?",
    "which_of": "To which group does the first belong?",
    "confirm": "Which of these do not belong to the group?",
}
LABELS = {
    "pair": ("1", "2"),
    "odd_one_out": ("1", "2", "3"),
    "triplet": ("the first", "1", "2"),
    "which_of": ("the first", *(f"group {number}" for number in range(1, MOST_GROUPS + 1))),
    "confirm": ("the group", *map(str, range(1, MOST_MEMBERS + 1))),
}
NAMES_OF_KEYS = {"\r": "Enter", "\n": "Enter", "\x1b": "Esc", " ": "the space bar"}
#: Lines around the cards.
N_OTHERS = 10
LEAST_LINES = 6


class Terminal:
    """Shows questions on a terminal, and reads keys."""

    def __init__(self, job: AskJob, items: Rows) -> None:
        self._console = Console(highlight=False)
        self._job, self._items = job, items
        self._protocol = protocol_of(job.images, os.environ, self._console.color_system)
        self._keys = Keys(self._redraw, self._held_back)
        self._file = SideBySide()
        self._shown: tuple[Asked, AskProgress] | None = None
        #: Numbers of the strangers on a screen of members, as they were ticked.
        self._ticked: list[str] = []
        self._note = ""
        if items.n_left_out:
            n = counted(items.n_left_out, "file")
            self._note = f"{n} cannot be read: listed above, scroll up"

    def __enter__(self) -> Self:
        self._keys.__enter__()
        # Many terminals erase the lines that a program clears. Empty lines move earlier messages
        # out of the window, where they can be read by scrolling up.
        self._console.print("\n" * self._console.height, end="")
        return self

    def __exit__(self, *_: object) -> None:
        self._shown = None
        self._keys.__exit__()
        self._file.close()
        with suppress(OSError):  # the terminal is gone
            sys.stdout.write("\n")
            sys.stdout.flush()

    def show(self, asked: Asked, progress: AskProgress) -> None:
        """Draw a question."""
        self._shown, self._ticked = (asked, progress), []
        self._redraw()
        self._note = ""
        self._keys.shown()

    def reply(self) -> str | Command:
        """Wait for a key that means something."""
        assert self._shown is not None
        while True:
            key = self._keys.read()
            asked = self._shown[0]
            text = "" if key in "\r\n" else key
            found = meaning(asked.question.kind, text, asked.n_groups)
            if key == "\x0c":
                self._redraw()
            elif found == BAD_COMMAND:
                if bad := self._bad_item():
                    return bad
            elif found == HELP:
                self._help(asked)
            elif asked.question.kind == "confirm" and isinstance(found, str) and STRANGERS in found:
                if found == STRANGERS:
                    return " ".join((STRANGERS, *self._ticked))
                if key in self._ticked:
                    self._ticked.remove(key)
                else:
                    self._ticked.append(key)
                self._redraw()
            elif found is not None and key != " ":
                return found

    def _help(self, asked: Asked) -> None:
        """List the keys until one is pressed."""
        shown, self._shown = self._shown, None
        self._console.clear()
        grid = Table.grid(padding=(0, 2, 0, 0))
        has_images = self._items.folder is not None
        for key, effect in help_of(asked.question.kind, asked.n_groups, has_images=has_images):
            grid.add_row(Text(key, style="bold"), Text(effect))
        self._console.print(Padding(grid, (1, 0, 1, 1)))
        self._last_line(Text(" any key: back to the question", style="bold"))
        self._keys.shown()
        self._keys.read()
        self._shown = shown
        self._redraw()

    def _bad_item(self) -> str:
        """Ask which item cannot be judged; empty if the person goes back."""
        assert self._shown is not None
        asked = self._shown[0]
        labels = labels_of(asked.question.kind, asked.n_groups)
        note = f" Which one cannot be judged? {', '.join(labels)} (any other key: back)"
        self._last_line(Text(note, style="bold"))
        key = self._keys.read()
        if key in labels:
            return f"{BAD}{key}"
        self._redraw()
        return ""

    def saved(self, asked: Asked, answer: Answer, progress: AskProgress) -> None:
        """Note what was saved; it is shown with the next question."""
        word = asked.word(answer.value)
        self._note = f"saved: {word}"

    def undone(self, answer: Answer | None, progress: AskProgress) -> None:
        """Note what was taken back."""
        self._note = "taken back: answer again" if answer else "there is no answer to take back"

    def refused(self, problem: str) -> None:
        """Note that an answer was not saved."""
        self._note = f"not saved: {problem}"

    def say(self, sentence: str) -> None:
        """Note a sentence."""
        self._note = sentence

    def _held_back(self, key: str, why: str) -> None:
        """Say in the last line that a key did not count, so that this does not look like a hang."""
        name = NAMES_OF_KEYS.get(key, key)
        note = f" {printable(name)} was held back, because {why}: press it again"
        self._last_line(Text(note, style="bold"))

    def wait(self) -> None:
        """Show in the last line that the next question is being prepared."""
        note = f"{self._note}   " if self._note else ""
        preparing = ("preparing the next question", "dim")
        self._last_line(Text.assemble((f" {note}", "bold"), preparing))

    def _last_line(self, text: Text) -> None:
        sys.stdout.write("\r\x1b[2K")
        self._console.print(text, no_wrap=True, overflow="ellipsis", end="")

    def open(self) -> None:
        """Open the images of the question in the system's viewer."""
        path = self._written()
        if path is not None:
            is_opened = click.launch(str(path)) == 0
            self._note = f"{'opened' if is_opened else 'no viewer was found; open'} {path}"

    def status(self, session: Session, progress: AskProgress) -> Answer | Command | None:
        """Show what is known; return the doubtful answer whose number is typed, or "quit"."""
        if early := too_early(progress):
            self._note = early
            return None
        self._shown = None
        console = self._console
        console.clear()
        with console.status("Looking at all answers"):
            status = status_of(session, progress)
        self._header(progress)
        grid = Table.grid(padding=(0, 2, 0, 0))
        for name, value in status.lines:
            grid.add_row(Text(name, style="dim"), Text(value))
        console.print(Padding(grid, (0, 0, 0, 1)))
        console.print()
        if status.doubts:
            console.print(Text(" Answers that look wrong", style="bold"))
            room = max(1, (console.height - len(status.lines) - 8) // 3)
            for at, (answer, why) in enumerate(status.doubts[:room], start=1):
                console.print(Text.assemble((f" {at}  ", "bold"), answer))
                console.print(Padding(Text(why, style="dim"), (0, 0, 0, 4)))
            console.print()
            last = min(room, len(status.doubts))
            self._bar(
                [("1" if last == 1 else f"1-{last}", "take back")],
                [("Enter", "go on"), ("q", "quit")],
            )
        else:
            console.print(Text(" No answer looks wrong."))
            console.print()
            self._bar([], [("Enter", "go on"), ("q", "quit")])
        self._keys.shown()
        while True:
            key = self._keys.read()
            if key.isdecimal() and 0 < int(key) <= len(status.doubts):
                return status.result.doubtful_[int(key) - 1].answer
            if key in ("q", END):
                return QUIT
            if key in ("\r", "\n", ESCAPE, " "):
                return None

    def _redraw(self) -> None:
        """Draw the question anew."""
        if self._shown is None:
            return
        asked, progress = self._shown
        console, question = self._console, asked.question
        console.clear()
        self._header(progress)
        hint = f"  {HINTS[question.kind]}" if question.kind in HINTS else ""
        console.print(Text.assemble((f" {QUESTIONS[question.kind]}", "bold"), (hint, "dim")))
        console.print()
        self._draw(asked)
        console.print()
        keys = [(key.key, key.label) for key in keys_of(question.kind, asked.n_groups)]
        has_images = self._items.folder is not None
        self._bar(keys, commands_of(has_images=has_images, n_answers=progress.n_answers))
        self._bar([], [(key.key, key.label) for key in (*FLAGS, BAD_KEY)] + [("h", "keys")])
        if early := too_early(progress):
            left = "" if self._note == early else f"after {EARLY} answers: how sure the groups are"
        else:
            left = progress.left or "estimating how many are left"
            left += "    Enter: how sure the groups are"
        text = Text(f" {self._note}   " if self._note else " ", style="bold")
        text.append(left, style="not bold dim")
        self._console.print(text, no_wrap=True, overflow="ellipsis", end="")

    def _draw(self, asked: Asked) -> None:
        """Draw the items of a question."""
        console, items = self._console, self._items
        height = max(LEAST_LINES, console.height - N_OTHERS)
        # Groups are shown by their first examples: there is little room.
        rows, labels = list(asked.heads), []
        for at, label in enumerate(LABELS[asked.question.kind][: len(rows)]):
            labels.append(f"✗ {label}" if label in self._ticked else label)
            if asked.examples and asked.is_with_examples(at):
                labels.append(f"with {label}")
                rows.insert(at + 1, asked.examples[0])
        folder = items.folder
        if folder is not None and self._protocol in ("kitty", "iterm"):
            paths = [items.path(row) for row in rows]
            columns = min(console.width, 2 * (height - 3) * len(paths))
            try:
                escape = escape_of(self._protocol, paths, columns, height - 3)
            except (ClewError, OSError) as error:
                escape = f"{error}\n"
            sys.stdout.write(escape)
            sys.stdout.flush()
            height = 3
        console.print(cards(items, rows, labels, console.width - 1, height, self._protocol))
        if folder is not None and self._protocol == "file":
            console.print(Text(f" together in {self._written()}"), soft_wrap=True)

    def _written(self) -> Path | None:
        """Write the images of the question side by side."""
        folder = self._items.folder
        if self._shown is None or folder is None:
            return None
        try:
            rows = self._shown[0].heads
            return self._file.write([self._items.path(row) for row in rows])
        except (ClewError, OSError) as error:
            self._note = str(error)
            return None

    def _header(self, progress: AskProgress) -> None:
        name = printable(self._job.items.name or str(self._job.items))
        minutes, seconds = divmod(int(progress.seconds), 60)
        clock = f"{minutes}:{seconds:02}"
        n = counted(progress.n_answers, "answer")
        if progress.n_wanted:
            n += f", {progress.n_now} of {progress.n_wanted} now"
        right = " · ".join(part for part in (self._job.annotator, n, clock) if part)
        room = self._console.width - len(right) - 8
        left = f" clew  {name[: max(room, 3)]}"
        space = max(1, self._console.width - len(left) - len(right) - 2)
        self._console.print(
            Text.assemble((left[:6], "bold"), left[6:], " " * space, (right, "dim")), no_wrap=True
        )
        self._console.rule(style="dim")

    def _bar(self, answers: list[tuple[str, str]], others: list[tuple[str, str]]) -> None:
        """Print the keys and what they do."""
        text = Text(" ")
        for key, label in answers:
            text.append(f" {key} ", style="bold reverse")
            text.append(f" {label}   ")
        text.append(" ")
        for key, label in others:
            text.append(f"{key}", style="bold")
            text.append(f" {label}   ", style="dim")
        self._console.print(text)


#: The key that was pressed last is held back if it comes again sooner than `TOO_SOON` seconds after
#: a question is shown, or sooner than `HELD` seconds after itself. Any other key counts at once.
TOO_SOON, HELD = 0.35, 0.12
ESCAPE, END = "\x1b", "\x04"


class Keys:
    """Reads keys as they are pressed, within a ``with`` block."""

    def __init__(self, redraw: Callable[[], None], held_back: Callable[[str, str], None]) -> None:
        self._redraw, self._held_back = redraw, held_back
        self._input = sys.stdin.fileno()
        self._saved: Any = None
        self._handlers: dict[int, Any] = {}
        self._last, self._last_at, self._shown_at = "", 0.0, 0.0

    def __enter__(self) -> Self:
        self._saved = termios.tcgetattr(self._input)
        tty.setcbreak(self._input)
        for name in ("SIGWINCH", "SIGCONT"):
            number = getattr(signal, name)
            self._handlers[number] = signal.signal(number, self._changed)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        try:
            termios.tcsetattr(self._input, termios.TCSAFLUSH, self._saved)
        except (termios.error, OSError):  # the terminal is gone
            return

    def shown(self) -> None:
        """Hold back the keys that were typed before a question was shown."""
        early = ""
        while select.select([self._input], [], [], 0)[0]:
            early = self._key()
            if early == END:
                break
        self._shown_at = time.monotonic()
        if early and early != END:
            self._last, self._last_at = early, self._shown_at
            self._held_back(early, "it came before the question")

    def read(self) -> str:
        """Wait for a key that counts, and return it; the end of the input is Ctrl-D."""
        while True:
            key, now = self._key(), time.monotonic()
            is_again = key == self._last and key != END
            is_soon = now - self._last_at < HELD or now - self._shown_at < TOO_SOON
            self._last, self._last_at = key, now
            if not (is_again and is_soon):
                return key
            self._held_back(key, "it came twice at once")

    def _key(self) -> str:
        try:
            data = os.read(self._input, 1)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            return END
        if data == ESCAPE.encode():
            # The rest of an escape sequence, such as that of an arrow key.
            while select.select([self._input], [], [], 0.02)[0]:
                if os.read(self._input, 1).isalpha():
                    break
            return ESCAPE
        n_more = sum(data[0] >= first for first in (0xC0, 0xE0, 0xF0))
        for _ in range(n_more):
            data += os.read(self._input, 1)
        return data.decode("utf-8", "replace")

    def _changed(self, number: int, _: FrameType | None) -> None:
        # A terminal that closes sends SIGCONT after SIGHUP, and cannot be drawn on any more.
        with suppress(termios.error, OSError):
            if number == getattr(signal, "SIGCONT", None):
                tty.setcbreak(self._input)
            self._redraw()
