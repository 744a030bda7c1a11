"""The report of the study, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks import _harness as harness
from benchmarks.papers._opening import opening
from benchmarks.papers._pictures import picture_name
from benchmarks.papers._relative.methods import Method
from benchmarks.papers._relative.study import Cell
from benchmarks.papers._relative.tables import Row, score_table
from benchmarks.papers._scores import Score
from benchmarks.papers.dcrc.boundaries import EPSILONS, N_DRAWS, SPREADS, mean_share
from benchmarks.papers.dcrc.findings import findings, in_short
from benchmarks.papers.dcrc.methods import (
    DEFAULT,
    KMEANS,
    METHODS,
    ONE_PERSON,
    ONE_PERSON_PAIRS,
    SIX_PEOPLE,
)
from benchmarks.papers.dcrc.protocol import BIRDS, NO_ANSWERS, PEOPLE
from benchmarks.papers.dcrc.study import MORE, ONE, SIX, DcrcResults

__all__ = ["report"]

NOTES = """\
Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative clustering with relative
constraints". Pairwise F-measure, adjusted Rand index (ARI) and normalised mutual information (NMI),
mean ± half of the 95 % confidence interval over trials; the best of each column in bold. The paper
shows F alone, which rewards merging: groups that are all one have an F of a third or more.

- The paper's MSRCv2 and Stonefly9, and its Birdsong of 14 syllables, could not be had. All features
  are standardised.
- Random triplets, answered by the classes: yes, no, don't-know. DCRC hears all of them, DCRC-YN
  yes and no, as do LSML, SSSVaD, SparseLP. ITML, MMC (diagonal) and E2CP hear a must-link and a
  cannot-link for every yes and no.
- Learned metrics, SKLR and k-means: of 50 starts of k-means the one of lowest inertia, with the
  true number of groups. Parameters of the metrics (gamma of ITML, ridge of MMC, weight of LSML,
  sparsity of SparseLP) are chosen by the share of answers that hold in five folds.
- DCRC: clew's default, which starts from k-means and from SKLR's groups and chooses tau, lam and
  whether to take a kernel by
  held-out answers. As published: from k-means alone, tau of .5, 1 and 1.5. Hard: ε = 0. SKLR and
  E2CP are none of the paper's methods.
