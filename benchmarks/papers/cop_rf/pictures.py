"""What all pictures of the study share."""

from __future__ import annotations

from benchmarks.papers._pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    legend_beside,
    line,
    matrix_picture,
    picture_name,
    saved,
    tidied,
)

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PINK",
    "RED",
    "SKY",
    "legend_beside",
    "line",
    "matrix_picture",
    "picture_name",
    "saved",
    "tidied",
]
