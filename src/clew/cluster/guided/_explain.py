"""Why two rows are together or apart: answers, chains of answers, and nearest rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from clew._validation import Allowed, is_dask
from clew.answers import ANSWER_WORDS, DIFFERENT, SAME, Kind
from clew.cluster.guided._result import most_probable_groups, probability_together
from clew.constraints import Constraints
from clew.exceptions import InvalidParameterError
from clew.trust import AnswerPosterior
from clew.trust.doubts import DOUBT


class GivenAnswer(NamedTuple):
    """An answer about both rows."""

    kind: Kind
    rows: tuple[int, ...]
    """Rows in the order of the question."""
    answer: str
    """The answer as a word."""
    annotator: str
    p_wrong: float
    """Probability that it is wrong; NaN for a don't-know and for weight 0."""
    names: tuple[Hashable, ...] = ()
    """Ids of the rows, or their numbers."""

    def __str__(self) -> str:
        who = self.annotator or "somebody"
        rows = ", ".join(map(str, self.names or self.rows))
        words = self.answer.replace("_", " ")
        doubt = "" if np.isnan(self.p_wrong) else f" (wrong with probability {self.p_wrong:.2f})"
        return f"{who} answered '{words}' about {rows}{doubt}"


class Explanation(NamedTuple):
    """Why two rows are together or apart; print it to read it."""

    rows: tuple[int, int]
    groups: tuple[int, int]
    """Group of each row."""
    p_together: float
    """Probability that they are in one group."""
    answers: list[GivenAnswer]
    """Answers about both rows."""
    chain: tuple[int, ...]
    """Shortest chain of rows from the first to the second in which answers that are not doubted
    imply that neighbors are the same, except for one pair of different rows if the two rows are
    apart; empty if there is none."""
    parted_at: int
    """Position in `chain` of the row that differs from the next one; -1 if there is none."""
    neighbors: tuple[list[int], list[int]]
    """Nearest rows of each, nearest first."""
    neighbors_in_own: tuple[int, int]
    """Number of these in the row's own group."""
    neighbors_in_other: tuple[int, int]
    """Number of these in the group of the other row."""
    names: Mapping[int, Hashable] | None = None
    """Ids of the two rows and of the rows in `chain`; None if ids are not known."""

    @property
    def are_together(self) -> bool:
        """Whether the rows are in one group."""
        return self.groups[0] == self.groups[1]

    def __str__(self) -> str:
        names = self.names or {row: row for row in (*self.rows, *self.chain)}
        i, j = (f"row {row}" if self.names is None else str(names[row]) for row in self.rows)
        where = (
            f"together in group {self.groups[0]}"
            if self.are_together
            else f"apart, in groups {self.groups[0]} and {self.groups[1]}"
        )
        lines = [f"{i} and {j} are {where}; probability of being together {self.p_together:.2f}"]
        lines += [f"- {answer}" for answer in self.answers]
        if not self.answers:
            lines.append("- there is no answer about both")
        if len(self.chain) > 2:
            marks = ["≠" if at == self.parted_at else "=" for at in range(len(self.chain) - 1)]
            chain = str(names[self.chain[0]]) + "".join(
                f" {mark} {names[row]}" for mark, row in zip(marks, self.chain[1:], strict=True)
            )
            lines.append(f"- answers that are not doubted imply {chain}")
        lines += [f"- {text}" for text in about_nearest(self, (i, j))]
        return "\n".join(lines)


def about_nearest(found: Explanation, names: tuple[str, str]) -> list[str]:
    """Say in which groups the rows nearest to each are; nothing if there are no features."""
    counts = zip(found.neighbors_in_own, found.neighbors_in_other, strict=True)
    return [
        f"of the {len(near)} rows nearest to {name}, {own} are in its group"
        + f" and {other} in the other" * (not found.are_together)
        for name, near, (own, other) in zip(names, found.neighbors, counts, strict=True)
        if near
    ]


def ids_of_frame(X: Any) -> list[Hashable] | None:
    """Return the index of a data frame of pandas if it tells rows apart; None of all else."""
    if not hasattr(X, "iloc") or not hasattr(X, "columns") or is_dask(X):
        return None
    index, n = X.index, len(X)
    is_own = index.is_unique and not index.isna().any() and index.tolist() != list(range(n))
    return index.tolist() if is_own else None


def row_number(known: Constraints, row: Hashable) -> int:
    """Look up a row by id; or by number, if there are no ids, or none that is an integer."""
    ids = known.ids
    if ids is not None and row in ids and not isinstance(row, bool):
        return ids.index(row)
    has_integer_ids = ids is not None and any(isinstance(name, int) for name in ids)
    if Allowed(kind=int, low=0, high=known.n_samples - 1).holds(row) and not has_integer_ids:
        return int(row)  # type: ignore[call-overload,no-any-return]
    allowed = f"an id like {ids[0]!r}" if ids else f"a row number in [0, {known.n_samples - 1}]"
    if ids is None and isinstance(row, str):
        allowed += (
            ", because neither the answers nor the data have ids (Constraints.with_ids, or the "
            "index of a data frame)"
        )
    raise InvalidParameterError(f"there is no row {row!r}: it must be {allowed}")


