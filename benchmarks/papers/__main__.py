"""``python -m benchmarks.papers NAME``: a command for each paper."""

from __future__ import annotations

import click

from benchmarks.papers.clustrf.command import command as clustrf
from benchmarks.papers.cop_rf.command import command as cop_rf
from benchmarks.papers.dcrc.command import command as dcrc
from benchmarks.papers.guided.command import command as guided
from benchmarks.papers.sklr.command import command as sklr


@click.group()
def main() -> None:
    """Run the tables and figures of the papers again."""


for command in (clustrf, cop_rf, dcrc, guided, sklr):
    main.add_command(command)

if __name__ == "__main__":
    main(prog_name="python -m benchmarks.papers")
