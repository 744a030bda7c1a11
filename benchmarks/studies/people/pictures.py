"""Pictures of what clew finds in people's answers, fitted when they are drawn."""

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.studies.people.answers import People, load
from benchmarks.studies.people.baselines import agreement, net_counts
from benchmarks.study import pictures
from benchmarks.study.problems import Floats, Ints
from clew import cluster, similarity

#: Colors of pairs by the number of people who called them the same.
VOTES = {3: pictures.BLUE, 2: pictures.SKY, 1: pictures.ORANGE, 0: pictures.RED}


def car_space() -> Any:
    """Draw the photographs of 60 cars at their positions, in frames colored by group."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    cars = load("car60_as_triplets")
    space = similarity.OrdinalEmbedding(2, random_state=0).fit(constraints=cars.constraints())
    at = space.embedding_
    group = KMeans(4, n_init=10, random_state=0).fit_predict(at)
    figure, grid = pictures.panels(1, 1, figsize=(8, 7))
    panel = grid[0, 0]
    colors = (pictures.BLUE, pictures.RED, pictures.GREEN, pictures.ORANGE)
    drawn = _apart(at, 0.08 * np.ptp(at))
    for row, place in enumerate(drawn):
        frame = {"edgecolor": colors[group[row]], "linewidth": 2.5}
        photo = OffsetImage(cars.pixels[row], zoom=1.0, interpolation="bilinear")
        panel.add_artist(AnnotationBbox(photo, place, pad=0.1, bboxprops=frame))
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    margin = 0.09 * (high - low)
    (left, bottom), (right, top) = low - margin, high + margin
    panel.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
    panel.set_title("60 cars, placed by 14,194 answers of 146 people; frames: four groups")
    return figure


def _apart(places: Any, least: float, n_steps: int = 60) -> Any:
    """Push apart places that are nearer than `least`, so that few pictures overlap."""
    moved = np.array(places)
    for _ in range(n_steps):
        difference = moved[:, None] - moved
        distance = np.linalg.norm(difference, axis=2) + np.eye(len(moved)) * 9 * least + 1e-9
        push = np.maximum(least - distance, 0) / distance
        moved += 0.25 * (push[:, :, None] * difference).sum(axis=1)
    return moved


def restaurant_groups() -> Any:
    """Draw the sizes of groups of restaurant records, and the two largest with their answers."""
    records = load("crowder_restaurant")
    known = records.constraints()
    model = cluster.GuidedClustering(random_state=0).fit(constraints=known)
    sizes = np.bincount(model.labels_)
    net, number = net_counts(known)
    figure, grid = pictures.panels(1, 3, figsize=(11.5, 3.8), width_ratios=[0.8, 1.4, 1])
    panel, counts = grid[0, 0], np.bincount(sizes)
    bars = panel.bar(np.arange(len(counts)), counts, color=pictures.GRAY)
    panel.bar_label(bars, [str(count or "") for count in counts], fontsize=8)
    panel.set_yscale("symlog", linthresh=1)
    panel.set_ylim(0, 4 * counts.max())
    panel.set_xticks(np.flatnonzero(counts))
    title = f"{len(sizes)} groups of {len(model.labels_)} records"
    pictures.tidied(panel, title, "records in a group", "groups")
    largest = np.argsort(-sizes, kind="stable")
    for panel, label in zip(grid[0, 1:], largest, strict=False):
        rows = np.flatnonzero(model.labels_ == label)
        _draw_group(panel, rows, net, number, records)
    for votes, color in VOTES.items():
        panel.plot([], [], color=color, lw=2.5, label=f"{votes} of 3: same")
    pictures.legend_beside(panel)
    return figure


def _draw_group(panel: Any, rows: Ints, net: Floats, number: Floats, records: People) -> None:
    """Draw records on a circle, and for each asked pair how many people called it the same."""
    angle = 2 * np.pi * np.arange(len(rows)) / len(rows) + np.pi / 2
    places = np.column_stack([np.cos(angle), np.sin(angle)])
    truth = records.classes["entity"][rows]
    for first, second in combinations(range(len(rows)), 2):
        i, j = rows[first], rows[second]
        if number[i, j]:
            votes = round((number[i, j] + net[i, j]) / 2)
            panel.plot(*places[[first, second]].T, color=VOTES[min(votes, 3)], lw=2.5, zorder=1)
    for place, row, of in zip(places, rows, truth, strict=True):
        text = f"{records.names[row]}\n(restaurant {of})"
        box = {"facecolor": "white", "edgecolor": pictures.GRAY, "boxstyle": "round,pad=0.25"}
        panel.text(*place, text, ha="center", va="center", fontsize=8, bbox=box)
    panel.set(xlim=(-1.5, 1.5), ylim=(-1.35, 1.35))
    panel.set_axis_off()
    panel.set_title(f"{len(rows)} records, {len(np.unique(truth))} restaurants", fontsize=9)


def people_scatter() -> Any:
    """Plot the slope of each annotator against the share of other people who agree."""
    marks = load("pk_shapecolor_odd").constraints()
    model = similarity.OrdinalEmbedding(random_state=0).fit(constraints=marks)
    shared = agreement(marks)
    figure, grid = pictures.panels(1, 1, figsize=(5, 3.6))
    grid[0, 0].scatter(shared, model.annotator_slopes_, color=pictures.BLUE)
    title = "16 marks, 20 people, 560 odd-one-out answers each"
    pictures.tidied(grid[0, 0], title, "share of other people who agree", "slope")
    return figure
