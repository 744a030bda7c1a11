"""The report of ``clew group --report``: one page about groups, rows and answers."""

from __future__ import annotations

import base64
import io
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clew.answers import ANSWER_WORDS, KINDS, Kind
from clew.cli._groups import Doubted, Groups, about_numbers_of, affinity_graph, reasons
from clew.cli._models import Model
from clew.cli._rows import Rows, cell
from clew.cli._words import counted, printable, sizes_words
from clew.cli.report import (
    Strip,
    affinity_picture,
    data_uri,
    dot_plot,
    graph_means,
    probability_means,
    render,
)
from clew.cluster import GuidedClustering
from clew.cluster.guided._result import of_row
from clew.constraints import Constraints
from clew.exceptions import ClewError
from clew.items import open_image
from clew.tables import ColumnUse

#: Maximum numbers of groups, the largest ones, and of typical and of doubtful rows of each group.
MOST_GROUPS, MOST_TYPICAL, MOST_UNSURE = 60, 8, 4
#: Maximum number of ids of a group, if there are no columns to show, and of pictures or texts.
MOST_IDS, MOST_PICTURES = 30, 12
#: Maximum numbers of doubtful rows, of doubtful answers, and of annotators.
MOST_ROWS = 60
#: Columns that are shown in addition to the ids, and traits that are named of a group.
MOST_COLUMNS, MOST_TRAITS = 6, 3
#: Confidence is rounded to this many digits before rows of equal confidence are compared.
DIGITS = 2
#: Pixels of the longer side of a picture, twice as many as a screen of normal density shows.
PIXELS, QUALITY = 224, 78
#: Characters of a text that are shown.
MOST_TEXT = 300
#: A group differs if its mean is this many standard deviations from that of all rows.
LEAST_DIFFERENCE = 0.3
#: Categories of a column that are compared, the most frequent ones.
MAX_CATEGORIES = 20
QUESTIONS = {
    "pair": "Same group?",
    "triplet": "Is the first more like the second or like the third?",
    "odd_one_out": "Which one of the three is different?",
}

View = dict[str, Any]


class Findings(NamedTuple):
    """What a report is made of."""

    items: Rows
    X: Any
    """Features that the model was fitted to, (n_rows, n_features), or distances."""
    answers: Constraints
    model: Model
    """The fitted model."""
    groups: Groups
    summary: Mapping[str, Any]
    """What ``--json`` prints."""
    source: Path
    """File or folder of the rows."""
    made: Mapping[str, str]
    """Further entries of "How it was made"."""


def report_page(
    found: Findings,
    *,
    is_number_chosen: bool,
    first: tuple[str, str, str] | None = None,
    **others: Any,
) -> str:
    """Return the report, as HTML: `first` before all sections, `others` go to the template."""
    items, groups, summary = found.items, found.groups, found.summary
    traits = group_traits(items.frame, items.columns, groups.label)
    columns = columns_to_show(items.frame, items.columns, traits, groups.label)
    order = [most_typical(found, group) for group in range(len(summary["sizes"]))]
    noun, n_groups = items.noun, len(order)
    sections = [
        ("result", "Result", "The result"),
        ("groups", "Groups", "The groups"),
        ("affinity", "Together", f"Which {noun}s are together"),
        ("rows", f"Doubtful {noun}s", f"{noun.capitalize()}s to look at again"),
        ("made", "How it was made", "How it was made"),
    ]
    if len(found.answers):
        sections.insert(-1, ("doubted", "Doubtful answers", "Answers to ask again"))
    if first is not None:
        sections.insert(0, first)
    largest = sorted(range(n_groups), key=lambda group: (-len(order[group]), group))
    is_ignored = bool(summary["answers"]) and getattr(found.model, "regime_", "") == "features"
    help_of = f", with the help of {counted(summary['answers'], 'answer')}"
    view: View = {
        "brand": "clew report",
        "heading": f"{printable(found.source.resolve().name)}: "
        f"{counted(summary['rows'], noun)} in {counted(n_groups, 'group')}"
        + help_of
        * bool(summary["answers"] and not is_ignored),
        "lead": _lead(summary, noun, is_number_chosen=is_number_chosen, is_ignored=is_ignored),
        "sections": sections,
        "seconds": summary["seconds"],
        "noun": noun,
        "figures": _figures(summary, noun),
        "numbers": about_numbers_of(summary),
        "annotators": _annotators(found),
        "n_groups": n_groups,
        "groups": [
            _group(found, columns, describe_group(traits, group), group, order[group])
            for group in sorted(largest[:MOST_GROUPS])
        ],
        "doubtful": _doubtful(found, columns[:3]),
        "cards": [_card(found, one, columns[:2]) for one in groups.doubted[:MOST_ROWS]],
        "n_doubted": len(groups.doubted),
        "n_answers": summary["answers"],
        "estimates_doubt": isinstance(found.model, GuidedClustering)
        or hasattr(getattr(found.model, "similarity_", None), "doubt_"),
        "made": _made(found),
    }
    return render("groups.html", **(view | _affinity(found, order) | others))


