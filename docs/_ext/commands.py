"""The directive ``clew-command``: usage and options of a command, read from the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from clew.cli import main

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _entry(names: str, words: str) -> nodes.definition_list_item:
    """One option: its names as code, then what it does."""
    term = nodes.term("", "", nodes.literal(names, names))
    return nodes.definition_list_item(
        "", term, nodes.definition("", nodes.paragraph(text=words))
    )


class ClewCommand(SphinxDirective):
    """Describe one command of ``clew``, named in the argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the usage line and the list of options."""
        name = self.arguments[0]
        command = main.commands.get(name)
        if command is None:
            raise self.error(
                f"clew has no command {name!r}; it has {sorted(main.commands)}"
            )
        context = click.Context(
            command,
            info_name=f"clew {name}",
            max_content_width=100,
            show_default=True,
        )
        usage = nodes.literal_block(
            text=command.get_usage(context).removeprefix("Usage: ")
        )
        usage["language"] = "text"
        options = nodes.definition_list()
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None:
                options += _entry(*record)
        return [usage, options]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("clew-command", ClewCommand)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
