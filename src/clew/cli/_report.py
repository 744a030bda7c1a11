"""The report of ``clew group --report``: one page about groups, rows and answers."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cli._group_traits import cell, columns_to_show, describe_group, group_traits
from clew.cli._inputs import Items
from clew.cli._job import Job
from clew.cli._progress import counted, printable
from clew.cli._report_doubts import doubted_section
from clew.cli._tables import Groups, affinity_graph
from clew.cli._thumbnails import STYLE, galleries, gallery, is_shown
from clew.cli._typical_rows import most_typical
from clew.cli.report import (
    Section,
    affinity_figure,
    definitions,
    facts,
    graph_means,
    probability_means,
    render_page,
    table,
)
from clew.cluster import GuidedClustering
from clew.cluster.guided._result import of_row
from clew.constraints import Constraints

__all__ = ["Findings", "report_page"]

#: Maximum numbers of groups, the largest ones, and of typical and of doubtful rows of each group.
MOST_GROUPS, MOST_TYPICAL, MOST_UNSURE = 60, 8, 4
#: Ids that are shown where there are no columns to show.
MOST_IDS = 30
#: Maximum number of pictures or texts of each group, the most typical ones.
MOST_PICTURES = 12
#: Doubtful rows that are listed.
MOST_ROWS = 60
#: Columns that are shown in addition to the ids.
MOST_COLUMNS = 6


class Findings(NamedTuple):
    """What a report is made of."""

    job: Job
    items: Items
    X: Any
    """Features that the model was fitted to, (n_rows, n_features), or distances."""
    known: Constraints
    model: Any
    """The fitted model."""
    groups: Groups
    summary: Mapping[str, Any]
    """What ``--json`` prints."""


class _Shown(NamedTuple):
    """How rows are shown."""

    columns: list[str]
    descriptions: list[str]
    """What sets each group apart; empty if nothing does."""


def report_page(found: Findings) -> str:
    """Return the report, as HTML.

    Parameters
    ----------
    found : Findings
        The results.

    Notes
    -----
    Size and time of the page itself do not grow with the number of rows: it shows the most
    typical rows of the largest groups, and the most doubtful rows and answers.
    """
    label = found.groups.label
    traits = group_traits(found.items.frame, found.items.columns, label)
    n_groups = int(label.max()) + 1
    shown = _Shown(
        columns_to_show(found.items.frame, found.items.columns, traits, label, MOST_COLUMNS),
        [describe_group(traits, group) for group in range(n_groups)],
    )
    order = [
        most_typical(found.X, found.groups, group, is_distances=found.items.is_distances)
        for group in range(n_groups)
    ]
    noun = found.items.noun
    sections = [
        Section("result", "Result", "The result", _result(found)),
        Section("groups", "Groups", "The groups", _groups(found, shown, order)),
        Section("affinity", "Together", f"Which {noun}s are together", _affinity(found, order)),
        Section(
            "rows",
            f"Doubtful {noun}s",
            f"{noun.capitalize()}s to look at again",
            _rows(found, shown),
        ),
    ]
    if len(found.known):
        html = doubted_section(
            found.known, found.model, found.groups, found.items, shown.columns[:2]
        )
        sections.append(Section("doubted", "Doubtful answers", "Answers to ask again", html))
    sections.append(Section("made", "How it was made", "How it was made", _made(found)))
    n, n_answers = len(label), len(found.known)
    name = printable(found.job.items.resolve().name)
    help_of = f", with the help of {counted(n_answers, 'answer')}" if n_answers else ""
    return render_page(
        brand="clew report",
        heading=f"{name}: {counted(n, found.items.noun)} in {counted(n_groups, 'group')}" + help_of,
        lead=_lead(found, n_groups),
        sections=sections,
        seconds=found.summary["seconds"],
        style=STYLE if is_shown(found.items) else "",
    )


def _lead(found: Findings, n_groups: int) -> str:
    sizes = found.summary["sizes"]
    text = f"The groups have {min(sizes):,} to {counted(max(sizes), found.items.noun)}."
    if found.job.n_groups is None:
        text += f" clew chose the number of groups, {n_groups}."
    if (rate := found.summary["error_rate"]) is not None:
        text += f" About {rate:.0%} of the answers are estimated to be wrong"
        interval = found.summary["error_interval"]
        text += f" (95% interval {interval[0]:.0%} to {interval[1]:.0%})." if interval else "."
    return text


def _result(found: Findings) -> str:
    summary = found.summary
    figures = [
        (f"{summary['rows']:,}", f"{found.items.noun}s"),
        (f"{len(summary['sizes']):,}", "groups"),
        (f"{summary['doubtful_rows']:,}", f"{found.items.noun}s to look at again"),
    ]
    if summary["answers"]:
        figures += [
            (f"{summary['answers']:,}", "answers"),
            (f"{summary['violated']:,}", "answers that the groups violate"),
            (f"{summary['doubted']:,}", "answers that look wrong"),
        ]
    html = facts(figures)
    if rates := summary["annotators"]:
        worst_first = sorted(rates.items(), key=lambda item: -item[1])
        rows = [(name or "(no name)", f"{rate:.0%}") for name, rate in worst_first[:MOST_ROWS]]
        html += "<h4>Estimated share of wrong answers of each annotator</h4>"
        html += table(("annotator", "wrong"), rows, "Annotators")
    return html


def _groups(found: Findings, shown: _Shown, order: list[NDArray[np.int64]]) -> str:
    largest = sorted(range(len(order)), key=lambda group: (-len(order[group]), group))
    chosen = sorted(largest[:MOST_GROUPS])
    noun = found.items.noun
    html = f"<p>Each group with its most typical {noun}s: the most certain ones and, among equally "
    html += f"certain {noun}s, those nearest to the center. The file of groups has all {noun}s.</p>"
    if len(chosen) < len(order):
        html += f"<p>The {len(chosen)} largest of {len(order):,} groups are shown.</p>"
    return html + "".join(_group(found, shown, group, order[group]) for group in chosen)


def _group(found: Findings, shown: _Shown, group: int, rows: NDArray[np.int64]) -> str:
    is_doubtful = (found.groups.is_between | found.groups.is_contradicted)[rows]
    words = counted(len(rows), found.items.noun)
    if is_doubtful.any():
        words += f", {int(is_doubtful.sum()):,} doubtful"
    html = f'<article class="group"><header><h3>Group {group}</h3><p>{words}</p></header>'
    if shown.descriptions[group]:
        html += f'<p class="marks">{escape(shown.descriptions[group])}</p>'
    unsure = rows[is_doubtful][::-1][:MOST_UNSURE]
    if is_shown(found.items):
        return f"{html}{galleries(found.items, rows[:MOST_PICTURES], unsure)}</article>"
    if not shown.columns:
        return f"{html}{_ids(found, rows[:MOST_IDS])}{_unsure_ids(found, unsure)}</article>"
    typical = rows[:MOST_TYPICAL]
    unsure = unsure[~np.isin(unsure, typical)]
    html += _table(found, shown, typical, f"Typical rows of group {group}")
    if len(unsure):
        html += "<h4>Least certain</h4>"
        html += _table(found, shown, unsure, f"Least certain rows of group {group}")
    return f"{html}</article>"


def _ids(found: Findings, rows: NDArray[np.int64]) -> str:
    names = "".join(f"<li>{escape(cell(found.items.ids[row]))}</li>" for row in rows.tolist())
    return f'<ul class="ids">{names}</ul>'


def _unsure_ids(found: Findings, rows: NDArray[np.int64]) -> str:
    return f"<h4>Least certain</h4>{_ids(found, rows)}" if len(rows) else ""


def _table(found: Findings, shown: _Shown, rows: NDArray[np.int64], label: str) -> str:
    frame = found.items.frame
    cells = [
        (
            cell(found.items.ids[row]),
            f"{found.groups.confidence[row]:.2f}",
            *(cell(frame[name].iloc[row]) for name in shown.columns),
        )
        for row in rows.tolist()
    ]
    return table(("id", "confidence", *map(cell, shown.columns)), cells, label)


def _affinity(found: Findings, order: list[NDArray[np.int64]]) -> str:
    rows, noun = np.concatenate(order), found.items.noun
    if isinstance(found.model, GuidedClustering):
        means = probability_means(found.model.probabilities_, rows)
        what = f"The probability that two {noun}s are in one group"
    else:
        graph = affinity_graph(found.model, found.X, is_distances=found.items.is_distances)
        means = graph_means(graph, rows)
        what = f"The affinity of two {noun}s"
    words = (
        f"{what}, for every two in the order of the groups. A stronger color is a higher value. "
        "Color off the diagonal joins groups that are hard to separate."
    )
    picture = affinity_figure(
        means,
        [len(each) for each in order],
        [str(group) for group in range(len(order))],
        f"{what}; each group is a square on the diagonal",
    )
    return f"<p>{words}</p>{picture}"


def _rows(found: Findings, shown: _Shown) -> str:
    groups = found.groups
    doubtful = np.flatnonzero(groups.is_between | groups.is_contradicted)
    noun = found.items.noun
    if len(doubtful) == 0:
        return f"<p>No {noun} is doubtful.</p>"
    first = doubtful[np.argsort(groups.confidence[doubtful], kind="stable")][:MOST_ROWS]
    words = (
        f"{noun.capitalize()}s between two groups (confidence below 0.5), and {noun}s whose group "
        "violates an answer that is not doubted; the least certain first."
    )
    if len(first) < len(doubtful):
        words += f" {len(first)} of {len(doubtful):,} are shown; the file of groups marks all."
    if is_shown(found.items):
        reasons = (f"group {groups.label[row]}; {_reason(found, row)}" for row in first.tolist())
        return f"<p>{words}</p>{gallery(found.items, first.tolist(), reasons)}"
    columns = shown.columns[:3]
    lines = [
        (
            cell(found.items.ids[row]),
            str(groups.label[row]),
            f"{groups.confidence[row]:.2f}",
            _reason(found, row),
            *(cell(found.items.frame[name].iloc[row]) for name in columns),
        )
        for row in first.tolist()
    ]
    header = ("id", "group", "confidence", "reason", *map(cell, columns))
    return f"<p>{words}</p>{table(header, lines, 'Doubtful rows')}"


def _reason(found: Findings, row: int) -> str:
    reasons = []
    if found.groups.is_between[row]:
        reasons.append(_between(found, row))
    if found.groups.is_contradicted[row]:
        reasons.append("violates an answer")
    return "; ".join(reasons)


def _between(found: Findings, row: int) -> str:
    """Name the second most likely group, where the method has probabilities."""
    if not isinstance(found.model, GuidedClustering) or found.model.n_clusters_ < 2:
        return "between groups"
    probabilities = of_row(found.model.probabilities_, row)
    second = int(np.argsort(-probabilities, kind="stable")[1])
    of_second = np.flatnonzero(found.model.labels_ == second)
    # Groups are numbered by their first rows here, not as the model numbers them.
    name = f"group {found.groups.label[of_second[0]]}" if len(of_second) else "an empty group"
    return f"or {name} with probability {probabilities[second]:.2f}"


def _made(found: Findings) -> str:
    job = found.job
    entries = {f"{found.items.noun.capitalize()}s": printable(str(job.items))}
    if job.constraints is not None:
        entries["Answers"] = str(job.constraints)
    entries["Method"] = f"{job.method}, seed {job.seed}"
    if found.items.is_distances:
        entries["Input"] = "distances between all pairs of rows"
    used = [column.name for column in found.items.columns if column.use != "dropped"]
    if used:
        more = f" and {len(used) - 30} more" if len(used) > 30 else ""
        entries["Columns used"] = ", ".join(used[:30]) + more
    entries["Software"] = f"Python {platform.python_version()}, clew {version('clew')}"
    command = shlex.join(["clew", *sys.argv[1:]])
    return f"{definitions(entries)}<p>The command:</p><pre>{escape(command)}</pre>"
