"""The command line. A command imports its libraries when it runs, so that help appears at once."""

from __future__ import annotations

import click

from clew.cli._words import Commands
from clew.cli.annotator import annotator
from clew.cli.asking.ask import ask
from clew.cli.demo import compile_command, demo
from clew.cli.group import explain, group
from clew.cli.import_export import export, import_
from clew.cli.project import add, backup, init, migrate, set_aside
from clew.cli.review import review
from clew.cli.serve import serve, worker_command
from clew.cli.simulate import simulate
from clew.cli.status import doctor, status
from clew.cli.subclusters import subclusters

__all__ = ["main"]


@click.group(
    cls=Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "CLEW",
        "show_default": True,
    },
)
@click.version_option(package_name="clew", message="%(package)s %(version)s")
def main() -> None:
    """Group a collection the way people see it.

    Results go to the standard output, messages to the standard error. The exit status is 0 if the
    work is done, 1 if it failed, 2 if the command is wrong, 130 after Ctrl-C.
    """


for command in (
    add, annotator, ask, backup, compile_command, demo, doctor, explain, export, group, import_,
    init, migrate, review, serve, set_aside, simulate, status, subclusters, worker_command,
):  # fmt: skip
    main.add_command(command)
