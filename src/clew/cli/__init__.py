"""The command line. Commands load what they need when they run, so that help comes at once."""

from __future__ import annotations

import click

from clew.cli._errors import Commands
from clew.cli.cluster import cluster
from clew.cli.compile import compile_command
from clew.cli.demo import demo

__all__ = ["main"]


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "CLEW"},
)
@click.version_option(package_name="clew", message="%(package)s %(version)s")
def main() -> None:
    """Group a collection the way people see it.

    Data goes to the standard output, words to the standard error. The exit status is 0 when the
    work is done, 1 when it failed, 2 when the command was misused, 130 when it was interrupted.
    """


main.add_command(cluster)
main.add_command(compile_command)
main.add_command(demo)
