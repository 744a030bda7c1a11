"""``clew subclusters``: a few pure examples of each of many groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from clew.cli._options import (
    OUTPUT,
    check_different_files,
    distance_options,
    jobs_option,
    message_options,
    seed_option,
    standardize_option,
    table_options,
)

__all__ = ["subclusters"]

#: What the file of each parameter holds, for messages.
WHAT = {
    "items": "the rows",
    "ids": "the ids (--ids)",
    "output": "the subclusters (-o)",
    "report": "the report (--report)",
}


class Shape(click.ParamType[tuple[int, int]]):
    """Height and width of images, such as 28x28."""

    name = "shape"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Split height and width."""
        if isinstance(value, tuple):
            return value
        height, _, width = str(value).partition("x")
        if not (height.isdecimal() and width.isdecimal() and int(height) and int(width)):
            self.fail(f"{value!r} is not a height and a width, such as 28x28", param, ctx)
        return int(height), int(width)


@click.command()
@click.argument(
    "items",
    metavar="X.csv|X.parquet|X.npy|X.npz|-",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@click.option(
    "-k", "--n-groups", type=click.IntRange(min=1), required=True, help="Number of subclusters."
)
@click.option(
    "-n",
    "--size",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Number of rows of each subcluster.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="SUBGROUPS.csv",
    help="Where to write the subclusters.  [default: the standard output]",
)
@click.option(
    "--report",
    type=OUTPUT,
    metavar="REPORT.html",
    help="Where to write a page to read: the rows of each subcluster, with pictures if --images is "
    "given.",
)
@click.option(
    "--images",
    type=Shape(),
    metavar="HEIGHTxWIDTH",
    help="The features are the pixels of images of this shape, gray or RGB, line by line; the "
    "report shows them.",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=1),
    help="Number of random rows that may become centers.  [default: 10 to 25 for each subcluster]",
)
@click.option(
    "--overlap",
    type=click.Choice(["auto", "shared", "penalty", "both", "silhouette", "rule"]),
    default="auto",
    show_default=True,
    help="What keeps two subclusters from showing the same group. shared: the rows that wide "
    "neighborhoods share. penalty: a penalty for common rows. both: both of these. silhouette: "
    "both, and then wider gaps between centers. rule: the thesis' rule. auto tries the first four.",
)
@distance_options
@table_options
@standardize_option("; not with --images")
@seed_option("subclusters")
@jobs_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a summary as JSON; the subclusters go to subclusters.csv unless -o names a file.",
)
@message_options
@click.pass_context
def subclusters(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Find a few pure examples of each of many groups.

    Reads the files that clew group reads. All rows that are not clear examples are left out.
    Writes a table with cluster, position (0 is the center), id and confidence.

    \b
    clew subclusters X.npy --n-groups 200 -n 10 -o subclusters.csv
    clew subclusters faces.npy --n-groups 40 -n 5 --images 64x64 --report report.html
    clew subclusters D.npy --distances --ids ids.txt --n-groups 20
    """  # noqa: D301 - click's mark for lines to keep
    _check(ctx, as_json, options)
    from clew.cli._subclusters import SubclusterJob, run

    summary = run(SubclusterJob.of(options))
    if as_json:
        click.echo(json.dumps(summary))


def _check(ctx: click.Context, as_json: bool, options: dict[str, Any]) -> None:
    """Refuse options without effect, and outputs that would overwrite another file."""
    if str(options["output"]) == "-":
        options["output"] = None
    if str(options["report"]) == "-":
        raise click.UsageError("--report needs the name of a file; - works only for -o")
    if as_json and options["output"] is None:
        options["output"] = Path("subclusters.csv")
    if options["images"] is not None:
        if options["report"] is None:
            raise click.UsageError("--images has no effect without --report")
        if options["distances"]:
            raise click.UsageError("--images needs features, which are pixels, not --distances")
        if ctx.get_parameter_source("standardize") is not ParameterSource.COMMANDLINE:
            options["standardize"] = "no"
    if options["distances"] and (
        ctx.get_parameter_source("standardize") is ParameterSource.COMMANDLINE
    ):
        raise click.UsageError("--standardize has no effect with --distances; leave it out")
    check_different_files(options, WHAT, ("output", "report"))
