"""Take the pictures of ``clew ask`` in the documentation: ``python -m benchmarks.app.terminal``."""

import fcntl
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from PIL import Image
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from benchmarks.app._served import chromium, pictures_in
from clew.datasets import load_pictures

FOLDER = Path(__file__).parents[2] / "docs" / "_static"
ASK = (sys.executable, "-m", "clew.cli", "ask", "photos", "--annotator", "ann")
ROWS, COLUMNS = 24, 84
N_ANSWERS = 100
#: Answers that are wrong on purpose, by number.
WRONG = (40, 70)
INK, PAPER = (34, 32, 29), (252, 251, 247)
GRAY = [(120, 118, 112)] * 8
THEME = TerminalTheme(PAPER, INK, GRAY, GRAY)
#: What a program sends to clear the screen.
CLEARED = re.compile(r"\x1b\[2J\x1b\[H|\x1b\[H\x1b\[2J")


def answer(place: Path) -> None:
    """Answer questions about pictures as somebody who knows, and errs twice."""
    known = load_pictures()
    kind_of = dict(zip(known.ids, known.y.tolist(), strict=True))
    asking = subprocess.Popen(
        [*ASK, "--json", "-q"], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert asking.stdin is not None
    assert asking.stdout is not None
    for line in asking.stdout:
        asked = json.loads(line)
        if "question" not in asked:
            continue
        if asked["question"] > N_ANSWERS:
            break
        i, j = asked["items"]
        is_same = (kind_of[i] == kind_of[j]) != (asked["question"] in WRONG)
        asking.stdin.write("same\n" if is_same else "different\n")
        asking.stdin.flush()
    asking.communicate("quit\n", timeout=60)


def screens(place: Path, steps: list[tuple[str, str]]) -> list[str]:
    """Wait for patterns on a terminal, each after its keys; return the screen at each."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment.pop("TMUX", None)
    asking = subprocess.Popen(
        [*ASK, "--images", "blocks", "-q"], cwd=place, env=environment,
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True, close_fds=True,
    )  # fmt: skip
    os.close(slave)
    found = []
    for keys, pattern in steps:
        os.write(master, keys.encode())
        seen, end = "", monotonic() + 120
        while not re.search(pattern, seen := CLEARED.split(seen)[-1], re.DOTALL):
            assert monotonic() < end, f"no {pattern!r} in {seen!r}"
            if select.select([master], [], [], 0.2)[0]:
                seen += os.read(master, 1 << 16).decode("utf-8", "replace")
        sleep(0.5)
        found.append(seen)
    os.write(master, b"q")
    asking.wait(60)
    os.close(master)
    return found


def drawn(browser: Any, screen: str) -> Image.Image:
    """Draw a screen as a window."""
    console = Console(
        record=True, file=io.StringIO(), width=COLUMNS, color_system="truecolor",
        force_terminal=True,
    )  # fmt: skip
    console.print(Text.from_ansi(screen.replace("\r\n", "\n").rstrip() + "\n"), soft_wrap=True)
    page = browser.new_page(viewport={"width": 1044, "height": 900})
    page.set_content(
        "<style>body { margin: 0; background: #fcfbf7 } svg { width: 1044px; display: block }"
        f"</style>{console.export_svg(title='clew ask', theme=THEME)}"
    )
    shot = page.locator("svg").first.screenshot()
    page.close()
    return Image.open(io.BytesIO(shot)).convert("RGB")


def main() -> None:
    """Ask about the pictures that clew ships, and draw what a terminal shows."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        place = Path(folder)
        pictures_in(place / "photos")
        first = ("", "Same thing.*h.*keys.*how sure the groups are")
        (question,) = screens(place, [first])
        answer(place)
        _, status = screens(place, [first, ("\r", "advice.*Enter.*quit")])
        picture = drawn(browser, question)
        picture.save(FOLDER / "ask.png", optimize=True)
        height = round(880 * picture.height / picture.width)
        card = Image.new("RGB", (880, 550), PAPER)
        small = picture.resize((880, height), Image.Resampling.LANCZOS)
        card.paste(small, (0, max(0, (550 - height) // 2)))
        card.save(FOLDER / "card_ask.png", optimize=True)
        status = status.rpartition("\x1b[2K")[2]  # after what is shown while it is computed
        drawn(browser, status).save(FOLDER / "ask_status.png", optimize=True)


if __name__ == "__main__":
    main()
