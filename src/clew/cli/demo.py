"""``clew demo``: real images grouped with the answers of simulated people, who sometimes err."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from clew.cli._options import JOBS, OUTPUT, QUIET

#: The number of pairs of 1,797 images.
MAX_ANSWERS = 1797 * 1796 // 2


@click.command()
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    default=Path("clew-demo"),
    metavar="FOLDER",
    help="Where to write the report, the groups, and the images and answers that were grouped.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=3,
    help="Number of repetitions, each with other questions and errors.",
)
@click.option(
    "--n-answers",
    type=click.IntRange(1, MAX_ANSWERS),
    default=1000,
    help="Number of random pairs that are asked about.",
)
@click.option(
    "--error",
    type=click.FloatRange(0, 1),
    default=0.1,
    help="Probability that an answer is wrong.",
)
@JOBS
@click.option("--open/--no-open", "opens", default=False, help="Open the report in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@QUIET
def demo(as_json: bool, opens: bool, quiet: bool, **options: Any) -> None:
    """Group 1,797 images of digits with the help of answers.

    Simulated people answer questions about random pairs of images, and sometimes err. Prints how
    well clew with and without answers and Ward linkage find the digits, and how many of the
    answers that look wrong are wrong. Writes the images, the answers, and the report of clew group.

    \b
    clew demo
    clew demo --json
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._demo import Setting, run

    folder = options.pop("output")
    figures, table = run(Setting(**options), folder, quiet=quiet)
    if as_json:
        click.echo(json.dumps(figures))
    else:
        table()
    if opens:
        click.launch(str(folder / "report.html"))
