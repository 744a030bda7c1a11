"""The work of ``clew demo``: an experiment with images and its report, or questions to you."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import AgglomerativeClustering

from clew._files import csv_text
from clew._parallel import in_threads, one_library_thread
from clew.answers import ANSWER_WORDS, SAME, Question
from clew.cli._grouping import summarize
from clew.cli._groups import Groups, doubtful_csv, find_groups, groups_csv
from clew.cli._options import add_collection
from clew.cli._outputs import check_folder, write_folder
from clew.cli._report import Findings, report_page
from clew.cli._rows import Rows
from clew.cli._words import Advance, Words, counted
from clew.cli.report import Strip, dot_plot, png, probability_means, shades
from clew.cluster import GuidedClustering
from clew.collections import Project, read_collection
from clew.constraints import Constraints
from clew.datasets import load, load_pictures
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle

Figures = dict[str, Any]

N_DIGITS = 10
#: Width and height of a digit's image, and the value of a black pixel.
SIDE, BLACK = 8, 16
#: What is compared: keys of the figures, and words for people.
METHODS = {"ari_no_answers": "no answers", "ari_ward": "Ward linkage", "ari": "clew"}
#: Packages of which the report has the versions, beside clew's.
PACKAGES = ("numpy", "scikit-learn", "numba")
#: The collage: its colors, margin, zoom, images in a line, lines for each group, and pixels between
#: images and between groups.
PAPER, INK, THREAD = map(np.array, ([251, 250, 247], [38, 34, 31], [156, 70, 48]))
MARGIN, ZOOM, N_COLUMNS, N_LINES, GAP, BAND = 28, 2, 40, 3, 2, 10


@dataclass(frozen=True, slots=True)
class Setting:
    """The size of the experiment."""

    seeds: int = 3
    n_answers: int = 1000
    error: float = 0.1
    jobs: int = -1


class Outcome(NamedTuple):
    """The scores of all seeds, and all else of seed 0."""

    X: NDArray[np.float64]
    """Images, (n_images, 64), from 0 for white to 16 for black."""
    y: NDArray[np.int64]
    """The digit that each shows."""
    scores: dict[str, list[float]]
    """Adjusted Rand index by method of `METHODS` and seed."""
    answers: Constraints
    wrong: NDArray[np.bool_]
    """Whether each answer is wrong, (n_answers,)."""
    model: GuidedClustering
    groups: Groups


def run(setting: Setting, folder: Path, *, quiet: bool) -> tuple[Figures, Callable[[], None]]:
    """Do the experiment and write the files; return its ``--json``, and a printer of its table."""
    start = time.perf_counter()
    words = Words(quiet=quiet)
    check_folder(folder)
    with words.bar("Fitting clusterings") as advance:
        outcome = experiment(setting, advance)
    figures = _figures(outcome)
    figures["seconds"] = round(time.perf_counter() - start, 2)
    ids = [f"{row:04}_{digit}.png" for row, digit in enumerate(outcome.y.tolist())]
    pixels = (255 * (1 - _images(outcome.X))).round().astype(np.uint8)[..., None]
    answers = outcome.answers
    code_words = {code: word for word, code in ANSWER_WORDS["pair"].items()}
    pairs = zip(answers.pairs.tolist(), answers.pair_answers.tolist(), strict=True)
    lines = [("pair", ids[i], ids[j], code_words[code]) for (i, j), code in pairs]
    write_folder(
        folder,
        {
            "answers.csv": csv_text(("kind", "id_i", "id_j", "answer"), lines),
            "report.html": _page(outcome, setting, figures, folder, ids, pixels),
            "groups.csv": groups_csv(ids, outcome.groups),
            "doubtful.csv": doubtful_csv(ids.__getitem__, answers, outcome.groups.doubted),
            "demo.png": collage(outcome),
        },
        {name: png(image) for name, image in zip(ids, pixels, strict=True)},
    )
    words.say(
        f"wrote {folder / 'report.html'}, groups.csv, demo.png, and what was grouped: images and "
        "answers.csv"
    )
    return figures, partial(_show, outcome, figures)


def experiment(setting: Setting, advance: Advance) -> Outcome:
    """Group the images with each seed."""
    digits = load("digits")
    X, y = np.asarray(digits.X), digits.y
    n_fits = 1 + 2 * setting.seeds
    ward = adjusted_rand_score(y, ward_labels(X))
    advance(1, n_fits)

    def fitted(task: tuple[int, Constraints | None]) -> GuidedClustering:
        seed, answers = task
        return GuidedClustering(N_DIGITS, random_state=seed).fit(X, constraints=answers)

    asked = [ask(y, setting, seed) for seed in range(setting.seeds)]
    tasks = [(seed, used) for seed, answers in enumerate(asked) for used in (None, answers)]
    with one_library_thread():
        models = in_threads(
            fitted, tasks, n_jobs=setting.jobs, callback=lambda done, _: advance(done + 1, n_fits)
        )
    scores = {
        "ari_no_answers": [adjusted_rand_score(y, model.labels_) for model in models[::2]],
        "ari_ward": [ward] * setting.seeds,
        "ari": [adjusted_rand_score(y, model.labels_) for model in models[1::2]],
    }
    first, answers = models[1], asked[0]
    is_same = y[answers.pairs[:, 0]] == y[answers.pairs[:, 1]]
    wrong = is_same != (answers.pair_answers == SAME)
    return Outcome(X, y, scores, answers, wrong, first, find_groups(first, X, answers))


def ask(y: NDArray[np.int64], setting: Setting, seed: int) -> Constraints:
    """Ask simulated people about random pairs, each pair once."""
    pairs = Constraints.from_labels(y, setting.n_answers, random_state=seed).pairs
    people = SimulatedOracle(y, error=setting.error, random_state=seed)
    answers = people.answer_all([Question("pair", (i, j)) for i, j in pairs.tolist()])
    nameless = [replace(answer, annotator="") for answer in answers]
    return Constraints.from_answers(nameless, n_samples=len(y))


def ward_labels(X: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the groups of Ward linkage."""
    labels: NDArray[np.int64] = AgglomerativeClustering(N_DIGITS, linkage="ward").fit_predict(X)
    return labels