def _lead(
    summary: Mapping[str, Any], noun: str, *, is_number_chosen: bool, is_ignored: bool
) -> str:
    sizes = summary["sizes"]
    what = "The groups have" if len(sizes) > 1 else "The group has"
    text = f"{what} {sizes_words(sizes, noun)}."
    if is_number_chosen:
        text += f" clew chose the number of groups, {len(sizes)}."
    if (rate := summary["error_rate"]) is not None:
        text += f" About {rate:.0%} of the answers are estimated to be wrong"
        interval = summary["error_interval"]
        text += f" (95% interval {interval[0]:.0%} to {interval[1]:.0%})." if interval else "."
    if is_ignored:
        text += " The answers look random: these are groups by features alone."
    return text


def _figures(summary: Mapping[str, Any], noun: str) -> list[tuple[str, str]]:
    figures = [
        (f"{summary['rows']:,}", f"{noun}s"),
        (f"{len(summary['sizes']):,}", "groups" if len(summary["sizes"]) > 1 else "group"),
        (f"{summary['doubtful_rows']:,}", f"{noun}s to look at again"),
    ]
    if summary["answers"]:
        figures += [
            (f"{summary['answers']:,}", "answers"),
            (f"{summary['violated']:,}", "answers that the groups go against"),
            (f"{summary['doubted']:,}", "answers that look wrong"),
        ]
    return figures


def _annotators(found: Findings) -> Mapping[str, Any] | None:
    """Return the error rates of several annotators as a dot plot, the highest first."""
    if not found.summary["annotators"] or not isinstance(found.model, GuidedClustering):
        return None
    confusion = found.model.confusion_
    rates, bounds = confusion.error_rates_, confusion.error_intervals_
    strips = [
        Strip(
            confusion.annotators_[at] or "(no name)",
            [rates[at]],
            f"{rates[at]:.0%} ({bounds[at][0]:.0%} to {bounds[at][1]:.0%})",
            tuple(bounds[at].tolist()),
        )
        for at in np.argsort(-rates, kind="stable")[:MOST_ROWS].tolist()
    ]
    return dot_plot(strips)


def _group(
    found: Findings, columns: list[str], traits: str, group: int, rows: NDArray[np.int64]
) -> View:
    groups = found.groups
    is_doubtful = groups.is_doubtful[rows]
    name = groups.title(group)
    is_named = group < len(groups.names) and bool(groups.names[group])
    words = counted(len(rows), found.items.noun)
    if is_doubtful.any():
        words += f", {int(is_doubtful.sum()):,} doubtful"
    most = MOST_TYPICAL if columns else MOST_IDS
    typical = rows[: MOST_PICTURES if is_shown(found.items) else most]
    unsure = rows[is_doubtful][::-1][:MOST_UNSURE]
    unsure = unsure[~np.isin(unsure, typical)]
    return {
        "title": name if is_named else name.capitalize(),
        "words": f"{groups._replace(names=()).title(group)}, {words}" if is_named else words,
        "traits": traits,
        "typical": _rows(found, columns, typical, f"Typical rows of {name}"),
        "unsure": _rows(found, columns, unsure, f"Least certain rows of {name}")
        if len(unsure)
        else None,
    }


