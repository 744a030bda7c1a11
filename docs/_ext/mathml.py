"""Write formulas as MathML, which browsers draw by themselves: no script, no fetched font."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

# The converter passes on a command that it does not know, backslash and all.
_UNKNOWN_COMMAND = "&#x0005C;"


def _mathml(node: nodes.Element, display: str) -> str:
    """Convert one formula, and warn (which fails the build) if a part of it was not understood."""
    markup: str = convert(node.astext(), display=display)
    if _UNKNOWN_COMMAND in markup:
        logger.warning(
            "formula with an unknown command: %s", node.astext(), location=node
        )
    return markup


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number if it has a label."""
    writer.body.append(writer.starttag(node, "div", CLASS="formula"))
    writer.body.append(_mathml(node, "block"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({node["number"]})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
