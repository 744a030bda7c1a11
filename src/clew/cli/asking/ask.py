"""``clew ask``: questions to a person at the terminal, one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from clew.cli._options import (
    OUTPUT,
    PROJECT,
    Kinds,
    check_different_files,
    is_given,
    login_name,
    n_groups_option,
    rows_options,
    take_project,
)

#: What the file of each parameter holds, for messages.
WHAT = {"items": "the items", "ids": "the ids (--ids)", "answers": "the answers (--answers)"}
IMAGES = ("auto", "blocks", "kitty", "iterm", "file")


@click.command()
@click.argument(
    "items",
    metavar="[FOLDER|X.csv|X.txt|X.parquet|X.npy|X.npz]",
    type=click.Path(exists=True, path_type=Path),
    required=False,
)
@PROJECT
@click.option(
    "-a",
    "--answers",
    type=OUTPUT,
    default=Path("answers.jsonl"),
    metavar="ANSWERS.jsonl",
    help="Where the answers are kept. If the file exists, questions continue where it ends.",
)
@click.option(
    "--kinds",
    type=Kinds(),
    default=("pair",),
    show_default="pair",
    metavar="auto|pair,triplet,odd_one_out,which_of,confirm",
    help="What is asked: whether two are the same; which of two is more like a third; which of "
    "three is the odd one out; to which of up to six groups one belongs; which of up to eight "
    "members do not belong to their group. auto: pairs and groups, whichever tell most per second.",
)
@click.option(
    "-n",
    "--n-questions",
    type=click.IntRange(min=1),
    metavar="N",
    help="End after this many answers.  [default: when there is nothing left to ask]",
)
@click.option(
    "--annotator",
    default=login_name,
    show_default="your login name",
    metavar="NAME",
    help="Who answers; kept with each answer.",
)
@n_groups_option("Number of groups, if you know it.")
@click.option(
    "--examples",
    "n_examples",
    type=click.IntRange(0, 3),
    default=3,
    show_default=True,
    metavar="N",
    help="Show up to N further items of its group beside an item whose group is settled; 0: none.",
)
@click.option(
    "--images",
    type=click.Choice(IMAGES),
    default="auto",
    help="How images are shown: drawn with colored blocks, by the protocols of kitty or iTerm2, or "
    "only in a file.",
)
@rows_options(
    "questions",
    json="For programs: print each question as a line of JSON, and read each answer from a line.",
    standardize=None,
)
@click.pass_context
def ask(ctx: click.Context, /, **options: Any) -> None:
    """Ask which items are the same, one question after the other.

    In a project, or with --project, items come from the project and answers go to it; else items
    are read from a file, and answers are kept in another one. Shows two items, or three, and waits
    for a key: s same, d different, k don't know, u undo, q quit. Each answer is on disk before the
    next question. The next call continues where this one stopped. After 20 answers, Enter shows how
    sure the groups are, how many questions are left, and which answers look wrong. Without a
    terminal, words are read from the standard input, one a line.

    The exit status is 3 if there is nothing left to ask.

    \b
    clew ask
    clew ask photos
    clew ask birds.csv --answers birds.jsonl --annotator ann
    clew ask texts.txt --kinds odd-one-out -n 50
    clew group photos --answers answers.jsonl --report report.html
    """  # noqa: D301 - click's mark for lines to keep
    if str(options["items"]) == "-":
        raise click.UsageError("the standard input is for the answers; name a file of items")
    if take_project(ctx, options, "a folder or a file of items"):
        if is_given(ctx, "answers"):
            raise click.UsageError("the answers of a project are in it; leave --answers out")
        options["answers"] = options["items"] / ".clew"
    else:
        check_different_files(options, WHAT, ("answers",))
        if options["answers"].suffix.lower() in (".csv", ".tsv", ".txt", ".parquet", ".xlsx"):
            raise click.UsageError(
                f"clew ask keeps answers as JSON lines: name a new file, such as "
                f"{options['answers'].with_suffix('.jsonl')}; clew group -c reads answers of tables"
            )
    from clew.cli.asking._loop import AskJob
    from clew.cli.asking._run import run

    ctx.exit(run(AskJob.of(options)))
