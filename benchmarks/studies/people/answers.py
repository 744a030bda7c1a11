"""People's real answers: sets of ``human/`` in the folder `CLEW_DATA`, rows permuted by seed."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.study.problems import Floats, Ints
from clew import Constraints
from clew.exceptions import DatasetNotFoundError

#: Argument of `Constraints` and of its annotators, by the kind that a file names.
ARGUMENTS = {
    "pair": ("pairs", "pair_annotators"),
    "triplet": ("triplets", "triplet_annotators"),
    "odd": ("odd_one_out", "odd_one_out_annotators"),
}


class People(NamedTuple):
    """A set of answers."""

    kind: str  # One of `ARGUMENTS`, or "central"
    rows: Ints  # Rows of each question, (n_answers, 2) or (n_answers, 3)
    answer: Ints
    annotator: list[str]  # Names; empty if unknown
    names: list[str]  # Names of the rows
    classes: dict[str, Ints]  # Classes of the rows by name, -1 for none
    X: Floats | None
    pixels: Any  # Pictures of the rows, (n, side, side, 3), or None
    rating: Floats | None  # Ratings of pairs, from which the answers follow

    @property
    def n(self) -> int:
        return len(self.names)

    def constraints(self, *, is_named: bool = True) -> Constraints:
        rows, annotators = ARGUMENTS[self.kind]
        who = {annotators: self.annotator} if is_named and self.annotator else {}
        return Constraints(self.n, **{rows: np.column_stack([self.rows, self.answer])}, **who)


@lru_cache(maxsize=4)
def load(name: str, seed: int | None = None) -> People:
    """Load a set; a seed permutes its rows, as the order of a file may show the classes."""
    path = Path(os.environ.get("CLEW_DATA", "")) / "human" / f"{name}.npz"
    if not path.is_file():
        raise DatasetNotFoundError(f"no file human/{name}.npz in the folder CLEW_DATA")
    with np.load(path, allow_pickle=False) as file:
        data = {key: file[key] for key in file.files}
    n = len(data["names"])
    order = np.arange(n) if seed is None else np.random.RandomState(seed).permutation(n)
    place = np.argsort(order)
    X = data["X"][order] if "X" in data else None
    return People(
        str(data["kind"]),
        place[data["items"]],
        data["answer"].astype(np.int64),
        [str(who) for who in data["annotator"]] if "annotator" in data else [],
        data["names"][order].tolist(),
        {
            key[2:]: data[key][order].astype(np.int64)
            for key in data
            if key.startswith("y_") and not key.endswith("names")
        },
        None if X is None else _standardized(X.astype(float)),
        X.reshape(n, side := round((X[0].size / 3) ** 0.5), side, 3)
        if X is not None and X.dtype == np.uint8
        else None,
        data["rating"].astype(float) if "rating" in data else None,
    )


def _standardized(X: Floats) -> Floats:
    deviation = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