def _figures(outcome: Outcome) -> Figures:
    doubted = [answer.at for answer in outcome.groups.doubted]
    means = {name: round(float(np.mean(outcome.scores[name])), 4) for name in METHODS}
    return means | {
        "answers": len(outcome.wrong),
        "wrong": int(outcome.wrong.sum()),
        "doubted": len(doubted),
        "doubted_wrong": int(outcome.wrong[doubted].sum()),
    }


def _page(
    outcome: Outcome,
    setting: Setting,
    figures: Figures,
    folder: Path,
    ids: list[str],
    pixels: NDArray[np.uint8],
) -> str:
    """Return the report of ``clew group``, with the scores of all methods before it."""
    summary = summarize(outcome.model, outcome.groups, outcome.answers, outcome.X.shape[1])
    summary |= {"method": "guided", "seed": 0, "seconds": figures["seconds"]}
    items = Rows.without_columns(outcome.X, ids, [], pixels=pixels)
    seeds = "seed 0" if setting.seeds == 1 else f"seeds 0 to {setting.seeds - 1}"
    made = {
        "Data": "scikit-learn's digits, 8 × 8 pixels (UCI Optical Recognition of Handwritten "
        "Digits, test set); clew groups the pixels",
        "Answers": f"{setting.n_answers:,} random pairs, each asked once; an answer is wrong with "
        f"probability {setting.error:g}",
        "No answers": "the same without answers",
        "Ward linkage": "scikit-learn's AgglomerativeClustering of the pixels, into 10 groups",
        "Repeats": f"{seeds}, each with other questions and errors; all but the scores is about "
        "seed 0",
        "Packages": ", ".join(f"{package} {version(package)}" for package in PACKAGES),
    }
    found = Findings(
        items, outcome.X, outcome.answers, outcome.model, outcome.groups, summary,
        folder / "images", made,
    )  # fmt: skip
    n_answers = f"{figures['answers']:,}"
    return report_page(
        found,
        is_number_chosen=False,
        first=("figures", "Figures", "What the answers add"),
        brand="clew demo",
        heading=f"{len(ids):,} handwritten digits, grouped with the help of {n_answers} answers",
        lead=f"Simulated people saw {n_answers} random pairs of images and answered: the same "
        f"digit, or different? {figures['wrong']} answers are wrong. clew knows neither which "
        "answers are wrong nor which digit an image shows. The name of an image ends in its digit, "
        "so that you can see what clew found.",
        scores=_scores(outcome, figures),
        command=f"clew demo --seeds {setting.seeds} --n-answers {setting.n_answers} "
        f"--error {setting.error:g}",
    )


