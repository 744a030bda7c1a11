"""What a fit of guided clustering did and found, as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from clew.cluster.guided._members.members import ROWS_BY, is_of_second
from clew.cluster.guided._result.guided_result import GuidedResult
from clew.cluster.guided._result.probabilities import largest_probabilities
from clew.trust.doubts import DOUBT

__all__ = ["summary"]

KINDS = ("pair", "triplet", "odd-one-out answer")
DECIDED_BY = {
    "features": "features",
    "answers": "answers",
    "both": "features and answers",
    "identities": "matches of rows",
}
#: Annotators that are listed, those with the highest error rates.
MAX_LISTED = 10
#: A row whose most probable group has a lower probability is unsure.
UNSURE = 0.5


def summary(result: GuidedResult, *, is_number_given: bool) -> str:
    """Describe a fit.

    Parameters
    ----------
    result : GuidedResult
        What it found.
    is_number_given : bool
        Whether the number of groups was given, not chosen.

    Returns
    -------
    str
        Lines of text: groups, answers, annotators, members.
    """
    has_answers = np.isfinite(result.error_rate)
    lines = [*_groups(result, is_number_given=is_number_given), *_answers(result)]
    if has_answers:
        lines += [*_errors(result), *_annotators(result)]
    members = _members(result, has_answers=bool(has_answers))
    return "\n".join([*lines, "", *members] if members else lines)


def _groups(result: GuidedResult, *, is_number_given: bool) -> list[str]:
    sizes = np.bincount(result.labels, minlength=result.n_clusters)
    how = "given" if is_number_given else "chosen"
    probability = largest_probabilities(result.probabilities)
    return [
        f"GuidedClustering: {_counted(len(result.labels), 'row')} in "
        f"{_counted(result.n_clusters, 'group')} (number {how}) of {sizes.min():,} to "
        f"{_counted(int(sizes.max()), 'row')}",
        f"Probability of a row's group: {probability.mean():.2f} on average, below {UNSURE} for "
        f"{_counted(int((probability < UNSURE).sum()), 'row')}",
    ]


def _answers(result: GuidedResult) -> list[str]:
    known = result.constraints
    counts = [
        _counted(len(table), kind)
        for table, kind in zip(known.tables, KINDS, strict=True)
        if len(table)
    ]
    if not counts:
        is_said = result.regime == "identities"
        return ["No answers", *([f"Decided by {_decision(result)}"] if is_said else [])]
    lines = [
        f"Answers: {', '.join(counts)}, of {_counted(len(known.annotators), 'annotator')}; the "
        f"groups violate {result.n_violated:,}"
    ]
    if not np.isfinite(result.error_rate):
        lines.append("No answer is informative: the groups are those without answers")
    else:
        lines.append(f"Decided by {_decision(result)}")
    return lines


def _decision(result: GuidedResult) -> str:
    return f"{DECIDED_BY[result.regime]}: {result.regime.reason}"


def _errors(result: GuidedResult) -> list[str]:
    low, high = result.error_interval
    n_doubted = sum(int((p_wrong >= DOUBT).sum()) for p_wrong in result.answer_posterior)
    return [
        f"Error rate of the answers: {result.error_rate:.1%}, between {low:.1%} and {high:.1%} "
        f"with probability 0.95; {n_doubted:,} {'is' if n_doubted == 1 else 'are'} probably wrong"
    ]


def _annotators(result: GuidedResult) -> list[str]:
    confusion = result.confusion
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


def _members(result: GuidedResult, *, has_answers: bool) -> list[str]:
    second = _second(result)
    of_rows = [name for name in result.weights if name.startswith(ROWS_BY)]
    first = [name for name in result.weights if name not in [*second, *of_rows]]
    if not result.weights:
        return []
    if not has_answers:
        return _weights(result, "member", first)
    rows = ["", *_weights(result, "clustering of all rows", of_rows)] if of_rows else []
    return [
        *_weights(result, "member of the first consensus", first),
        "",
        *_weights(result, "member of the second consensus", second),
        *rows,
    ]


def _second(result: GuidedResult) -> list[str]:
    """Return the names of the clusterings in the second consensus."""
    return [name for name in result.weights if is_of_second(name)]


def _weights(result: GuidedResult, heading: str, names: Sequence[str]) -> list[str]:
    order = sorted(names, key=lambda name: -result.weights[name])
    rows = [(name, f"{result.weights[name]:.2f}", f"{result.scores[name]:.3f}") for name in order]
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