def _rows(found: Findings, columns: list[str], rows: NDArray[np.int64], label: str) -> View:
    """Return rows as the template shows them: pictures or texts, a table, or ids."""
    items = found.items
    if is_shown(items):
        return gallery(items, rows.tolist())
    if not columns:
        return {"ids": [cell(items.ids[row]) for row in rows.tolist()]}
    lines = [
        (
            cell(items.ids[row]),
            f"{found.groups.confidence[row]:.2f}",
            *(cell(items.frame[name].iloc[row]) for name in columns),
        )
        for row in rows.tolist()
    ]
    return {"header": ("id", "confidence", *map(cell, columns)), "lines": lines, "label": label}


def is_shown(items: Rows) -> bool:
    """Whether rows are shown as pictures or texts, and not by their columns."""
    return items.folder is not None or items.texts is not None or items.pixels is not None


def gallery(items: Rows, rows: Sequence[int], captions: Sequence[str] = ()) -> View:
    """Return pictures or texts as the template shows them; `captions` are second lines."""
    lines = captions or [""] * len(rows)
    return {
        "figures": [_figure(items, row, line) for row, line in zip(rows, lines, strict=True)],
        "are_texts": items.texts is not None,
    }


def _figure(items: Rows, row: int, caption: str = "") -> View:
    """Return one row as a picture or a text."""
    view: View = {"name": cell(printable(items.ids[row])), "caption": caption, "text": None}
    if items.texts is not None:
        text = items.texts[row]
        return view | {"text": text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"}
    if items.pixels is not None:
        image = items.pixels[row]
        size = {"height": image.shape[0], "width": image.shape[1]}
        return view | size | {"picture": data_uri(image), "is_small": max(image.shape[:2]) < PIXELS}
    assert items.folder is not None
    try:
        picture = open_image(items.path(row), PIXELS)
    except (ClewError, OSError) as error:
        return view | {"picture": None, "problem": str(error)}
    # Encoded anew, so that nothing but pixels is in the page.
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    uri = "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
    return view | {
        "picture": uri, "width": picture.width, "height": picture.height, "is_small": False
    }  # fmt: skip


def most_typical(found: Findings, group: int) -> NDArray[np.int64]:
    """Sort the rows of a group by confidence; rows of equal confidence, by how central they are."""
    X = found.X
    rows = np.flatnonzero(found.groups.label == group)
    if found.items.is_distances:
        off_center = np.array([np.square(X[row][rows], dtype=np.float64).mean() for row in rows])
    else:
        own = X[rows]
        center = np.asarray(own.mean(axis=0)).ravel()
        if isinstance(own, np.ndarray):
            unit = X.std(axis=0)  # features are standardized
            off_center = (((own - center) / np.where(unit > 0, unit, 1)) ** 2).sum(axis=1)
        else:  # a constant is subtracted from all distances
            off_center = np.ravel(own.multiply(own).sum(axis=1)) - 2 * (own @ center)
    return rows[np.lexsort((off_center, -found.groups.confidence[rows].round(DIGITS)))]


def _affinity(found: Findings, order: list[NDArray[np.int64]]) -> View:
    rows, noun = np.concatenate(order), found.items.noun
    if isinstance(found.model, GuidedClustering):
        means = probability_means(found.model.probabilities_, rows)
        words = f"The probability that two {noun}s are in one group"
    else:
        graph = affinity_graph(found.model, found.X, is_distances=found.items.is_distances)
        means = graph_means(graph, rows)
        words = f"The affinity of two {noun}s"
    return {"together": words, "picture": affinity_picture(means, [len(each) for each in order])}


def _doubtful(found: Findings, columns: list[str]) -> View | None:
    """Return the rows to look at again, the least certain first."""
    items, groups = found.items, found.groups
    doubtful = np.flatnonzero(groups.is_doubtful)
    if len(doubtful) == 0:
        return None
    first = doubtful[np.argsort(groups.confidence[doubtful], kind="stable")][:MOST_ROWS].tolist()
    titles = [groups.title(group) for group in groups.label[first].tolist()]
    why = [_why_doubtful(found, row) for row in first]
    if is_shown(items):
        captions = [f"{title}; {reason}" for title, reason in zip(titles, why, strict=True)]
        rows = gallery(items, first, captions)
    else:
        lines = [
            (
                cell(items.ids[row]),
                title.removeprefix("group "),
                f"{groups.confidence[row]:.2f}",
                reason,
                *(cell(items.frame[name].iloc[row]) for name in columns),
            )
            for row, title, reason in zip(first, titles, why, strict=True)
        ]
        header = ("id", "group", "confidence", "reason", *map(cell, columns))
        rows = {"header": header, "lines": lines, "label": "Doubtful rows"}
    return {"n": len(doubtful), "n_shown": len(first), "rows": rows}


def _why_doubtful(found: Findings, row: int) -> str:
    """Name the second most likely group, where the method has probabilities."""
    groups, model = found.groups, found.model
    reasons = []
    if groups.is_between[row]:
        between = "between groups"
        if isinstance(model, GuidedClustering) and len(found.summary["sizes"]) > 1:
            # Columns of the model's groups that have rows; groups are numbered by first rows here.
            columns, first = np.unique(model.labels_, return_index=True)
            probabilities = of_row(model.probabilities_, row)[columns]
            second = int(np.argsort(-probabilities, kind="stable")[1])
            name = groups.title(int(groups.label[first[second]]))
            between = f"or {name} with probability {probabilities[second]:.2f}"
        reasons.append(between)
    if groups.is_contradicted[row]:
        reasons.append("violates an answer")
    return "; ".join(reasons)


def _card(found: Findings, one: Doubted, columns: list[str]) -> View:
    """Return an answer that looks wrong, with its rows and the reasons."""
    items = found.items
    table = next(table for table in found.answers.tables if table.kind == one.kind)
    rows = table.rows[one.at].tolist()
    return {
        "question": QUESTIONS[one.kind],
        "annotator": found.answers.annotators[table.annotators[one.at]],
        "answer": _words_of(one.kind)[int(table.answers[one.at])],
        # Never 100 %, because it is estimated.
        "p_wrong": f"{min(100 * one.p_wrong, 99.9):.1f} %",
        "reasons": _why_doubted(found, one, rows),
        "figures": [_figure(items, row) for row in rows] if is_shown(items) else [],
        "rows": [
            (
                cell(items.ids[row]),
                " · ".join(f"{cell(name)} {cell(items.frame[name].iloc[row])}" for name in columns),
            )
            for row in rows
        ],
    }


def _words_of(kind: Kind) -> dict[int, str]:
    """Return the word of each code of an answer."""
    return {code: word.replace("_", " ") for word, code in ANSWER_WORDS[kind].items()}


def _why_doubted(found: Findings, one: Doubted, rows: list[int]) -> list[str]:
    groups, model = found.groups, found.model
    titles = [groups.title(group) for group in groups.label[rows].tolist()]
    if len(set(titles)) == 1:
        first = f"{'all' if len(rows) > 2 else 'both'} are in {titles[0]}"
    elif groups.names:
        first = f"they are in {', '.join(titles[:-1])} and {titles[-1]}"
    else:
        label = [title.removeprefix("group ") for title in titles]
        first = f"they are in groups {', '.join(label[:-1])} and {label[-1]}"
    if not isinstance(model, GuidedClustering):
        return [first]
    if one.kind != "pair":
        implied = model.answer_posterior_.alternatives[KINDS.index(one.kind)][one.at]
        return [first, f"the groups imply: {_words_of(one.kind)[int(implied)]}"]
    why = model.explain(*rows)
    at = next((at for at, each in enumerate(why.answers) if each.p_wrong == one.p_wrong), -1)
    first += f", together with probability {why.p_together:.2f}"
    return [first, *reasons(why, lambda row: cell(found.items.ids[row]), skip=(at,))]


def _made(found: Findings) -> dict[str, str]:
    items = found.items
    entries = {f"{items.noun.capitalize()}s": printable(str(found.source)), **found.made}
    entries["Method"] = f"{found.summary['method']}, seed {found.summary['seed']}"
    if items.is_distances:
        entries["Input"] = "distances between all pairs of rows"
    used = [column.name for column in items.columns if column.use != "dropped"]
    if used:
        more = f" and {len(used) - 30} more" if len(used) > 30 else ""
        entries["Columns used"] = ", ".join(used[:30]) + more
    entries["Software"] = f"Python {platform.python_version()}, clew {version('clew')}"
    return entries


class Trait(NamedTuple):
    """A column of numbers, or one category of a column, and how the groups differ in it."""

    column: str
    category: str | None
    means: NDArray[np.float64]
    """Mean, or share of the category, in each group, (n_groups,)."""
    mean: float
    """Mean, or share of the category, in all rows."""
    differences: NDArray[np.float64]
    """`means` minus `mean`, in standard deviations, (n_groups,)."""
    gains: NDArray[np.float64]
    """Log-likelihood gained by a mean of each group's own, less the cost of naming the trait and
    its value, in nats, (n_groups,)."""

    def describe(self, group: int) -> str:
        """Say how a group differs from all rows."""
        if self.category is None:
            own, of_all = number(self.means[group]), number(self.mean)
            return f"{self.column} {own} (all rows {of_all})"
        share, of_all_rows = self.means[group], self.mean
        return f"{self.column} {self.category} {share:.0%} (all rows {of_all_rows:.0%})"


def group_traits(
    frame: pd.DataFrame, columns: Sequence[ColumnUse], label: NDArray[np.int64]
) -> list[Trait]:
    """Compare the groups in each column of numbers, and in each category."""
    n_groups = int(label.max()) + 1
    traits = []
    for name, category, values in _values(frame, columns):
        is_there = np.isfinite(values)
        mean, deviation = float(values[is_there].mean()), float(values[is_there].std())
        if deviation == 0:
            continue
        counts = np.bincount(label[is_there], minlength=n_groups)
        sums = np.bincount(label[is_there], values[is_there], minlength=n_groups)
        means = np.divide(sums, counts, out=np.full(n_groups, mean), where=counts > 0)
        differences = (means - mean) / deviation
        gains = counts * differences**2 / 2
        if category is not None:
            shares = np.stack([means, 1 - means]), np.array([[mean], [1 - mean]])
            ratio = np.divide(*shares, out=np.ones_like(shares[0]), where=shares[0] > 0)
            gains = counts * (shares[0] * np.log(ratio)).sum(axis=0)
        traits.append(Trait(name, category, means, mean, differences, gains))
    # To say which trait of which group, and its value.
    cost = np.log(max(1, len(traits)) * n_groups) + np.log(len(label)) / 2
    return [one._replace(gains=one.gains - cost) for one in traits]


def _values(
    frame: pd.DataFrame, columns: Sequence[ColumnUse]
) -> Iterator[tuple[str, str | None, NDArray[np.float64]]]:
    """Yield numbers as they are and each category as 0 and 1; NaN where a value is missing."""
    for name, use, *_ in columns:
        column = frame[name]
        if use == "number":
            yield name, None, column.to_numpy(np.float64, na_value=np.nan)
        elif use in ("scale", "category", "spelling"):
            words = column.astype(str).str.strip().where(column.notna())
            for category in words.value_counts().index[:MAX_CATEGORIES]:
                found = (words == category).to_numpy(np.float64)
                yield name, str(category), np.where(column.isna(), np.nan, found)


def describe_group(traits: Sequence[Trait], group: int) -> str:
    """Name what sets a group apart, largest first; not what gains less than it costs."""
    # A rare category is left out: a frequent one of the same column says the same.
    sizes = [
        float(abs(one.differences[group]) if one.category is None else one.differences[group])
        for one in traits
    ]
    chosen: dict[str, str] = {}
    for at in np.argsort(sizes, kind="stable")[::-1].tolist():
        if len(chosen) == MOST_TRAITS or sizes[at] < LEAST_DIFFERENCE:
            break
        if traits[at].gains[group] > 0:
            chosen.setdefault(traits[at].column, traits[at].describe(group))
    return "; ".join(chosen.values())


def columns_to_show(
    frame: pd.DataFrame,
    columns: Sequence[ColumnUse],
    traits: Sequence[Trait],
    label: NDArray[np.int64],
) -> list[str]:
    """Choose columns to show: a name of the row, then those that differ most between groups."""
    weight = np.bincount(label) / len(label)
    names = [
        column.name
        for column in columns
        if column.use in ("spelling", "text")
        or (column.use == "dropped" and "row to row" in column.note)
    ]
    ratio: dict[str, float] = {}
    for trait in traits:
        share = float(weight @ trait.differences**2)
        ratio[trait.column] = max(share, ratio.get(trait.column, 0.0))
    by_ratio = sorted(ratio, key=lambda name: -ratio[name])
    chosen = [*names[:1], *by_ratio, *names[1:]]
    return [name for name in chosen if name in frame.columns][:MOST_COLUMNS]


def number(value: float) -> str:
    """Format a number with three digits or more."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
