"""Hard links of a forest: the answers and the pairs that they entail, each once."""

from __future__ import annotations

import numpy as np

from clew import Constraints
from clew.similarity.forests._answer_links import MAX_ENTAILED, AnswerWeights, hard_links


def bound(known: Constraints) -> tuple[set[tuple[int, ...]], int]:
    weights = AnswerWeights(known.pair_weights.copy(), np.full(len(known.pairs), np.nan), None)
    links = hard_links(known, weights, seed=0)
    return {tuple(sorted(pair)) for pair in links.rows.tolist()}, len(links.rows)


def test_a_sample_of_many_entailed_pairs_binds_no_given_pair_again() -> None:
    # Two chains, of 400 and 50 rows, with a cannot-link between them: 101,025 entailed pairs.
    chain = [(k, k + 1) for k in range(399)] + [(k, k + 1) for k in range(400, 449)]
    # Answers may be repeated, in either order.
    known = Constraints.from_pairs(
        must_link=[*chain, (1, 0)], cannot_link=[(0, 449), (449, 0)], n_samples=450
    )
    assert sum(known.closure().n_entailed()) > MAX_ENTAILED
    pairs, n_links = bound(known)
    assert {*chain, (0, 449)} <= pairs
    assert len(pairs) == n_links > MAX_ENTAILED - 500


def test_few_entailed_pairs_are_all_bound_once() -> None:
    known = Constraints.from_pairs(
        must_link=[(0, 1), (1, 2), (2, 1)], cannot_link=[(2, 3)], n_samples=4
    )
    assert bound(known) == ({(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)}, 6)
