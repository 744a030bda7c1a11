"""Why two rows are together or apart: answers, chains of answers, and the rows around them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from clew._validation import Allowed
from clew.answers import ANSWER_WORDS, DIFFERENT, SAME, Kind
from clew.constraints import Constraints
from clew.exceptions import InvalidParameterError
from clew.trust import AnswerDoubts
from clew.trust.groups.posterior import DOUBT

__all__ = ["Explanation", "explanation"]


class Heard(NamedTuple):
    """An answer about both rows."""

    kind: Kind
    rows: tuple[int, ...]
    """Rows in the order of the question."""
    answer: str
    """What was said, in a word."""
    annotator: str
    """Who said it."""
    p_wrong: float
    """How likely it is wrong; NaN for a don't-know and for weight 0."""

    def __str__(self) -> str:
        who = self.annotator or "somebody"
        rows = ", ".join(map(str, self.rows))
        words = self.answer.replace("_", " ")
        looks = "" if np.isnan(self.p_wrong) else f" (wrong with probability {self.p_wrong:.2f})"
        return f"{who} said '{words}' of rows {rows}{looks}"


class Explanation(NamedTuple):
    """Why two rows are together or apart; print it to read it."""

    rows: tuple[int, int]
    groups: tuple[int, int]
    """Group of each."""
    p_together: float
    """Chance that they are in one group."""
    said: list[Heard]
    """Answers about both."""
    chain: tuple[int, ...]
    """Rows from the first to the second: each follows from an answer that is not doubted, all
    same, or one of them different where the rows are apart. Empty where there is no such chain."""
    parted_at: int
    """Position in `chain` after which rows differ; -1 where none do."""
    neighbors: tuple[list[int], list[int]]
    """The nearest rows of each, nearest first."""
    neighbors_in_own: tuple[int, int]
    """How many of these are in the row's own group."""
    neighbors_in_other: tuple[int, int]
    """How many of these are in the group of the other row."""

    @property
    def are_together(self) -> bool:
        """Whether the rows are in one group."""
        return self.groups[0] == self.groups[1]

    def __str__(self) -> str:
        i, j = self.rows
        where = (
            f"together in group {self.groups[0]}"
            if self.are_together
            else f"apart, in groups {self.groups[0]} and {self.groups[1]}"
        )
        lines = [f"rows {i} and {j} are {where}; chance of being together {self.p_together:.2f}"]
        lines += [f"- {said}" for said in self.said]
        if not self.said:
            lines.append("- nobody was asked about both")
        if len(self.chain) > 2:
            marks = ["≠" if at == self.parted_at else "=" for at in range(len(self.chain) - 1)]
            chain = str(self.chain[0]) + "".join(
                f" {mark} {row}" for mark, row in zip(marks, self.chain[1:], strict=True)
            )
            lines.append(f"- by answers that are not doubted, {chain}")
        for row, near, own, other in zip(
            self.rows, self.neighbors, self.neighbors_in_own, self.neighbors_in_other, strict=True
        ):
            text = f"- of the {len(near)} nearest rows of {row}, {own} are in its group"
            lines.append(text if self.are_together else f"{text} and {other} in the other")
        return "\n".join(lines)


