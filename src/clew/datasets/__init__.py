"""Data sets with known classes, for examples and benchmarks."""

from clew.datasets._generators import make_face_like, make_leaf_like
from clew.datasets._load import Dataset, load

__all__ = ["Dataset", "load", "make_face_like", "make_leaf_like"]
