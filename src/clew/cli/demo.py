"""``clew demo``: images grouped with the answers of simulated people; ``clew compile`` for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from clew.cli._options import JOBS, OUTPUT, QUIET, is_given

#: The number of pairs of 1,797 images.
MAX_ANSWERS = 1797 * 1796 // 2
#: Number of questions of ``--ask``.
N_ASKED = 20


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
    "--error", type=click.FloatRange(0, 1), default=0.1, help="Probability that an answer is wrong."
)
@click.option(
    "--ask",
    "asks",
    is_flag=True,
    help="Ask you, about 109 color pictures: 20 questions, or --n-answers.",
)
@JOBS
@click.option("--open/--no-open", "opens", default=False, help="Open the report in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@QUIET
@click.pass_context
def demo(
    ctx: click.Context, /, as_json: bool, opens: bool, quiet: bool, asks: bool, **options: Any
) -> None:
    """Group 1,797 images of digits with the help of answers.

    Simulated people answer questions about random pairs of images, and sometimes err. Prints how
    well clew with and without answers and Ward linkage find the digits, and how many of the
    answers that look wrong are wrong. Writes the images, the answers, and the report of clew group.

    With --ask you answer yourself: a project of color pictures is made in FOLDER/pictures, and
    your answers group it. The next call goes on where you stopped.

    \b
    clew demo
    clew demo --json
    clew demo --ask
    """  # noqa: D301 - click's mark for lines to keep
    folder = options.pop("output")
    if asks:
        for name in ("seeds", "error"):
            if is_given(ctx, name):
                raise click.UsageError(
                    f"--{name} is about simulated people; leave it out with --ask"
                )
        from clew.cli._demo import ask_and_group

        n = options["n_answers"] if is_given(ctx, "n_answers") else N_ASKED
        status, figures = ask_and_group(
            ctx, folder, n=n, jobs=options["jobs"], quiet=quiet or as_json
        )
        if as_json and figures:
            click.echo(json.dumps(figures))
        if status:
            ctx.exit(status)
    else:
        from clew.cli._demo import Setting, run

        figures, table = run(Setting(**options), folder, quiet=quiet)
        if as_json:
            click.echo(json.dumps(figures))
        else:
            table()
    if opens:
        click.launch(str(folder / "report.html"))


@click.command("compile")
@click.option("--demo", is_flag=True, help="Only what clew demo needs.")
@QUIET
def compile_command(demo: bool, quiet: bool) -> None:
    """Compile the kernels of all methods.

    Every method compiles its kernels when it first needs them, and keeps them on disk. This
    command compiles all of them, in a process per core. Run it once after installing.

    \b
    clew compile
    clew compile --demo
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._compilation import compile_kernels, expected_seconds
    from clew.cli._words import Words

    what, words = "demo" if demo else "all", Words(quiet=quiet)
    words.say(f"compiling, once per installation: about {expected_seconds(what):.0f} seconds")
    with words.bar("Compiling") as advance:
        compile_kernels(what, advance)
