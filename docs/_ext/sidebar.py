"""The sidebar's tree of pages, without the pages of the reference: these have an index of their own.

Sphinx copies the tree of all pages, with all their sections, for each page anew: half of the time
of a build.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

#: Pages below these are left out.
LEAVES = ("api",)


def _children(app: Sphinx, page: str) -> Iterator[tuple[str, str]]:
    """Titles and names of the pages that a page lists."""
    for tree in app.env.tocs[page].findall(addnodes.toctree):
        for title, child in tree["entries"]:
            yield title or app.env.titles[child].astext(), child


def _branch(
    app: Sphinx, page: str, current: str, level: int = 1
) -> tuple[str, bool]:
    """List the pages below a page, and say whether the current one is among them."""
    items, has_current = [], False
    for title, child in () if page in LEAVES else _children(app, page):
        below, is_current = _branch(app, child, current, level + 1)
        is_current |= child == current or current in app.env.toctree_includes.get(
            child, ()
        )
        has_current |= is_current
        mark = "current " if is_current else ""
        here = "current " if child == current else ""
        address = app.builder.get_relative_uri(current, child)
        items.append(
            f'<li class="{mark}toctree-l{level}"><a class="{here}reference internal" '
            f'href="{escape(address or "#")}">{escape(title)}</a>{below}</li>'
        )
    return ("<ul>" + "".join(items) + "</ul>" if items else ""), has_current


def add_tree(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Let the theme read this tree in place of Sphinx's own."""
    tree, _ = _branch(app, app.config.root_doc, page)
    context["toctree"] = lambda **options: tree


def setup(app: Sphinx) -> dict[str, Any]:
    """Run before the theme, which turns the tree into its own."""
    app.connect("html-page-context", add_tree, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
