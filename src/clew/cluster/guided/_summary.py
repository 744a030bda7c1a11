"""What a fit of guided clustering did and found, as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.cluster.guided._members import ROWS_BY, is_of_second
from clew.cluster.guided._probabilities import largest_probabilities
from clew.constraints import Constraints
from clew.trust.groups.posterior import DOUBT

if TYPE_CHECKING:
    from clew.cluster.guided.guided_clustering import GuidedClustering

__all__ = ["summary"]

KINDS = ("pair", "triplet", "odd-one-out answer")
DECIDED_BY = {
    "features": "features",
    "answers": "answers",
    "both": "features and answers",
    "identities": "answers, as many small groups",
}
#: Annotators that are listed, those with the highest error rates.
MAX_LISTED = 10
#: A row whose most probable group has a lower probability is unsure.
UNSURE = 0.5


def summary(model: GuidedClustering, known: Constraints) -> str:
    """Describe a fitted model.

    Parameters
    ----------
    model : GuidedClustering
        Fitted.
    known : Constraints
        The answers that it was fitted to.

    Returns
    -------
    str
        Lines of text: groups, answers, annotators, members.
    """
    has_answers = np.isfinite(model.error_rate_)
    lines = [*_groups(model), *_answers(model, known)]
    if has_answers:
        lines += [*_errors(model), *_annotators(model)]
    members = _members(model, has_answers=bool(has_answers))
    return "\n".join([*lines, "", *members] if members else lines)


def _groups(model: GuidedClustering) -> list[str]:
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_)
    how = "chosen" if model.n_clusters is None else "given"
    probability = largest_probabilities(model.probabilities_)
    return [
        f"{type(model).__name__}: {_counted(len(model.labels_), 'row')} in "
        f"{_counted(model.n_clusters_, 'group')} (number {how}) of {sizes.min():,} to "
        f"{_counted(int(sizes.max()), 'row')}",
        f"Probability of a row's group: {probability.mean():.2f} on average, below {UNSURE} for "
        f"{_counted(int((probability < UNSURE).sum()), 'row')}",
    ]


def _answers(model: GuidedClustering, known: Constraints) -> list[str]:
    counts = [
        _counted(len(table), kind)
        for table, kind in zip(known.tables, KINDS, strict=True)
        if len(table)
    ]
    if not counts:
        return ["No answers"]
    lines = [
        f"Answers: {', '.join(counts)}, of {_counted(len(known.annotators), 'annotator')}; the "
        f"groups violate {model.n_violated_:,}"
    ]
    if not np.isfinite(model.error_rate_):
        lines.append("No answer is informative: the groups are those without answers")
    else:
        lines.append(f"Decided by {DECIDED_BY[model.regime_]}: {model.regime_.reason}")
    return lines


def _errors(model: GuidedClustering) -> list[str]:
    low, high = model.error_interval_
    n_doubted = sum(int((p_wrong >= DOUBT).sum()) for p_wrong in model.answer_posterior_)
    return [
        f"Error rate of the answers: {model.error_rate_:.1%}, between {low:.1%} and {high:.1%} "
        f"with probability 0.95; {n_doubted:,} {'is' if n_doubted == 1 else 'are'} probably wrong"
    ]


def _annotators(model: GuidedClustering) -> list[str]:
    confusion = model.confusion_
    if len(confusion.annotators_) < 2:
        return []
    order = np.argsort(-confusion.error_rates_, kind="stable")
    rows = [
        (
            confusion.annotators_[at] or "(no name)",
            f"{confusion.error_rates_[at]:.1%}",
            "{:.1%} to {:.1%}".format(*confusion.error_intervals_[at]),
            f"{confusion.n_answers_[at]:,}",
        )
        for at in order[:MAX_LISTED]
    ]
    lines = ["", *_table(("annotator", "error rate", "95 % interval", "answers"), rows)]
    if len(order) > MAX_LISTED:
        lines.append(f"and {len(order) - MAX_LISTED:,} with lower error rates")
    return lines


def _members(model: GuidedClustering, *, has_answers: bool) -> list[str]:
    second = _second(model)
    of_rows = [name for name in model.weights_ if name.startswith(ROWS_BY)]
    first = [name for name in model.weights_ if name not in [*second, *of_rows]]
    if not model.weights_:
        return []
    if not has_answers:
        return _weights(model, "member", first)
    rows = ["", *_weights(model, "clustering of all rows", of_rows)] if of_rows else []
    return [
        *_weights(model, "member of the first consensus", first),
        "",
        *_weights(model, "member of the second consensus", second),
        *rows,
    ]


def _second(model: GuidedClustering) -> list[str]:
    """Return the names of the clusterings in the second consensus."""
    return [name for name in model.weights_ if is_of_second(name)]


def _weights(model: GuidedClustering, heading: str, names: Sequence[str]) -> list[str]:
    order = sorted(names, key=lambda name: -model.weights_[name])
    rows = [(name, f"{model.weights_[name]:.2f}", f"{model.scores_[name]:.3f}") for name in order]
    return _table((heading, "weight", "score"), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Align columns: the first to the left, numbers to the right."""
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