def explanation(
    rows: tuple[int, int],
    probabilities: Any,
    known: Constraints,
    doubts: AnswerPosterior,
    graph: csr_array,
) -> Explanation:
    """Collect the evidence for and against two rows being together.

    Parameters
    ----------
    rows : tuple of int
        Two row numbers.
    probabilities : ndarray or csr_array of shape (n_samples, n_groups)
        Probability of each group.
    known : Constraints
        The answers.
    doubts : AnswerPosterior
        Probability that each answer is wrong.
    graph : csr_array of shape (n_samples, n_samples)
        Affinities of neighbors, of the two rows at least.

    Returns
    -------
    Explanation

    Raises
    ------
    InvalidParameterError
        If the rows are not two different rows of the graph.
    """
    n = probabilities.shape[0]
    is_row = Allowed(kind=int, low=0, high=n - 1)
    i, j = rows
    if not (is_row.holds(i) and is_row.holds(j)) or i == j:
        raise InvalidParameterError(f"explain takes two different rows in [0, {n - 1}], got {rows}")
    i, j = int(i), int(j)
    label = most_probable_groups(probabilities)
    chain, parted_at = chain_of_answers(i, j, known, doubts, together=bool(label[i] == label[j]))
    near = tuple(_nearest(graph, row) for row in (i, j))
    names = None if known.ids is None else {row: known.ids[row] for row in (i, j, *chain)}
    return Explanation(
        (i, j),
        (int(label[i]), int(label[j])),
        probability_together(probabilities, i, j),
        _answers_about(i, j, known, doubts),
        chain,
        parted_at,
        (near[0].tolist(), near[1].tolist()),
        (int((label[near[0]] == label[i]).sum()), int((label[near[1]] == label[j]).sum())),
        (int((label[near[0]] == label[j]).sum()), int((label[near[1]] == label[i]).sum())),
        names,
    )


def _nearest(graph: csr_array, row: int) -> NDArray[np.int64]:
    here = slice(graph.indptr[row], graph.indptr[row + 1])
    order = np.argsort(-graph.data[here], kind="stable")
    return np.asarray(graph.indices[here][order], dtype=np.int64)


def _answers_about(
    i: int, j: int, known: Constraints, doubts: AnswerPosterior
) -> list[GivenAnswer]:
    found = []
    for table, p_wrong in zip(known.tables, doubts, strict=True):
        words = {code: word for word, code in ANSWER_WORDS[table.kind].items()}
        is_about_both = (table.rows == i).any(axis=1) & (table.rows == j).any(axis=1)
        for at in np.flatnonzero(is_about_both):
            rows = tuple(table.rows[at].tolist())
            found.append(
                GivenAnswer(
                    table.kind,
                    rows,
                    words[int(table.answers[at])],
                    known.annotators[table.annotators[at]],
                    float(p_wrong[at]),
                    tuple(map(known.name_of, rows)),
                )
            )
    return found


def chain_of_answers(
    i: int, j: int, known: Constraints, doubts: AnswerPosterior, *, together: bool
) -> tuple[tuple[int, ...], int]:
    """Find the shortest chain of answers, not doubted, by which two rows are together or apart.

    Parameters
    ----------
    i, j : int
        Rows.
    known : Constraints
        The answers.
    doubts : AnswerPosterior
        Probability that each answer is wrong.
    together : bool
        Whether the chain is to imply that the rows are in one group; it has one pair of different
        rows otherwise.

    Returns
    -------
    chain : tuple of int
        Rows from i to j; empty if there is no such chain.
    parted_at : int
        Position in the chain of the row after which rows differ; -1 if none do.
    """
    pairs, answers = _credible_pairs(known, doubts)
    same = pairs[answers == SAME]
    if together:
        return _path(i, j, known.n_samples, np.concatenate([same, same[:, ::-1]])), -1
    # Search two copies of the rows, from i in the first to j in the second. "Same" joins rows of
    # one copy; "different" leads from the first to the second and not back, so it is used once:
    # two rows that differ from a third may be the same or not.
    n = known.n_samples
    different = pairs[answers == DIFFERENT]
    across = np.array([0, n])
    between = np.concatenate([different + across, different[:, ::-1] + across])
    within = np.concatenate([same, same[:, ::-1]])
    path = _path(i, j + n, 2 * n, np.concatenate([within, within + n, between]))
    if not path:
        return (), -1
    return tuple(row % n for row in path), [row >= n for row in path].index(True) - 1


def _credible_pairs(
    known: Constraints, doubts: AnswerPosterior
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs that answers of positive weight imply which are not doubted."""
    pairs = known.select(
        pairs=doubts.pairs < DOUBT,
        triplets=doubts.triplets < DOUBT,
        odd_one_out=doubts.odd_one_out < DOUBT,
    ).as_pairs()
    is_informative = pairs.pair_weights > 0
    return pairs.pairs[is_informative], pairs.pair_answers[is_informative]


def _path(i: int, j: int, n_nodes: int, edges: NDArray[np.int64]) -> tuple[int, ...]:
    """Return the shortest path along directed edges, or an empty one."""
    entries = np.ones(len(edges), np.int8)
    graph = coo_array((entries, tuple(edges.T)), shape=(n_nodes, n_nodes)).tocsr()
    _, before = breadth_first_order(graph, i, directed=True, return_predecessors=True)
    path = [j]
    while path[-1] != i:
        if before[path[-1]] < 0:
            return ()
        path.append(int(before[path[-1]]))
    return tuple(path[::-1])
