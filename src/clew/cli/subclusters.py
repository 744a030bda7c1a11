"""``clew subclusters``: a few pure examples of each of many groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from clew.cli._options import (
    PROJECT,
    check_outputs,
    check_standardize,
    is_given,
    n_groups_option,
    output_option,
    project_and_store,
    report_option,
    rows_options,
    take_project,
)

#: What the file of each option holds, for messages.
INPUTS = {"items": "the rows", "ids": "the ids (--ids)"}
OUTPUTS = {"output": "the subclusters (-o)", "report": "the report (--report)"}


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
    metavar="[X.csv|X.parquet|X.npy|X.npz|-]",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    required=False,
)
@PROJECT
@n_groups_option("Number of subclusters.  [default: in a project, its number of groups]")
@click.option(
    "-n",
    "--size",
    type=click.IntRange(min=1),
    default=10,
    help="Number of rows of each subcluster.",
)
@output_option("SUBGROUPS.csv", "Where to write the subclusters.  [default: the standard output]")
@report_option(
    "Where to write a page to read: the rows of each subcluster, with pictures if --images is "
    "given."
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
    help="What keeps two subclusters from showing the same group. shared: the rows that wide "
    "neighborhoods share. penalty: a penalty for common rows. both: both of these. silhouette: "
    "both, and then wider gaps between centers. rule: the thesis' rule. auto tries the first four.",
)
@rows_options(
    "subclusters",
    json="Print a summary as JSON; the subclusters go to subclusters.csv unless -o names a file.",
    standardize="; not with --images",
)
@click.pass_context
def subclusters(ctx: click.Context, /, **options: Any) -> None:
    """Find a few pure examples of each of many groups.

    Reads the files that clew group reads. All rows that are not clear examples are left out.
    Writes a table with group, position (0 is the center), id and confidence. In a project, without
    --n-groups, they are the surest items of each of its groups.

    \b
    clew subclusters -n 10
    clew subclusters X.npy --n-groups 200 -n 10 -o subclusters.csv
    clew subclusters faces.npy --n-groups 40 -n 5 --images 64x64 --report report.html
    clew subclusters D.npy --distances --ids ids.txt --n-groups 20
    """  # noqa: D301 - click's mark for lines to keep
    is_project = take_project(ctx, options, "a file of rows")
    if options["n_groups"] is None and not is_project:
        raise click.UsageError("--n-groups is missing: how many subclusters are there?")
    if options["images"] is not None:
        if options["report"] is None:
            raise click.UsageError("--images has no effect without --report")
        if options["distances"]:
            raise click.UsageError("--images needs features, which are pixels, not --distances")
        if not is_given(ctx, "standardize"):
            options["standardize"] = "no"
    check_standardize(ctx)
    check_outputs(options, INPUTS, OUTPUTS, "subclusters.csv")
    if options["n_groups"] is None:
        summary = _of_groups(options)
    else:
        from clew.cli._subclusters import SubclusterJob, run

        summary = run(SubclusterJob.of(options))
    if options["as_json"]:
        click.echo(json.dumps(summary))


def _of_groups(options: dict[str, Any]) -> dict[str, Any]:
    """Write the surest items of each group of a project, its exemplars first."""
    from clew import exports
    from clew._files import csv_text
    from clew.cli._outputs import check_writable, write_with_table

    if options["report"] is not None:
        raise click.UsageError("--report needs --n-groups; clew group --report shows the groups")
    check_writable(options["output"])
    with project_and_store(options["project"]) as (_, store):
        sure = [one for one in exports.grouped(store) if one.group is not None and not one.doubt]
    sure.sort(key=lambda one: (one.group, not one.is_exemplar, one.exemplar or 0,
                               -(one.confidence or 0.0)))  # fmt: skip
    lines: list[tuple[Any, ...]] = []
    n_of: dict[Any, int] = {}
    for one in sure:
        at = n_of.setdefault(one.group, 0)
        if at < options["size"]:
            lines.append((one.group, at, one.item.id, one.confidence))
            n_of[one.group] += 1
    text = csv_text(("group", "position", "id", "confidence"), lines)
    write_with_table({}, options["output"], text, "subclusters.csv")
    output = options["output"]
    return {
        "groups": len(n_of),
        "rows": len(lines),
        "output": None if output is None else str(output),
    }
