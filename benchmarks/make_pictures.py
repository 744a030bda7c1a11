"""Make the collection of pictures in ``clew.datasets``: images, kinds and simulated answers.

Run as ``python -m benchmarks.make_pictures FONT``, where FONT is NotoColorEmoji.ttf of the Debian
package ``fonts-noto-color-emoji``.
"""

import csv
import json
import sys
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clew import Answer, Session
from clew.answers import DIFFERENT, DONT_KNOW, SAME, entry_to_json
from clew.datasets import load_pictures
from clew.features import read_images
from clew.metrics import adjusted_rand_score

FOLDER = Path(__file__).parents[1] / "src" / "clew" / "datasets" / "pictures"
#: Bitmaps of the font have this size; images have `SIDE` pixels.
FONT_SIZE, CANVAS, SIDE, QUALITY = 109, 144, 128, 85
#: Characters of each kind, by name.
KINDS: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
#: Share of wrong answers of each person; people err twice as often where pictures look alike.
PEOPLE = {"ann": 0.04, "ben": 0.08, "eva": 0.06}
DONT_KNOW_RATE = 0.03
N_ANSWERS = 300
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def draw(font: Path) -> None:
    """Draw the images, and write their kinds."""
    glyphs = ImageFont.truetype(font, FONT_SIZE)
    rows = []
    for kind, characters in KINDS.items():
        for name, character in characters.items():
            image = Image.new("RGB", (CANVAS, CANVAS), "white")
            ImageDraw.Draw(image).text((4, 8), character, font=glyphs, embedded_color=True)
            small = image.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
            small.save(FOLDER / f"{name}.webp", quality=QUALITY, method=6)
            rows.append((f"{name}.webp", kind))
    with (FOLDER / "kinds.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", "kind"))
        writer.writerows(sorted(rows))


def answer() -> None:
    """Ask three simulated people, and write their answers."""
    pictures = load_pictures()
    images = read_images(pictures.folder)
    session = Session(images.X, ids=images.ids, random_state=0)
    random = np.random.RandomState(0)
    distances = np.linalg.norm(images.X[:, None] - images.X, axis=2)
    alike = distances < np.median(distances)
    clock = START
    with (FOLDER / "answers.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for number in range(N_ANSWERS):
            name = list(PEOPLE)[number // 20 % len(PEOPLE)]
            (question,) = session.ask(1, annotator=name)
            one, other = question.rows
            is_same = pictures.y[one] == pictures.y[other]
            rate = PEOPLE[name] * (4 / 3 if alike[one, other] else 2 / 3)
            value = SAME if is_same != (random.rand() < rate) else DIFFERENT
            if random.rand() < DONT_KNOW_RATE:
                value = DONT_KNOW
            ms = round(float(random.lognormal(np.log(1600), 0.5)))
            clock += timedelta(milliseconds=ms + 300)
            given = Answer(
                question, value, annotator=name, ms=ms,
                at=clock.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                id=sha256(f"pictures {number}".encode()).hexdigest()[:32],
                shown=tuple(question.ids or ()), source="benchmarks.make_pictures",
                origin=question.origin,
            )  # fmt: skip
            session.tell(given)
            file.write(entry_to_json(given) + "\n")
    score = adjusted_rand_score(pictures.y, session.result().labels_)
    print(f"{len(images.ids)} images, {N_ANSWERS} answers, ARI {score:.3f}")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    draw(Path(sys.argv[1]))
    answer()
