"""Curves of single methods, made of the results of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.papers._pictures import line
from benchmarks.papers._relative.methods import Method
from benchmarks.papers._relative.study import Cell, Results

__all__ = ["draw_curve"]


def draw_curve(
    place: Any,
    results: Results[Any],
    name: str,
    points: tuple[Method, Sequence[Cell]],
    x: Sequence[float],
    field: str,
    **style: Any,
) -> None:
    """Draw one method, over the trials that are complete and refused at no point.

    Parameters
    ----------
    place : matplotlib axes
        Where.
    results : Results
        What to draw.
    name : str
        The set.
    points : tuple of Method and sequence of Cell
        The method, and where along `x` it is.
    x : sequence of float
        Horizontal places.
    field : str
        The score.
    **style : dict
        "color" and others that matplotlib has.
    """
    method, cells = points
    found = [results.values(name, cell, method, field) for cell in cells]
    trials = sorted(set.intersection(*map(set, found)))
    curves = [[values[t] for values in found] for t in trials]
    stroke = "-" if method.uses_answers else ":"
    line(place, x, curves, **({"label": method.label, "marker": "o", "linestyle": stroke} | style))
