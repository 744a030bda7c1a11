"""What answers about three rows say about pairs of them, if people answer by groups."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from clew.answers import DIFFERENT, FIRST, NONE_DIFFERS, SAME, SECOND, THIRD, Kind
from clew.constraints._tables import AnswerTable

__all__ = ["pairs_of"]

#: For each kind and answer: two positions among the three rows, and what the answer says of them.
STATEMENTS: Final[Mapping[Kind, Mapping[int, tuple[tuple[int, int, int], ...]]]] = (
    MappingProxyType({
        "triplet": {
            FIRST: ((0, 1, SAME), (0, 2, DIFFERENT)),
            SECOND: ((0, 2, SAME), (0, 1, DIFFERENT)),
        },
        "odd_one_out": {
            FIRST: ((1, 2, SAME), (0, 1, DIFFERENT), (0, 2, DIFFERENT)),
            SECOND: ((0, 2, SAME), (0, 1, DIFFERENT), (1, 2, DIFFERENT)),
            THIRD: ((0, 1, SAME), (0, 2, DIFFERENT), (1, 2, DIFFERENT)),
            NONE_DIFFERS: ((0, 1, SAME), (0, 2, SAME), (1, 2, SAME)),
        },
    })
)  # fmt: skip


def pairs_of(tables: tuple[AnswerTable, AnswerTable, AnswerTable]) -> AnswerTable:
    """Join the pairs and what the other answers say about pairs.

    Parameters
    ----------
    tables : tuple of AnswerTable
        Pairs, triplets and odd-one-out answers.

    Returns
    -------
    AnswerTable
        Of pairs; those read off one kind come in the order of its answers.
    """
    parts = [tables[0], *map(_read_off, tables[1:])]
    return AnswerTable.stacked("pair", parts).with_sorted_pairs()


def _read_off(table: AnswerTable) -> AnswerTable:
    table = table.in_row_order()  # the result does not depend on the order asked
    of, rows, answers = [], [], []
    for answer, statements in STATEMENTS[table.kind].items():
        given = np.flatnonzero(table.answers == answer)
        for first, second, said in statements:
            of.append(given)
            rows.append(table.rows[given][:, [first, second]])
            answers.append(np.full(len(given), said, dtype=np.int64))
    source = np.concatenate(of)
    order = np.argsort(source, kind="stable")
    source = source[order]
    return AnswerTable(
        "pair",
        np.concatenate(rows)[order],
        np.concatenate(answers)[order],
        table.weights[source],
        table.annotators[source],
    )
