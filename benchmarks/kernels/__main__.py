"""Speed and memory: ``python -m benchmarks.kernels forest constrained --quick``."""

from importlib import import_module

import click

from benchmarks.kernels._page import carry_out

#: Module and name of each page.
PAGES = {
    "forest": ("forest", "PAGE"), "constrained": ("constrained", "PAGE"),
    "metrics": ("metrics", "PAGE"), "relative": ("fits", "RELATIVE"), "guided": ("fits", "GUIDED"),
    "guided_many": ("fits", "GUIDED_MANY"), "questions": ("questions", "PAGE"),
    "distances": ("distances", "PAGE"), "medoids": ("medoids", "PAGE"),
}  # fmt: skip


@click.command()
@click.argument("pages", nargs=-1, type=click.Choice(list(PAGES)))
@click.option("--quick", is_flag=True, help="Small cases, one run each, written to other files.")
@click.option("--only", default="", help="Only cases whose label has this text. Writes no files.")
def main(pages: tuple[str, ...], quick: bool, only: str) -> None:
    """Time clew and other software, print the tables and write them; all PAGES by default."""
    for name in pages or PAGES:
        module, page = PAGES[name]
        found = getattr(import_module(f"benchmarks.kernels.{module}"), page)
        carry_out(found, is_quick=quick, only=only)


if __name__ == "__main__":
    main()