def _scores(outcome: Outcome, figures: Figures) -> dict[str, Any]:
    """Return the scores of all methods and seeds as a dot plot, and counts of doubted answers."""
    scores = outcome.scores
    low = min(0.9, float(np.floor(10 * min(map(min, scores.values())))) / 10)
    n_seeds = len(scores["ari"])
    repeats = "One seed." if n_seeds == 1 else f"A dot is one of {n_seeds} seeds, a bar their mean."
    strips = []
    for name, words in METHODS.items():
        deviation = f" ± {np.std(scores[name], ddof=1):.3f}" if n_seeds > 1 else ""
        mean = float(np.mean(scores[name]))
        text = f"{mean:.3f}{deviation}"
        strips.append(Strip(words, scores[name], text, None, mean, is_marked=name == "ari"))
    return {
        "plot": dot_plot(strips, low),
        "caption": "Agreement of the groups with the digits: adjusted Rand index, 0 for random "
        f"groups and 1 for perfect ones. {repeats} The lines begin at {low:.1f}.",
        "figures": [
            (str(figures["doubted"]), "answers look wrong to clew"),
            (str(figures["doubted_wrong"]), "of these are wrong"),
            (str(figures["wrong"]), f"of all {figures['answers']:,} answers are wrong"),
        ],
    }


def _show(outcome: Outcome, figures: Figures) -> None:
    """Print the figures as a table."""
    from rich.console import Console
    from rich.table import Table

    n_seeds = len(outcome.scores["ari"])
    repeats = "1 seed" if n_seeds == 1 else f"{n_seeds} seeds"
    table = Table(title=f"Adjusted Rand index, {repeats}")
    table.add_column("method")
    for column in ("mean", "SD", "lowest", "highest"):
        table.add_column(column, justify="right")
    for name, words in METHODS.items():
        scores = np.array(outcome.scores[name])
        deviation = f"{scores.std(ddof=1):.3f}" if n_seeds > 1 else "–"
        cells = (f"{scores.mean():.3f}", deviation, f"{scores.min():.3f}", f"{scores.max():.3f}")
        table.add_row(words, *cells, style="bold" if name == "ari" else None)
    console = Console()
    console.print(table)
    console.print(
        f"{figures['answers']} answers, {figures['wrong']} of them wrong (first seed). "
        f"clew doubts {figures['doubted']}, of which {figures['doubted_wrong']} are wrong."
    )
    console.print(f"{figures['seconds']:.1f} seconds.")


