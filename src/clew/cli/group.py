"""``clew group``: groups from a file of rows and one of answers; ``clew explain``: why they are."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli._options import (
    INPUT,
    OUTPUT,
    PROJECT,
    NamesOrFile,
    answer_columns_options,
    check_answer_columns,
    check_outputs,
    check_standardize,
    is_given,
    n_groups_option,
    output_option,
    report_option,
    rows_options,
    take_project,
)

if TYPE_CHECKING:
    from clew.cli._groups import Saved
    from clew.cluster.guided._explain import Explanation

METHODS = (
    "guided",
    "coprf",
    "e2cp",
    "copkmeans",
    "pckmeans",
    "mpckmeans",
    "linkage",
    "sklr",
    "itml",
    "dcrc",
    "clustrf",
    "spectral",
)
#: Methods that take distances; the others need features.
OF_DISTANCES = ("guided", "e2cp", "copkmeans", "linkage", "spectral")
#: What the file of each option holds, for messages.
INPUTS = {"items": "the rows", "ids": "the ids (--ids)", "constraints": "the answers"}
OUTPUTS = {
    "output": "the groups (-o)",
    "doubtful": "the doubtful answers (--doubtful)",
    "report": "the report (--report)",
    "save": "the saved result (--save)",
}
#: Options that only some methods have.
METHODS_OF = {
    "n_trees": ("coprf", "clustrf"),
    "mode": ("coprf",),
    "trust": ("coprf",),
    "jobs": ("guided", "coprf", "clustrf", "e2cp", "dcrc"),
    "seed": tuple(method for method in METHODS if method != "linkage"),
    "save": ("guided",),
}
METHOD_HELP = """\
guided averages partitions that explain features and answers, weighted by probability. coprf and
e2cp learn a similarity from features and answers. pckmeans and mpckmeans are k-means with a penalty
for each violated answer. copkmeans and linkage satisfy all answers. sklr learns a kernel and itml a
metric, for k-means. dcrc fits a discriminative model. clustrf and spectral take no answers. Only
guided, sklr and dcrc take triplets and odd-one-out answers."""


@click.command()
@click.argument(
    "items",
    metavar="[FOLDER|X.csv|X.txt|X.parquet|X.npy|X.npz|X.zarr|-]",
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
    required=False,
)
@PROJECT
@n_groups_option("Number of groups.  [default: guided chooses it; other methods need it]")
@click.option(
    "-c",
    "-a",
    "--constraints",
    "--answers",
    "constraints",
    type=INPUT,
    metavar="ANSWERS.csv|ANSWERS.jsonl",
    help="Answers: a table with the columns kind,id_i,id_j,id_k,answer,annotator,weight, or with "
    "row numbers from 0 in i,j,k in place of ids.",
)
@answer_columns_options
@click.option("--method", type=click.Choice(METHODS), default="guided", help=METHOD_HELP)
@output_option("GROUPS.csv", "Where to write the groups.  [default: the standard output]")
@click.option(
    "--names",
    type=NamesOrFile(),
    metavar="'NAME,…'|FILE",
    help="Names of the groups, in the order of their numbers, which is that of their first rows: "
    "separated by commas, or one on each line of a file. They are in the table and in the report; "
    "groups beyond the last name keep their numbers.",
)
@click.option(
    "--doubtful",
    type=OUTPUT,
    metavar="DOUBTFUL.csv",
    help="Where to write the answers that look wrong.  [default: in the folder of -o; "
    "g.doubtful.csv for g.csv]",
)
@report_option(
    "Where to write a report as a web page: the groups with their most typical rows, which "
    "rows are together, and doubtful rows and answers with reasons."
)
@click.option(
    "--save",
    type=OUTPUT,
    metavar="RESULT.npz",
    help="guided: where to keep the result for clew explain.",
)
@click.option(
    "--mode",
    type=click.Choice(["soft", "hard"]),
    default="soft",
    help="coprf: weigh answers against features, or satisfy them in every tree.",
)
@click.option(
    "--trust",
    type=click.Choice(["auto", "posterior", "inconsistency", "none"]),
    default="auto",
    help="coprf: how to find wrong answers. none uses all answers as they are; with --mode hard it "
    "refuses answers that contradict each other.",
)
@click.option(
    "--n-trees",
    type=click.IntRange(min=1),
    default=1000,
    help="coprf, clustrf: size of the forest.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Read an array, X.zarr or X.npy, in blocks on the workers of this Dask scheduler, such as "
    "tcp://10.0.0.5:8786.  [default: X.zarr is read by this process, or by a local cluster if it "
    "takes more than half of the memory]",
)
@rows_options(
    "groups", json="Print a summary as JSON; the groups go to groups.csv unless -o names a file."
)
@click.pass_context
def group(ctx: click.Context, /, **options: Any) -> None:
    """Group the items of a project, the rows of a file, or the images of a folder.

    In a project, all answers are learned and the groups are kept in it, with lasting numbers and
    names; --method, other than guided, writes files alone.

    Reads .csv, .tsv, .parquet, .npy and .npz, also with .gz; - is the standard input. Columns of
    a table may hold numbers, categories, dates and free text; values may be missing. With
    --distances the file holds distances between the rows. A .txt file that is not a table holds one
    text a line. Without a file, the rows that answers name are grouped by the answers alone.
    Writes a table with id, group, name, confidence, doubtful, doubt_reason and n_answers; group
    counts from 0, as arrays do, and name is what reports say: "group 1", or a name of --names.

    \b
    clew group
    clew group X.csv -o groups.csv
    clew group X.csv --constraints answers.csv --n-groups 10 -o groups.csv
    clew group X.csv --constraints answers.csv -o groups.csv --report report.html
    clew group X.csv -k 3 --names 'red,white,rosé' -o groups.csv
    clew group photos --answers answers.jsonl -o groups.csv --report report.html
    clew group D.npy --distances --ids ids.txt -o groups.csv
    clew group --constraints answers.csv -o groups.csv
    clew group vectors.zarr --constraints answers.csv --dask tcp://10.0.0.5:8786 -o groups.csv
    """  # noqa: D301 - click's mark for lines to keep
    _check(ctx, options)
    if options["project"] is not None:
        from clew.cli._grouping import Job, run_in_project
        from clew.cli.status import status_text

        summary = run_in_project(Job.of(options))
        if not options["as_json"] and options["method"] == "guided":
            click.echo(status_text(summary))
    else:
        from clew.cli._grouping import Job, run

        job = Job.of(options)
        if options["dask"] is not None or options["items"].suffix.lower() == ".zarr":
            from clew.cli._blocks import run_in_blocks as run
        summary = run(job)
    if options["as_json"]:
        click.echo(json.dumps(summary))


def _check(ctx: click.Context, options: dict[str, Any]) -> None:
    """Refuse options without effect, and outputs that would overwrite another file."""
    method, n_groups = options["method"], options["n_groups"]
    if options["constraints"] is None or options["items"] is not None:
        take_project(ctx, options, "a file of rows, X.csv, or of answers, --constraints")
    elif options["project"] is not None and is_given(ctx, "project"):
        raise click.UsageError("answers come into a project with clew import answers ANSWERS")
    else:
        options["project"] = None
    _check_rows(options)
    for name, methods in METHODS_OF.items():
        if is_given(ctx, name) and method not in methods:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{option} has no effect with --method {method}; leave it out, or use "
                f"{' or '.join(methods)}"
            )
    if options["distances"] and method not in OF_DISTANCES:
        raise click.UsageError(
            f"--method {method} needs features; with --distances use {', '.join(OF_DISTANCES[:-1])}"
            f" or {OF_DISTANCES[-1]}"
        )
    check_standardize(ctx)
    if n_groups is None and method != "guided":
        raise click.UsageError(
            f"--n-groups is missing: --method {method} does not choose the number of groups"
        )
    if n_groups is not None and len(options["names"] or ()) > n_groups:
        raise click.UsageError(f"--names has {len(options['names'])} names for {n_groups} groups")
    is_file = options["project"] is None
    if options["constraints"] is None and options["doubtful"] is not None and is_file:
        raise click.UsageError("--doubtful needs --constraints: there are no answers to doubt")
    check_answer_columns(options, options["constraints"], "--answers ANSWERS.csv")
    if not is_file:
        for name in ("seed", "standardize", "drop"):
            if method == "guided" and is_given(ctx, name):
                raise click.UsageError(
                    f"--{name} is about a file; a project keeps how it is grouped"
                )
        if options["dask"] is not None:
            raise click.UsageError("--dask is about a file of rows; leave it out in a project")
        check_outputs(options, {}, OUTPUTS, "" if method == "guided" else "groups.csv")
        return
    _check_blocks(options)
    output = None if str(options["output"]) == "-" else options["output"]
    if options["as_json"] and output is None:
        output = Path("groups.csv")
    if options["constraints"] and output and options["doubtful"] is None:
        options["doubtful"] = output.with_name(f"{output.stem}.doubtful.csv")
    check_outputs(options, INPUTS, OUTPUTS, "groups.csv")


def _check_rows(options: dict[str, Any]) -> None:
    """Take the rows from the answers if no file holds them."""
    options["answers_alone"] = options["items"] is None
    if not options["answers_alone"]:
        return
    if options["distances"]:
        raise click.UsageError("--distances needs the file of distances: clew group D.npy …")
    if options["method"] != "guided":
        raise click.UsageError(
            f"--method {options['method']} needs a file of features; --method guided groups rows "
            "by answers alone"
        )
    options["items"] = options["constraints"]


def _check_blocks(options: dict[str, Any]) -> None:
    """Refuse options that need all rows in memory, where they are read in blocks."""
    if options["dask"] is None and options["items"].suffix.lower() != ".zarr":
        return
    for name in ("report", "save", "ids"):
        if options[name] is not None:
            raise click.UsageError(f"--{name} needs all rows in memory, which are read in blocks")
    if options["distances"] or options["method"] != "guided":
        raise click.UsageError("rows in blocks are features, and grouped by --method guided")


@click.command()
@click.argument("result", metavar="RESULT.npz", type=INPUT)
@click.argument("first", metavar="I")
@click.argument("second", metavar="J")
@click.option(
    "--rows",
    "by_row",
    is_flag=True,
    help="I and J are row numbers from 0.  [default: they are ids]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(result: Path, first: str, second: str, by_row: bool, as_json: bool) -> None:
    """Explain why two rows are together or apart.

    RESULT.npz comes from clew group --save. I and J are ids of rows; in a file without ids these
    are the row numbers from 0. Prints the answers about both rows, the shortest chain of other
    answers that joins or separates them, and the groups of the rows nearest to each.

    \b
    clew group wines.csv --constraints answers.csv -o groups.csv --save result.npz
    clew explain result.npz wine_000 wine_131
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._groups import explain_text, read_saved

    saved = read_saved(result)
    i, j = (_row(saved, value, by_row=by_row) for value in (first, second))
    if i == j:
        raise click.UsageError(f"I and J are the same row, {saved.ids[i]}; name two rows")
    found = saved.explain(i, j)
    if as_json:
        click.echo(json.dumps(_record(found, saved.ids)))
    else:
        click.echo(explain_text(found, saved.ids.__getitem__, saved.titles))


