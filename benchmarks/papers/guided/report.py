"""The report of the study, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers._opening import opening
from benchmarks.papers._pictures import picture_name
from benchmarks.papers.guided.figures import Figures
from benchmarks.papers.guided.findings import findings
from benchmarks.papers.guided.methods import METHODS, N_TREES
from benchmarks.papers.guided.other_tables import ablations, annotators, kinds
from benchmarks.papers.guided.protocol import PEOPLE
from benchmarks.papers.guided.study import GuidedResults
from benchmarks.papers.guided.tables import (
    about_answers,
    below_no_answers,
    by_amount,
    by_set,
    limited,
    over_all,
    seconds,
)

__all__ = ["report"]

SLOW = ("guided", "e2cp", "coprf", "coprf_hard", "itml", "sklr", "dcrc")
NOTES = f"""\
Adjusted Rand index (ARI), mean ± standard error over trials; the best of each column in bold.

- All sets of fewer than 2,500 rows. Features are standardised; those of pictures are not (digits as
  they are, 50 principal components of olivetti_64x64, 30 of pie10_32x32 with the first 100 pictures
  of each person). apfaces_900 has distances alone: its features are 30 coordinates of classical
  scaling. Every method reads the same features; GuidedClustering gets `standardize=False`.
- Random pairs, an exact share of them answered wrong: a quarter, one and two for each row (N/4, N,
  2N), and .1 % and .5 % of all pairs. The number of groups is the true one.
- Comparators: E2CP, soft and hard COP-RF, RF+E2CP, ITML, constrained linkage, Ward and Euclidean
  spectral clustering. Hard COP-RF is as published, with the wrong answers that its inconsistency
  finds left out. Forests of comparators have {N_TREES} trees.
- A method that refuses contradicting answers, or finds no groups, counts with Ward's groups.
- Methods that hear no answers are run once for each trial. LSML, SparseLP and SSSVaD take no pairs:
  they are in the tables of kinds."""
TIME_NOTES = "CPU seconds of a fit, on one thread; SKLR's and DCRC's within their limits."
KIND_NOTES = """\
The same number of questions, random ones: many about three rows have no answer but don't-know.
E2CP, COP-RF and ITML hear them as the pairs that they imply; LSML, SparseLP and SSSVaD hear what
compares: no pairs, and no "none differs"."""
PEOPLE_NOTES = f"""\
Pairs, asked of people in turn. Four people are wrong as often as this:
{", ".join(f"{name} {100 * rate:g} %" for name, rate in PEOPLE["four people"].items())}; two good
people {100 * PEOPLE["two good people"]["good"]:g} %. "Alike at first": names are known, but the
ways of the pool hear everybody alike. Of comparators the better of names known and dropped."""
ABLATION_NOTES = """\
One step left out, or replaced. Means over eight sets of fewer than 900 rows; N/4, N, 2N answers."""


def report(results: GuidedResults, *, is_quick: bool) -> str:
    """Write everything down.

    Parameters
    ----------
    results : Results
        Complete or not: what is missing is a dash.
    is_quick : bool
        Whether to warn that the figures mean little.

    Returns
    -------
    str
        Markdown.
    """
    study, figures = results.study, Figures(results)
    lines = opening(
        "Guided clustering against the other methods", NOTES,
        f"{study.n_trials} trials, {len(study.found_sets)} sets.",
        sources=results.sources(), remedy="`--fresh`", n_missing=results.n_missing(),
        is_quick=is_quick, absent=study.absent_sets,
    )  # fmt: skip
    lines += ["", "## In short", "", *findings(figures), "", *_main(figures), *_others(figures)]
    return "\n".join(lines).rstrip() + "\n"


def _main(figures: Figures) -> list[str]:
    study = figures.results.study
    lines = ["## By the number of answers", "", "Means over sets.", ""]
    lines += [f"![ARI by the number of answers]({picture_name(study, 'curves')})", ""]
    for error in study.errors:
        lines += [by_amount(figures, error), ""]
    lines += [over_all(figures), ""]
    lines += ["Methods that take too long for all, on what they are run on:", ""]
    lines += [limited(figures), "", "## By set", "", "Means over the numbers of answers.", ""]
    for error in study.errors:
        lines += [by_set(figures, error), ""]
    lines += ["## What is said of the answers", "", about_answers(figures), ""]
    worst = max(study.errors)
    lines += ["## Beside no answers at all", "", below_no_answers(figures, worst), ""]
    lines += ["## Time", "", TIME_NOTES, ""]
    return [*lines, seconds(figures, [m for m in METHODS if m.name in SLOW]), ""]


def _others(figures: Figures) -> list[str]:
    study = figures.results.study
    lines = ["## Kinds of answers", "", KIND_NOTES, ""]
    for amount in _among(("N/4", "N"), study.amounts):
        for error in (0.0, 0.15):
            if error in study.errors:
                lines += [kinds(figures, amount, error), ""]
    lines += ["## Annotators who differ", "", PEOPLE_NOTES, ""]
    for people in PEOPLE:
        for amount in _among(("N", "2N"), study.amounts):
            lines += [annotators(figures, people, amount), ""]
    lines += ["## Ablations", "", ABLATION_NOTES, ""]
    lines += [f"![Ablations]({picture_name(study, 'ablations')})", ""]
    return [*lines, ablations(figures)]


def _among(wanted: Sequence[str], present: Sequence[str]) -> list[str]:
    return [amount for amount in wanted if amount in present]