- SSSVaD is rebuilt from what is known of it; the paper that has it could not be had."""
PEOPLE_NOTES = f"""\
The paper asked six people about 150 triplets and 225 pairs of syllables. Here one simulated person
answers as many of `{BIRDS}`, with the confusion of the paper's Table IV, its rows divided by their
sums; each trial is a person. The figures cannot be set beside the paper's: another set, and classes
that are species."""
SIX_NOTES = f"""\
Six people, of 150 triplets each: {", ".join(PEOPLE)}. "Careless" errs in a fifth of the answers,
"shy" says don't-know to every other question, "swaps" mixes up yes and no half the time, "spams"
answers at random."""
INFORMATION_NOTES = """\
Mutual information of the true answer and the groups of the rows, in nats, by `clew.questions`."""
FITS_NOTES = """\
CPU seconds of the last fit, on one thread; choosing parameters is a part of it where the method
does so itself (DCRC, SKLR), and is not where the study does (ITML, MMC, LSML, SparseLP). The paper
has under two minutes for 1500 triplets on Birdsong."""
MEASURES = {"f": "F-measure", "ari": "ARI", "nmi": "NMI"}


def report(results: DcrcResults, *, is_quick: bool) -> str:
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
    study = results.study
    shares = ", ".join(f"{share:g} N" for share in study.shares)
    lines = opening(
        "DCRC: Figures 2 and 4 to 7, Table V", NOTES, f"{study.n_trials} trials, {shares}.",
        sources=results.sources(), remedy="`--fresh`", n_missing=results.n_missing(),
        is_quick=is_quick, absent=study.absent_sets,
    )  # fmt: skip
    lines += ["", "## In short", "", *in_short(results), ""]
    lines += ["## Figure 2: what an answer tells", "", INFORMATION_NOTES, ""]
    lines += [f"![Figure 2]({picture_name(study, 'information')})", ""]
    lines += ["## Figure 4: by the number of triplets", ""]
    lines += [f"![Figure 4]({picture_name(study, 'curves')})", ""]
    lines += [*_curves(results), *_boundaries(results)]
    for title, stem in (("6: soft and hard", "hard"), ("7: balance", "balance")):
        lines += [f"## Figure {title}", "", f"![Figure {title}]({picture_name(study, stem)})", ""]
    lines += _people(results)
    lines += ["## Time", "", FITS_NOTES, "", _seconds(results), ""]
    lines += ["## What the paper says", "", *findings(results)]
    return "\n".join(lines).rstrip() + "\n"


def _at(method: Method, cell: Cell) -> tuple[Method, Cell]:
    return method, cell if method.uses_answers else NO_ANSWERS


def _curves(results: DcrcResults) -> Iterator[str]:
    cells = [NO_ANSWERS, *results.study.curve]
    for name in results.study.found_sets:
        for field, label in MEASURES.items():
            rows: list[Row] = [(m.label, [_at(m, cell) for cell in cells]) for m in METHODS]
            header = [f"{name}, {label}", *(f"{cell.share:g} N" for cell in cells)]
            yield score_table(results, name, header, rows, field, Score.with_interval)
            yield ""


def _boundaries(results: DcrcResults) -> list[str]:
    rows = [
        [f"groups {spread}", *(mean_share(spread, kind) for kind in EPSILONS)] for spread in SPREADS
    ]
    title = "Figure 5: soft and hard answers near boundaries"
    return [
        f"## {title}", "", f"![{title}]({picture_name(results.study, 'entropy')})", "",
        f"Share of rows in the right group, {N_DRAWS} draws. The paper has, soft and hard, .883 "
        "and .833 close together, 1 and 1 far apart.",
        "", harness.markdown_table(["", *EPSILONS], rows), "",
    ]  # fmt: skip


def _people(results: DcrcResults) -> list[str]:
    lines: list[str] = []
    found_sets = results.study.found_sets
    if BIRDS in found_sets:
        lines += ["## Table V: one person", "", PEOPLE_NOTES, ""]
        rows: list[Row] = [("k-means", [(KMEANS, NO_ANSWERS)])]
        rows += [("DCRC without answers", [(DEFAULT, NO_ANSWERS)])]
        rows += [(f"{m.label}, {_heard(m)}", [(m, ONE)]) for m in ONE_PERSON]
        rows += [(f"{m.label}, 225 pairs", [(m, MORE)]) for m in ONE_PERSON_PAIRS]
        lines += [_measured(results, BIRDS, rows), ""]
    asked = [name for name in found_sets if SIX in results.study.cells(name)]
    lines += ["## Annotators who differ", "", SIX_NOTES, ""] if asked else []
    for name in asked:
        rows = [("k-means", [(KMEANS, NO_ANSWERS)])]
        rows += [(m.label, [(m, SIX)]) for m in SIX_PEOPLE]
        lines += [_measured(results, name, rows), ""]
    return lines


def _heard(method: Method) -> str:
    return "150 pairs" if method.hears == "pairs" else "150 triplets"


def _measured(results: DcrcResults, name: str, rows: Sequence[Row]) -> str:
    """Lay out a column for each measure."""
    tables = [
        score_table(results, name, [name, label], rows, field, Score.with_interval)
        for field, label in MEASURES.items()
    ]
    columns = [[line.split("|")[1:-1] for line in table.splitlines()] for table in tables]
    cells = [
        [first.strip(), *(column[i][1].strip() for column in columns)]
        for i, (first, _) in enumerate(columns[0])
        if i != 1
    ]
    return harness.markdown_table(cells[0], cells[1:])


def _seconds(results: DcrcResults) -> str:
    most = results.study.curve[-1]
    rows: list[list[object]] = []
    for method in METHODS:
        scores = [
            results.score(name, _at(method, most)[1], method, "fit_seconds")
            for name in results.study.found_sets
        ]
        rows.append([method.label, *(f"{s.mean:.2f}" if s.mean == s.mean else "–" for s in scores)])
    return harness.markdown_table([most.name, *results.study.found_sets], rows)