def _row(saved: Saved, value: str, *, by_row: bool) -> int:
    """Return the number of the row with an id."""
    n = len(saved.ids)
    if by_row:
        if value.isdecimal() and int(value) < n:
            return int(value)
        raise click.UsageError(f"{value!r} is not a row number from 0 to {n - 1}")
    try:
        return saved.ids.index(value.strip())
    except ValueError:
        hint = "; for row numbers add --rows" if value.isdecimal() else ""
        raise click.UsageError(
            f"there is no row with the id {value!r} (the first of {n:,} is {saved.ids[0]!r}){hint}"
        ) from None


def _record(found: Explanation, ids: list[str]) -> dict[str, Any]:
    """Return an explanation for JSON, with ids in place of row numbers."""
    answers = [
        {
            "kind": answer.kind,
            "ids": [ids[row] for row in answer.rows],
            "answer": answer.answer,
            "annotator": answer.annotator,
            "p_wrong": None if math.isnan(answer.p_wrong) else round(answer.p_wrong, 4),
        }
        for answer in found.answers
    ]
    return {
        "ids": [ids[row] for row in found.rows],
        "groups": list(found.groups),
        "p_together": round(found.p_together, 4),
        "answers": answers,
        "chain": [ids[row] for row in found.chain],
        "different_after": found.parted_at if found.parted_at >= 0 else None,
        "neighbors": [[ids[row] for row in near] for near in found.neighbors],
        "neighbors_in_own": list(found.neighbors_in_own),
        "neighbors_in_other": list(found.neighbors_in_other),
    }
