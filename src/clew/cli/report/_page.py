"""The frame of a page: its template, and the parts that pages have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import NamedTuple

import numpy as np

__all__ = ["Section", "card_list", "definitions", "facts", "percent", "render_page", "table"]


#: Characters that stay in one line of a table.
MOST_UNWRAPPED = 32


class Section(NamedTuple):
    """A section of a page."""

    name: str
    """Its address within the page."""
    link: str
    """Its name in the list of sections; plain text."""
    title: str
    """Its heading; plain text."""
    html: str
    """What follows the heading."""


def render_page(
    *,
    brand: str,
    heading: str,
    lead: str,
    sections: Sequence[Section],
    seconds: float,
    style: str = "",
) -> str:
    """Return a page that needs no other file and no network.

    Parameters
    ----------
    brand : str
        What the page is, in two words; plain text.
    heading : str
        Heading and title; plain text.
    lead : str
        The paragraph below the heading; plain text.
    sections : sequence of Section
        What the page shows.
    seconds : float
        How long the work took.
    style : str, default=""
        Additional style sheet of this page.
    """
    folder = files("clew.cli.report")
    template = Template(folder.joinpath("page.html").read_text("utf-8"))
    return template.substitute(
        css=folder.joinpath("page.css").read_text("utf-8") + style,
        brand=escape(brand),
        heading=escape(heading),
        lead=escape(lead),
        links="".join(f'<a href="#{one.name}">{escape(one.link)}</a>' for one in sections),
        sections="\n".join(map(_section, sections)),
        version=escape(version("clew")),
        seconds=f"{seconds:,.1f}",
    )


def _section(section: Section) -> str:
    name = section.name
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{escape(section.title)}</h2>\n{section.html}\n</section>'
    )


def facts(figures: Iterable[tuple[str, str]]) -> str:
    """Return figures with what each counts, as HTML."""
    cells = "".join(
        f"<p><strong>{escape(figure)}</strong> {escape(words)}</p>" for figure, words in figures
    )
    return f'<div class="facts">{cells}</div>'


def card_list(cards: Iterable[str]) -> str:
    """Return cards side by side; nothing if there are none. Cards are HTML."""
    items = "".join(f"<li>{card}</li>" for card in cards)
    return f'<ul class="doubts">{items}</ul>' if items else ""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], label: str) -> str:
    """Return a table that can be scrolled sideways, as HTML. Cells are text.

    Parameters
    ----------
    header : sequence of str
        Name of each column.
    rows : iterable of sequence of str
        Cells of each row; the first says which row it is.
    label : str
        What the table shows, for screen readers.
    """
    head = "".join(_cell(name, "th", ' scope="col"') for name in header)
    lines = [
        _cell(first, "th", ' scope="row"') + "".join(map(_cell, cells)) for first, *cells in rows
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label)}">'
        f'<table class="rows"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(text: str, tag: str = "td", scope: str = "") -> str:
    """Return a cell; long text may wrap."""
    kind = ' class="long"' if len(text) > MOST_UNWRAPPED else ""
    return f"<{tag}{scope}{kind}>{escape(text)}</{tag}>"


def definitions(entries: Mapping[str, str]) -> str:
    """Return names with what each stands for, as HTML."""
    return (
        "<dl>"
        + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in entries.items())
        + "</dl>"
    )


def percent(share: np.floating | float) -> str:
    """Format a probability of being wrong; never as 100 %, because it is estimated."""
    return f"{min(100 * float(share), 99.9):.1f} %"