def _images(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reshape rows of features to images, (n, 8, 8), from 0 for white to 1 for black."""
    return X.reshape(-1, SIDE, SIDE) / BLACK


def collage(outcome: Outcome) -> bytes:
    """Return some images of each group, its mean image and the affinities, as a PNG."""
    label, y = outcome.groups.label, outcome.y
    by_confidence = np.argsort(-outcome.groups.confidence, kind="stable")
    members = [by_confidence[label[by_confidence] == group] for group in np.unique(label)]
    order = sorted(members, key=lambda rows: (np.bincount(y[rows]).argmax(), -len(rows)))
    bands = [_band(outcome, rows) for rows in order]
    left = np.vstack([part for band in bands for part in (band, _blank(BAND, band.shape[1]))])
    left = left[:-BAND]
    means = probability_means(outcome.model.probabilities_, np.concatenate(order), len(left))
    opacity = shades(means)
    nearest = np.arange(len(left)) * len(opacity) // len(left)
    right = _mixed(opacity[np.ix_(nearest, nearest)], THREAD)
    picture = np.hstack([left, _blank(len(left), MARGIN), right])
    framed = np.full((len(left) + 2 * MARGIN, picture.shape[1] + 2 * MARGIN, 3), PAPER, np.uint8)
    framed[MARGIN:-MARGIN, MARGIN:-MARGIN] = picture
    return png(framed)


def _band(outcome: Outcome, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Draw a group's mean image and its images, the most certain first, other digits colored."""
    n_shown = min(len(rows), N_COLUMNS * N_LINES)
    shown = rows[np.linspace(0, len(rows) - 1, n_shown).astype(int)]
    cell = SIDE * ZOOM + 2 * GAP
    ink = np.zeros((N_LINES * cell, N_COLUMNS * cell))
    is_marked = np.zeros(ink.shape, bool)
    is_other = outcome.y[shown] != np.bincount(outcome.y[rows]).argmax()
    for at, image in enumerate(_zoomed(_images(outcome.X[shown]), ZOOM)):
        top, left = GAP + at // N_COLUMNS * cell, GAP + at % N_COLUMNS * cell
        ink[top : top + len(image), left : left + len(image)] = image
        is_marked[top : top + len(image), left : left + len(image)] = is_other[at]
    mean = _images(outcome.X[rows].mean(axis=0, keepdims=True))
    zoom = len(ink) // SIDE
    title = np.zeros((len(ink), len(ink)))
    title[: zoom * SIDE, : zoom * SIDE] = _zoomed(mean, zoom)[0]
    sheet = np.where(is_marked[..., None], _mixed(ink, THREAD), _mixed(ink, INK))
    return np.hstack([_mixed(title, INK), _blank(len(ink), BAND), sheet])


def _zoomed(pictures: NDArray[np.float64], zoom: int) -> NDArray[np.float64]:
    return pictures.repeat(zoom, axis=1).repeat(zoom, axis=2)


def _mixed(opacity: NDArray[np.float64], color: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Blend a color with that of the paper; `opacity` is its share."""
    mixture = PAPER + opacity[..., None] * (color - PAPER)
    return np.asarray(mixture.round(), dtype=np.uint8)


def _blank(height: int, width: int) -> NDArray[np.uint8]:
    return np.full((height, width, 3), PAPER, np.uint8)


#: The exit status of ``clew ask`` if there is nothing left to ask.
NOTHING_LEFT = 3


def ask_and_group(
    ctx: click.Context, folder: Path, *, n: int, jobs: int, quiet: bool
) -> tuple[int, dict[str, Any]]:
    """Ask a person, group the pictures, write a report; return exit status and JSON."""
    words = Words(quiet=quiet)
    check_folder(folder)
    pictures = load_pictures()
    project = _project(folder / "pictures", pictures.folder)
    place = project.folder.parent
    words.say(
        f"{len(pictures.ids)} pictures in {place}: say which are the same kind of thing; q ends"
    )
    status = _called(ctx, "ask", "-p", place, "-n", n, "-j", jobs, "-q")
    if status not in (0, NOTHING_LEFT):
        return status, {}
    report = folder / "report.html"
    files = ("-o", folder / "groups.csv", "--report", report)
    with redirect_stdout(io.StringIO()):  # its status, for which there is a line below
        _called(ctx, "group", "-p", place, "-j", jobs, "-q", *files)
    with project.open_store() as store:
        result, n_answers = store.result(), store.counts().n_answers
    assert result is not None
    kind_of = dict(zip(pictures.ids, pictures.y.tolist(), strict=True))
    kinds = [kind_of[name] for name in result.body["ids"]]
    found: dict[str, Any] = {
        "answers": n_answers,
        "groups": len(set(result.body["group_ids"])),
        "kinds": len(pictures.class_names),
        "ari": round(float(adjusted_rand_score(kinds, result.body["labels"])), 4),
        "report": str(report),
    }
    words.say(
        f"{counted(found['groups'], 'group')} after {counted(found['answers'], 'answer')}; "
        f"adjusted Rand index with the {found['kinds']} kinds of the pictures: {found['ari']:.2f}"
    )
    words.say(f"wrote {report}; go on with clew ask -p {place}, or again with clew demo --ask")
    return 0, found


def _called(ctx: click.Context, name: str, *arguments: object) -> int:
    """Run another command of clew, and return its exit status."""
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    command = root.command.commands[name]
    try:
        with command.make_context(name, list(map(str, arguments)), parent=root) as made:
            command.invoke(made)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return 0


def _project(place: Path, source: Path) -> Project:
    """Copy the pictures, and make a project of them, unless an earlier call has done so."""
    if (place / ".clew").is_dir():
        return Project.open(place)
    place.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.suffix == ".webp" or path.name == "LICENSE":
            shutil.copy(path, place / path.name)
    project = Project.create(place, name="pictures")
    with project.open_store() as store:
        add_collection(project, store, read_collection(place, kind="image"))
    return project
