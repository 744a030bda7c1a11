"""``python -m benchmarks.papers NAME``: a command for each paper."""

from __future__ import annotations

import click

from benchmarks.papers.clustrf.command import command as clustrf
from benchmarks.papers.cop_rf.command import command as cop_rf


@click.group()
def main() -> None:
    """Run the tables and figures of the papers anew."""


main.add_command(clustrf)
main.add_command(cop_rf)

if __name__ == "__main__":
    main(prog_name="python -m benchmarks.papers")
