"""Speed and memory: ``python -m benchmarks.kernels forest constrained --quick``."""

from importlib import import_module
from pathlib import Path

import click

from benchmarks.kernels._page import Page, carry_out

#: The pages of all modules, by name.
PAGES = {
    page.stem: page
    for path in sorted(Path(__file__).parent.glob("[!_]*.py"))
    for page in vars(import_module(f"benchmarks.kernels.{path.stem}")).values()
    if isinstance(page, Page)
}


@click.command()
@click.argument("pages", nargs=-1, type=click.Choice(list(PAGES)))
@click.option("--quick", is_flag=True, help="Small cases, one run each, written to other files.")
@click.option("--only", default="", help="Only cases whose label has this text. Writes no files.")
def main(pages: tuple[str, ...], quick: bool, only: str) -> None:
    """Time clew and other software, print the tables and write them; all PAGES by default."""
    for name in pages or PAGES:
        carry_out(PAGES[name], is_quick=quick, only=only)


if __name__ == "__main__":
    main()
