"""Speed and memory: ``python -m benchmarks.kernels forest constrained --quick``."""

from importlib import import_module

import click

from benchmarks.kernels._page import carry_out

#: Module and name of each page.
PAGES = {
    "forest": ("forest", "PAGE"), "constrained": ("constrained", "PAGE"),
    "metrics": ("metrics", "PAGE"), "relative": ("fits", "RELATIVE"), "guided": ("fits", "GUIDED"),
    "guided_many": ("fits", "GUIDED_MANY"), "questions": ("questions", "PAGE"),
    "distances": ("distances", "PAGE"),
