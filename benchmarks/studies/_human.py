"""People's real answers: sets of ``human/`` in `CLEW_DATA`, simple methods and scores."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.cluster import AgglomerativeClustering

from benchmarks.study.problems import Floats, Ints
from clew import Constraints
from clew.answers import CODES
from clew.exceptions import DatasetNotFoundError
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import outcome_probabilities

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
    )


def _standardized(X: Floats) -> Floats:
    deviation = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


#: Number of possible answers of each kind, without "all alike" and don't-know.
N_DEFINITE = {"pair": 2, "triplet": 2, "odd_one_out": 3}
#: Annotators are compared with each other if at least this many of their answers are to questions
#: that others answered, too.
MIN_SHARED = 10


def net_counts(known: Constraints) -> tuple[Floats, Floats]:
    """Count, for each pair, answers "same" minus answers "different", and all answers."""
    pairs = known.as_pairs()
    n, (first, second) = known.n_samples, pairs.pairs.T
    counts = np.zeros((2, n, n))
    np.add.at(counts[0], (first, second), 2.0 * pairs.is_must_link - 1)
    np.add.at(counts[1], (first, second), 1.0)
    net, number = counts + counts.transpose(0, 2, 1)
    return net, number


class CountWard(BaseEstimator):
    """Ward's linkage on the rows of a matrix of shares: how often two rows are put together."""

    def __init__(self, n_clusters: int = 2) -> None:
        self.n_clusters = n_clusters

    def fit(self, X: object = None, y: object = None, *, constraints: Constraints) -> Self:
        net, number = net_counts(constraints)
        share = net / (number + 1) + np.eye(len(net))
        self.labels_ = AgglomerativeClustering(self.n_clusters).fit_predict(share)
        return self


class MajorityClosure(BaseEstimator):
    """Groups of rows that are connected by pairs which most people call the same."""

    def fit(self, X: object = None, y: object = None, *, constraints: Constraints) -> Self:
        joined: Any = csr_array(net_counts(constraints)[0] > 0)
        self.labels_ = connected_components(joined, directed=False)[1]
        return self


def groups_predict(known: Constraints, held: Constraints, labels: Ints) -> list[Floats]:
    """Predict answers from groups and confusion matrices of annotators, for each kind."""
    matrices, found = ConfusionMatrices().fit(known, labels).matrices_, []
    for table in held.tables:
        outcomes = outcome_probabilities(table.kind, [labels[rows] for rows in table.rows.T])
        p = np.einsum("mo,mol->ml", outcomes, matrices[table.kind][table.annotators])
        p = p[:, : N_DEFINITE[table.kind]]
        # The first label of a pair is "same", whose code is 1.
        p = p[:, ::-1] if table.kind == "pair" else p
        found.append(p / p.sum(axis=1, keepdims=True))
    return found


def held_out_scores(held: Constraints, predicted: list[Floats]) -> dict[str, float]:
    """Return mean log-loss and accuracy; a tie of k answers counts as 1/k."""
    losses, right = [], []
    for table, p in zip(held.tables, predicted, strict=True):
        given = p[np.arange(len(p)), table.answers][:, None]
        losses.append(-np.log(np.maximum(given[:, 0], 1e-9)))
        is_best = (given >= p - 1e-9).all(axis=1) if len(p) else np.zeros(0)
        right.append(is_best / np.maximum((p >= given - 1e-9).sum(axis=1), 1))
    return {
        "log_loss": float(np.concatenate(losses).mean()),
        "accuracy": float(np.concatenate(right).mean()),
    }


def agreement(known: Constraints) -> Floats:
    """Return for each annotator how often others gave the same answer to the same question."""
    same, number = np.zeros((2, len(known.annotators)))
    for table in known.tables:
        if not len(table):
            continue
        ordered = table.in_row_order()
        _, question = np.unique(ordered.rows, axis=0, return_inverse=True)
        code = ordered.answers - min(CODES[table.kind])
        counts = np.zeros((question.max() + 1, code.max() + 1))
        np.add.at(counts, (question.ravel(), code), 1)
        others = counts.sum(axis=1)[question.ravel()] - 1
        share = (counts[question.ravel(), code] - 1) / np.maximum(others, 1)
        np.add.at(same, ordered.annotators[others > 0], share[others > 0])
        np.add.at(number, ordered.annotators[others > 0], 1)
    return np.where(number >= MIN_SHARED, same / np.maximum(number, 1), np.nan)


def rank_correlation(ours: Any, theirs: Floats) -> float:
    """Return Spearman's rank correlation over the annotators that both know."""
    from scipy.stats import spearmanr

    both = ~np.isnan(ours) & ~np.isnan(theirs)
    if both.sum() < 5 or min(np.ptp(ours[both]), np.ptp(theirs[both])) == 0:
        return float("nan")
    return float(spearmanr(ours[both], theirs[both]).statistic)
