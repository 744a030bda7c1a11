"""``clew compile``: compile all kernels now."""

from __future__ import annotations

import click

__all__ = ["compile_command"]


@click.command("compile")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def compile_command(quiet: bool) -> None:
    """Compile the kernels of all methods.

    Every method compiles its kernels when it first needs them, and keeps them on disk. This
    command compiles all of them, in a process per core. Run it once after installing.

    \b
    clew compile
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._compilation import compile_kernels
    from clew.cli._progress import Words

    with Words(quiet=quiet).bar("Compiling") as advance:
        compile_kernels(advance)
