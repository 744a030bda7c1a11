"""``clew compile``: compile all kernels now."""

from __future__ import annotations

import click

from clew.cli._options import QUIET


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
