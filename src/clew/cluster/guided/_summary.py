"""What a fit of guided clustering did and found, as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from clew.answers import DONT_KNOW
from clew.cluster.guided._result import GuidedResult, largest_probabilities
from clew.trust.doubts import DOUBT

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
#: Answers decide the number of groups if it has this probability.
DECIDED = 0.6


def summary(result: GuidedResult, *, is_number_given: bool) -> str:
    """Describe a fit in lines of text: groups, answers, annotators, partitions."""
    has_answers = np.isfinite(result.error_rate)
    lines = [*_groups(result, is_number_given=is_number_given), *_answers(result)]
    lines += _alternatives(result, is_number_given=is_number_given)
    if has_answers:
        lines += [*_errors(result), *_annotators(result)]
    members = _weights(result, "partition", [*result.weights]) if result.weights else []
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
    n_unsure = sum(int((table.answers == DONT_KNOW).sum()) for table in known.tables)
    unsure = f" ({n_unsure:,} don't know)" if n_unsure else ""
    lines = [
        f"Answers: {', '.join(counts)}{unsure}, of "
        f"{_counted(len(known.annotators), 'annotator')}; the groups violate {result.n_violated:,}"
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


def _alternatives(result: GuidedResult, *, is_number_given: bool) -> list[str]:
    """Say how many answers other numbers of groups violate, and whether answers decide."""
    if not result.alternatives:
        return []
    counts = [(result.n_clusters, result.n_violated)]
    counts += [(one.n_clusters, one.n_violated) for one in result.alternatives]
    (first, n), *others = counts
    parts = [f"{_counted(first, 'group')} violate {n:,} answers"]
    parts += [f"{number:,} violate {n_of:,}" for number, n_of in others]
    share = result.n_clusters_probabilities.get(result.n_clusters, 0.0)
    doubt = "" if share >= DECIDED else "; answers do not decide between these numbers"
    if is_number_given:
        doubt = "; answers and features hold more groups than were wanted"
    return [f"{', '.join(parts)}{doubt}"]


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
