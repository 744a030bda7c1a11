"""Data sets with known classes, for examples and benchmarks."""

from clew.datasets._generators import make_face_like, make_leaf_like
from clew.datasets._load import Dataset, Pictures, load, load_pictures

__all__ = ["Dataset", "Pictures", "load", "load_pictures", "make_face_like", "make_leaf_like"]
