"""``clew cluster``: groups from a file of features, and from a file of answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

__all__ = ["cluster"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT = click.Path(path_type=Path)
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
#: Options that mean something to some methods only.
METHODS_OF = {
    "n_trees": ("coprf", "clustrf"),
    "mode": ("coprf",),
    "trust": ("coprf",),
}


@click.command()
@click.argument("items", metavar="X.npy|X.csv|X.parquet", type=FILE)
@click.option(
    "-k",
    "--n-clusters",
    type=click.IntRange(min=1),
    help="Number of groups.  [default: guided chooses it, by the answers; others want it]",
)
@click.option(
    "-c",
    "--constraints",
    type=FILE,
    metavar="ANSWERS.csv|ANSWERS.jsonl",
    help="Answers to follow: a table kind,i,j,k,answer,annotator,weight of row numbers, from 0.",
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="guided",
    show_default=True,
    help="guided joins many ways to group by what answers say of them; coprf and e2cp follow "
    "answers in a similarity; pckmeans and mpckmeans softly, in k-means; copkmeans and linkage "
    "keep every answer; sklr (a kernel) and itml (a metric) learn distances from them, for "
    "k-means; dcrc fits a model of groups; clustrf and spectral refuse answers. guided, sklr and "
    "dcrc take triplets and odd-one-out answers too. sklr, itml and dcrc standardise the features, "
    "and guided does where their units differ; the forests coprf and clustrf do not mind units; "
    "all others take features as they are.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="CLUSTERS.csv",
    help="Where to write the groups.  [default: the standard output]",
)
@click.option(
    "--doubtful",
    type=OUTPUT,
    metavar="DOUBTFUL.csv",
    help="Where to write the answers that look wrong.  [default: doubtful.csv beside -o]",
)
@click.option(
    "--mode",
    type=click.Choice(["soft", "hard"]),
    default="soft",
    show_default=True,
    help="coprf: weigh answers against features, or take them as binding on every tree.",
)
@click.option(
    "--trust",
    type=click.Choice(["auto", "posterior", "inconsistency", "none"]),
    default="auto",
    show_default=True,
    help="coprf: how to find answers not to believe; none believes all, and refuses "
    "contradictions when --mode is hard.",
)
@click.option(
    "--n-trees",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="coprf, clustrf: size of the forest.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="The same seed gives the same groups.",
)
@click.option(
    "-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is one a core."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a summary as JSON; groups go to clusters.csv without -o.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Say what is being done.")
@click.pass_context
def cluster(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Group the rows of a file.

    Reads .npy, .npz, .csv and .parquet. A table may have a column "id". Writes a table with
    id, cluster, confidence, doubtful, doubt_reason and n_answers.

    \b
    clew cluster X.npy --n-clusters 10 -o clusters.csv
    clew cluster X.csv --constraints answers.csv --n-clusters 10 -o clusters.csv
    """  # noqa: D301 - click's mark for lines to keep
    _check(ctx, as_json, options)
    from clew.cli._grouping import Job, run

    summary = run(Job.of(options))
    if as_json:
        click.echo(json.dumps(summary))


def _check(ctx: click.Context, as_json: bool, options: dict[str, Any]) -> None:
    """Refuse options that would do nothing, and files that would be lost."""
    method = options["method"]
    for name, methods in METHODS_OF.items():
        is_given = ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
        if is_given and method not in methods:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} means nothing to the method {method}; leave it out")
    if options["n_clusters"] is None and method != "guided":
        raise click.UsageError(f"--n-clusters is missing: the method {method} does not choose it")
    if str(options["output"]) == "-":
        options["output"] = None
    if as_json and options["output"] is None:
        options["output"] = Path("clusters.csv")
    if options["constraints"] is None and options["doubtful"] is not None:
        raise click.UsageError("--doubtful needs --constraints: without answers none is doubted")
    if options["jobs"] == 0:
        raise click.BadParameter("0 threads do no work; -1 is one a core", param_hint="--jobs")
    _check_different_files(options)


def _check_different_files(options: dict[str, Any]) -> None:
    """Refuse to write over what is read, and one result over the other."""
    if options["constraints"] and options["output"] and options["doubtful"] is None:
        options["doubtful"] = options["output"].with_name("doubtful.csv")
    seen: dict[Path, str] = {}
    for name in ("items", "constraints", "output", "doubtful"):
        path = options[name]
        if path is None:
            continue
        if path.resolve() in seen and name in ("output", "doubtful"):
            raise click.UsageError(
                f"{path} would be written over: it holds the {seen[path.resolve()]} too; "
                f"name another file for the {name}"
            )
        seen.setdefault(path.resolve(), name)
