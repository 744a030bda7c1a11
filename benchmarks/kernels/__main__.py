"""Speed and memory: ``python -m benchmarks.kernels forest constrained --quick``."""

from importlib import import_module
from pathlib import Path

import click

from benchmarks.kernels._page import carry_out

#: Each page is a module.
PAGES = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


@click.command()
@click.argument("pages", nargs=-1, type=click.Choice(PAGES))
@click.option("--quick", is_flag=True, help="Small cases, one run each, written to other files.")
@click.option("--only", default="", help="Only cases whose label has this text. Writes no files.")
def main(pages: tuple[str, ...], quick: bool, only: str) -> None:
    """Time clew and other software, print the tables and write them; all PAGES by default."""
    for name in pages or PAGES:
        page = import_module(f"benchmarks.kernels.{name}").PAGE
        carry_out(page, is_quick=quick, only=only)


if __name__ == "__main__":
    main()
