"""The demo's report: one HTML page that needs nothing else, and one picture."""

from clew.cli.report._collage import collage
from clew.cli.report._page import render

__all__ = ["collage", "render"]
