"""Every command of the page of newcomers runs as it is typed, in the order of the page."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from tests.cli.projects import clew

pytestmark = pytest.mark.usefixtures("small_search")

PAGE = Path(__file__).parents[2] / "docs" / "first_ten_minutes.md"
COLORS = ((178, 34, 34), (0, 0, 128), (46, 139, 87))
N_EACH = 8


def commands(part):
    """Return the lines of the blocks of a part of the page."""
    text = PAGE.read_text(encoding="utf-8").split(f"({part}-path)=")[1].split("-path)=")[0]
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture
def follow(here, monkeypatch):
    """Type the commands of a part; `clew ask` reads words in turns."""
    monkeypatch.setenv("CLEW_ASK_ANNOTATOR", "ann")

    def typed(part):
        outputs = {}
        for line in commands(part):
            word, *arguments = shlex.split(line)
            if word == "cd":
                monkeypatch.chdir(arguments[0])
                continue
            assert word == "clew"
            done = clew(
                *arguments, input=None if arguments[0] != "ask" else "same\ndifferent\n" * 20
            )
            assert done.exit_code in ((0, 3) if arguments[0] == "ask" else (0,)), (
                f"{line}\n{done.output}\n{done.exception!r}"
            )
            outputs[line] = done
        return outputs

    return typed


def drawn(path, at, rng):
    """Draw a picture of one of three kinds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    color = tuple(np.clip(np.array(COLORS[at]) + rng.integers(-20, 20, 3), 0, 255).tolist())
    image = Image.new("RGB", (64, 48), "white")
    draw = ImageDraw.Draw(image)
    shape = (draw.ellipse, draw.rectangle, draw.polygon)[at]
    x, y = rng.integers(4, 20, 2).tolist()
    box = [x, y, x + 30, y + 24]
    shape([(x, y), (x + 30, y + 4), (x + 10, y + 24)] if at == 2 else box, fill=color)
    image.save(path)
    return box


def pictures(folder, rng):
    return [
        (f"{at}{number}.jpg", at, drawn(folder / f"{at}{number}.jpg", at, rng))
        for at in range(3)
        for number in range(N_EACH)
    ]


@pytest.mark.slow
def test_a_biologist(follow, here):
    found = pictures(here / "photos", np.random.default_rng(0))
    lines = ["id,path,x,y,width,height"]
    lines += [
        f"whale {number},{name},{box[0]},{box[1]},{box[2] - box[0]},{box[3] - box[1]}"
        for number, (name, _, box) in enumerate(found)
    ]
    (here / "photos" / "boxes.csv").write_text("\n".join(lines) + "\n")
    outputs = follow("photos")
    assert "24 items" in outputs["clew status"].stdout
    copies = list((here / "sorted").rglob("*.jpg"))
    assert len(copies) == len(found)
    assert len(list((here / "crops").rglob("*.jpg"))) == len(found)
    assert (here / "photos-monday" / ".clew" / "clew.db").is_file()


def customers(folder, n, rng):
    """Write a messy table of customers of three segments, and answers about them."""
    kinds = rng.integers(0, 3, n)
    lines = ["id;segment;spent;since;city;note"]
    for row, kind in enumerate(kinds.tolist()):
        spent = f"${rng.normal(100 + 900 * kind, 60):,.2f}" if rng.random() > 0.05 else "n/a"
        since = f"20{10 + 4 * kind:02}-0{rng.integers(1, 9)}-11" if rng.random() > 0.1 else ""
        city = ("Oslo", "Bergen", "Tromsø")[kind if rng.random() > 0.2 else rng.integers(3)]
        lines.append(f"c{row:04};{'abc'[kind]};{spent};{since};{city};ok")
    (folder / "customers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pairs = rng.integers(0, n, (120, 2))
    table = ["kind,id_i,id_j,answer"] + [
        f"pair,c{i:04},c{j:04},{'same' if kinds[i] == kinds[j] else 'different'}"
        for i, j in pairs.tolist()
        if i != j
    ]
    (folder / "answers.csv").write_text("\n".join(table) + "\n")


@pytest.mark.parametrize("n", [80, pytest.param(1500, marks=pytest.mark.slow)])
def test_an_analyst(follow, here, n):
    customers(here, n, np.random.default_rng(1))
    outputs = follow("table")
    assert f"{n:,} items" in outputs["clew status --project customers"].stdout
    with open(here / "groups.csv", encoding="utf-8") as file:
        assert sum(1 for _ in file) == n + 1
    assert (here / "groups.parquet").stat().st_size > 0


@pytest.mark.slow
def test_somebody_with_vectors(follow, here):
    rng = np.random.default_rng(2)
    found = pictures(here / "faces", rng)
    order = rng.permutation(len(found))
    X = np.array([np.eye(3)[found[row][1]] * 5 + rng.normal(size=3) for row in order])
    np.save(here / "X.npy", X)
    (here / "ids.txt").write_text("".join(f"{found[row][0]}\n" for row in order))
    follow("vectors")
    assert (here / "everything" / "vectors" / "0001.npy").is_file()
    assert (here / "groups.jsonl").read_text().count("\n") == len(found)