def explanation(
    rows: tuple[int, int],
    chances: NDArray[np.float64],
    known: Constraints,
    doubts: AnswerDoubts,
    graph: csr_array,
) -> Explanation:
    """Collect what speaks for and against two rows being together.

    Parameters
    ----------
    rows : tuple of int
        Two rows.
    chances : ndarray of shape (n_samples, n_groups)
        Memberships.
    known : Constraints
        What people said.
    doubts : AnswerDoubts
        How likely each answer is wrong.
    graph : csr_array of shape (n_samples, n_samples)
        Affinities of neighbours.

    Returns
    -------
    Explanation

    Raises
    ------
    InvalidParameterError
        If the rows are not two different ones of the graph.
    """
    n = len(chances)
    is_row = Allowed(kind=int, low=0, high=n - 1)
    i, j = rows
    if not (is_row.holds(i) and is_row.holds(j)) or i == j:
        raise InvalidParameterError(f"explain takes two different rows in [0, {n - 1}], got {rows}")
    i, j = int(i), int(j)
    label = chances.argmax(axis=1)
    chain, parted_at = _chain(i, j, known, doubts, together=bool(label[i] == label[j]))
    near = tuple(_nearest(graph, row) for row in (i, j))
    return Explanation(
        (i, j),
        (int(label[i]), int(label[j])),
        float(chances[i] @ chances[j]),
        _said(i, j, known, doubts),
        chain,
        parted_at,
        (near[0].tolist(), near[1].tolist()),
        (int((label[near[0]] == label[i]).sum()), int((label[near[1]] == label[j]).sum())),
        (int((label[near[0]] == label[j]).sum()), int((label[near[1]] == label[i]).sum())),
    )


def _nearest(graph: csr_array, row: int) -> NDArray[np.int64]:
    here = slice(graph.indptr[row], graph.indptr[row + 1])
    order = np.argsort(-graph.data[here], kind="stable")
    return np.asarray(graph.indices[here][order], dtype=np.int64)


def _said(i: int, j: int, known: Constraints, doubts: AnswerDoubts) -> list[Heard]:
    found = []
    for table, p_wrong in zip(known.tables, doubts, strict=True):
        words = {code: word for word, code in ANSWER_WORDS[table.kind].items()}
        about = (table.rows == i).any(axis=1) & (table.rows == j).any(axis=1)
        for at in np.flatnonzero(about):
            said = words[int(table.answers[at])]
            who = known.annotators[table.annotators[at]]
            rows = tuple(table.rows[at].tolist())
            found.append(Heard(table.kind, rows, said, who, float(p_wrong[at])))
    return found


def _chain(
    i: int, j: int, known: Constraints, doubts: AnswerDoubts, *, together: bool
) -> tuple[tuple[int, ...], int]:
    """Find the shortest chain of answers that are believed, with one "different" for rows apart."""
    pairs, answers, is_believed = _believed_pairs(known, doubts)
    same = pairs[is_believed & (answers == SAME)]
    if together:
        return _path(i, j, known.n_samples, np.concatenate([same, same[:, ::-1]])), -1
    # Two floors, joined by "different" alone: from i on the first to j on the second.
    n = known.n_samples
    different = pairs[is_believed & (answers == DIFFERENT)]
    up = np.array([0, n])
    stairs = np.concatenate([different + up, different[:, ::-1] + up])
    both = np.concatenate([same, same[:, ::-1]])
    # Up alone: "different" twice tells nothing.
    path = _path(i, j + n, 2 * n, np.concatenate([both, both + n, stairs]))
    if not path:
        return (), -1
    return tuple(row % n for row in path), [row >= n for row in path].index(True) - 1


def _believed_pairs(
    known: Constraints, doubts: AnswerDoubts
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    believed = known.select(
        pairs=doubts.pairs < DOUBT,
        triplets=doubts.triplets < DOUBT,
        odd_one_out=doubts.odd_one_out < DOUBT,
    ).as_pairs()
    return believed.pairs, believed.pair_answers, believed.pair_weights > 0


def _path(i: int, j: int, n_nodes: int, edges: NDArray[np.int64]) -> tuple[int, ...]:
    """Give the shortest path along edges from the first to the second column, or nothing."""
    entries = np.ones(len(edges), np.int8)
    graph = coo_array((entries, tuple(edges.T)), shape=(n_nodes, n_nodes)).tocsr()
    _, before = breadth_first_order(graph, i, directed=True, return_predecessors=True)
    path = [j]
    while path[-1] != i:
        if before[path[-1]] < 0:
            return ()
        path.append(int(before[path[-1]]))
    return tuple(path[::-1])
