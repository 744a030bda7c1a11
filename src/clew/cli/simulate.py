"""``clew simulate``: how many questions a collection with known classes would need."""

from __future__ import annotations

import json
from typing import Any

import click

from clew.cli._options import (
    INPUT,
    OUTPUT,
    check_different_files,
    distance_options,
    jobs_option,
    message_options,
    seed_option,
    standardize_option,
    table_options,
)

__all__ = ["simulate"]

STRATEGIES = (
    "guided",
    "random",
    "uncertain",
    "most_probable",
    "explore_consolidate",
    "min_max",
    "cac1",
    "cobra",
    "cobras",
    "active_spectral",
    "correlation_information",
    "expected_change",
    "margin",
)
#: The strategies above that need a number of groups, and those that take none.
NEED_NUMBER = ("explore_consolidate", "min_max", "active_spectral", "expected_change")
WITHOUT_NUMBER = ("cobra", "cobras")
PLOTS = (".png", ".svg", ".pdf")
OUTPUTS = ("output", "plot")
#: What the file of each parameter holds, for messages.
WHAT = {
    "items": "the rows",
    "ids": "the ids (--ids)",
    "output": "the curve (-o)",
    "plot": "the picture (--plot)",
}


@click.command()
@click.argument("items", metavar="X.csv|X.parquet|X.npy|X.npz", type=INPUT)
@click.option(
    "--truth",
    required=True,
    metavar="COLUMN|FILE",
    help="The class of each row: a column of the table, which is then not used as a feature; "
    "or a file with one class on each line, or an array .npy.",
)
@click.option(
    "--error",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="Share of wrong answers.",
)
@click.option(
    "--dont-know",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Share of answers that are don't-know.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    help="Number of answers.  [default: three for each row]",
)
@click.option(
    "--strategy",
    "strategies",
    type=click.Choice(STRATEGIES),
    multiple=True,
    default=("guided",),
    show_default=True,
    help="How questions are chosen; give several to compare them.",
)
@click.option(
    "-k",
    "--n-groups",
    type=click.IntRange(min=1),
    help=f"Number of groups, which {', '.join(NEED_NUMBER)} need.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of simulations, with different errors; figures are means.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="CURVE.csv",
    help="Where to write the curve: strategy, repeat, answers, jaccard, ari.",
)
@click.option(
    "--plot",
    type=OUTPUT,
    metavar="CURVE.png|CURVE.svg",
    help="Where to draw the curve; needs matplotlib.",
)
@distance_options
@table_options
@standardize_option()
@seed_option("curve")
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print the curve and a summary as JSON.")
@message_options
def simulate(as_json: bool, **options: Any) -> None:
    """Estimate how many questions people would have to answer.

    Simulates people who answer questions about rows of known classes, some of them wrongly, and
    prints how well the groups agree with the classes as answers arrive: the Jaccard index of
    pairs (pairs that are together in both, as a share of those together in either) and the adjusted
    Rand index.

    \b
    clew simulate wines.csv --truth kind
    clew simulate wines.csv --truth kind --error 0.2 --budget 300 --plot curve.png
    clew simulate X.npy --truth classes.txt --strategy guided --strategy random -o curve.csv
    """  # noqa: D301 - click's mark for lines to keep
    _check(options)
    from clew.cli._simulation import SimulationJob, run, table

    found = run(SimulationJob.of(options))
    click.echo(json.dumps(found) if as_json else table(found))


def _check(options: dict[str, Any]) -> None:
    """Refuse options that contradict each other, before anything is read."""
    if options["error"] + options["dont_know"] > 1:
        raise click.UsageError("--error and --dont-know must not add up to more than 1")
    options["strategies"] = tuple(dict.fromkeys(options["strategies"]))
    for name in options["strategies"]:
        if name in NEED_NUMBER and options["n_groups"] is None:
            raise click.UsageError(f"--strategy {name} needs --n-groups")
        if name in WITHOUT_NUMBER and options["n_groups"] is not None:
            raise click.UsageError(f"--strategy {name} takes no --n-groups; leave it out")
    for name in OUTPUTS:
        if str(options[name]) == "-":
            raise click.UsageError(f"--{name} needs the name of a file")
    plot = options["plot"]
    if plot is not None and plot.suffix.lower() not in PLOTS:
        raise click.UsageError(f"--plot {plot}: the name must end in {', '.join(PLOTS)}")
    check_different_files(options, WHAT, OUTPUTS)
