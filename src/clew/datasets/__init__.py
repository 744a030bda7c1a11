"""Data sets with known classes, for examples and benchmarks."""

from clew.datasets._dataset import Dataset
from clew.datasets._faces import make_face_like
from clew.datasets._generators import make_leaf_like
from clew.datasets._load import load

__all__ = ["Dataset", "load", "make_face_like", "make_leaf_like"]
