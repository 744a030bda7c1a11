"""``clew simulate``: how many questions a collection with known classes would need."""

from __future__ import annotations

import json
from typing import Any

import click

from clew.cli._options import (
    INPUT,
    OUTPUT,
    PROJECT,
    Kinds,
    check_outputs,
    n_groups_option,
    output_option,
    rows_options,
    take_project,
)

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
#: What the file of each option holds, for messages.
INPUTS = {"items": "the rows", "ids": "the ids (--ids)"}
OUTPUTS = {"output": "the curve (-o)", "plot": "the picture (--plot)"}


@click.command()
@click.argument("items", metavar="[X.csv|X.parquet|X.npy|X.npz]", type=INPUT, required=False)
@PROJECT
@click.option(
    "--truth",
    required=True,
    metavar="COLUMN|FILE",
    help="The class of each row: a column of the table, which is then not used as a feature; "
    "or of the items of a project; or a file with one class on each line, or an array .npy.",
)
@click.option("--error", type=click.FloatRange(0, 1), default=0.1, help="Share of wrong answers.")
@click.option(
    "--dont-know",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Share of answers that are don't-know.",
)
@click.option(
    "--budget", type=click.IntRange(min=1), help="Number of answers.  [default: three for each row]"
)
@click.option(
    "--strategy",
    "strategies",
    type=click.Choice(STRATEGIES),
    multiple=True,
    default=("guided",),
    help="How questions are chosen; give several to compare them.",
)
@click.option(
    "--kinds",
    type=Kinds(),
    default=("pair",),
    show_default="pair",
    metavar="auto|pair,triplet,odd_one_out,which_of,confirm",
    help="What is asked; auto: pairs and groups, whichever tell most per second. Only guided asks "
    "other kinds than pairs.",
)
@n_groups_option(f"Number of groups, which {', '.join(NEED_NUMBER)} need.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    help="Number of simulations, with different errors; figures are means.",
)
@output_option(
    "CURVE.csv", "Where to write the curve: strategy, repeat, answers, minutes, jaccard, ari."
)
@click.option(
    "--plot",
    type=OUTPUT,
    metavar="CURVE.png|CURVE.svg",
    help="Where to draw the curve; needs matplotlib.",
)
@rows_options("curve", json="Print the curve and a summary as JSON.")
@click.pass_context
def simulate(ctx: click.Context, /, **options: Any) -> None:
    """Estimate how many questions people would have to answer.

    Simulates people who answer questions about rows of known classes, some of them wrongly, and
    prints how well the groups agree with the classes as answers arrive, and the minutes that one
    person takes, at 2 s a pair and 1.2 s and .4 s a group for groups: the Jaccard index of
    pairs (pairs that are together in both, as a share of those together in either) and the adjusted
    Rand index.

    \b
    clew simulate wines.csv --truth kind
    clew simulate wines.csv --truth kind --error 0.2 --budget 300 --plot curve.png
    clew simulate wines.csv --truth kind --kinds auto
    clew simulate X.npy --truth classes.txt --strategy guided --strategy random -o curve.csv
    """  # noqa: D301 - click's mark for lines to keep
    take_project(ctx, options, "a file of rows")
    _check(options)
    from clew.cli._simulation import SimulationJob, run, table

    found = run(SimulationJob.of(options))
    click.echo(json.dumps(found) if options["as_json"] else table(found))


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
    if options["kinds"] != ("pair",) and options["strategies"] != ("guided",):
        raise click.UsageError("--kinds other than pairs are asked by --strategy guided alone")
    check_outputs(options, INPUTS, OUTPUTS)
    plot = options["plot"]
    if plot is not None and plot.suffix.lower() not in PLOTS:
        raise click.UsageError(f"--plot {plot}: the name must end in {', '.join(PLOTS)}")
