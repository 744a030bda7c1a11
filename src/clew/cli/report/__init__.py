"""Reports: HTML pages that need no other file and no network."""

from clew.cli.report._affinity import affinity_figure, graph_means, probability_means, shades
from clew.cli.report._page import (
    Section,
    card_list,
    definitions,
    facts,
    percent,
    render_page,
    table,
)
from clew.cli.report._png import data_uri, png

__all__ = [
    "Section",
    "affinity_figure",
    "card_list",
    "data_uri",
    "definitions",
    "facts",
    "graph_means",
    "percent",
    "png",
    "probability_means",
    "render_page",
    "shades",
    "table",
]
