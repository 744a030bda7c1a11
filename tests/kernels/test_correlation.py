"""Kernels of correlation clustering against slow twins."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from tests.reference import correlation as reference

from clew.kernels.correlation import (
    Edges,
    Pairs,
    Scoring,
    anneal_rows,
    cut_sums,
    merge_groups,
    move_rows,
)

SEEDS = pytest.mark.parametrize("seed", range(12))


class Problem:
    """Random evidence of some pairs of rows."""

    def __init__(self, seed, n=14):
        rng = np.random.default_rng(seed)
        every = np.array(list(combinations(range(n), 2)))
        self.n, self.rng = n, rng
        self.pairs = every[rng.random(len(every)) < rng.choice([0.2, 0.5, 1.0])]
        self.evidence, self.prior = rng.normal(0, 2, (2, len(self.pairs)))
        self.scoring = Scoring(rng.choice([0.0, 0.25, 1.0]), -rng.choice([0.0, 0.4]), -1.0, 1.0)
        columns = zip(self.evidence, self.prior, strict=True)
        self.known = dict(zip(map(tuple, self.pairs.tolist()), columns, strict=True))

    def merged(self, threshold, n_least=1):
        into, groups = np.empty(self.n, np.int64), np.empty((self.n, 2), np.int64)
        scores = np.empty(self.n)
        edges = Edges(
            self.pairs[:, 0].copy(), self.pairs[:, 1].copy(), self.evidence.copy(),
            self.prior.copy(), self.prior.copy(), np.ones(len(self.pairs)),
        )  # fmt: skip
        n_merges = merge_groups(
            edges, np.ones(self.n), self.scoring, threshold, n_least, into, groups, scores
        )
        return into, groups[:n_merges], scores[:n_merges]

    def symmetric(self, values):
        i, j = self.pairs.T
        both = np.concatenate([i, j]), np.concatenate([j, i])
        return csr_array(coo_array((np.tile(values, 2), both), shape=(self.n, self.n)))

    @property
    def columns(self):
        evidence, prior = self.symmetric(self.evidence), self.symmetric(self.prior)
        structure = evidence.indptr.astype(np.int64), evidence.indices.astype(np.int64)
        return Pairs(*structure, evidence.data, prior.data), self.scoring


@SEEDS
@pytest.mark.parametrize("threshold", [0.0, -np.inf])
def test_each_merge_has_the_score_of_its_groups(seed, threshold):
    problem = Problem(seed)
    into, groups, scores = problem.merged(threshold)
    members = {row: [row] for row in range(problem.n)}
    for (kept, ended), found in zip(groups.tolist(), scores, strict=True):
        expected = reference.score(problem.scoring, problem.known, members[kept], members[ended])
        assert found == pytest.approx(expected)
        assert found > threshold
        members[kept] += members.pop(ended)
        assert into[ended] == kept
    assert all(into[row] == row for row in members)


@SEEDS
def test_the_first_merge_is_the_best_one(seed):
    problem = Problem(seed)
    _, groups, scores = problem.merged(-np.inf)
    every = {
        pair: reference.score(problem.scoring, problem.known, pair[:1], pair[1:])
        for pair in problem.known
    }
    assert scores[0] == pytest.approx(max(every.values()))
    assert tuple(sorted(groups[0].tolist())) == max(every, key=every.get)


@SEEDS
def test_merges_end_at_the_given_number_of_groups(seed):
    problem = Problem(seed)
    _, all_merges, _ = problem.merged(-np.inf)
    _, some, _ = problem.merged(-np.inf, 5)
    assert len(some) == min(len(all_merges), problem.n - 5)


def test_hash_table_is_made_anew_when_it_is_full():
    problem = Problem(0, n=120)
    into, groups, _ = problem.merged(-np.inf)
    assert len(groups) == problem.n - 1
    assert (into == np.arange(problem.n)).sum() == 1


@SEEDS
@pytest.mark.parametrize(("is_fixed", "n_few"), [(False, 0), (False, 4), (True, 4)])
def test_moves_are_those_of_the_twin(seed, is_fixed, n_few):
    problem = Problem(seed)
    labels = problem.rng.integers(0, 4, problem.n)
    labels[:4] = range(4)
    sizes = np.bincount(labels, minlength=problem.n + 1).astype(float)
    expected, n_expected = reference.moved_rows(
        problem.scoring, problem.known, labels.tolist(), 0.3, is_fixed=is_fixed, n_few=n_few
    )
    n_moves = move_rows(*problem.columns, 0.3, is_fixed, n_few, labels, sizes)
    assert (labels.tolist(), n_moves) == (expected, n_expected)
    assert sizes.tolist() == np.bincount(labels, minlength=problem.n + 1).tolist()


@SEEDS
@pytest.mark.parametrize("temperature", [0.5, 4.0])
def test_draws_are_those_of_the_twin(seed, temperature):
    problem = Problem(seed)
    labels, random = problem.rng.integers(0, 3, problem.n), problem.rng.random(problem.n)
    sizes = np.bincount(labels, minlength=3).astype(float)
    expected = reference.annealed_rows(
        problem.scoring, problem.known, labels.tolist(), 3, temperature, random
    )
    anneal_rows(*problem.columns, temperature, random, labels, sizes)
    assert labels.tolist() == expected
    assert sizes.tolist() == np.bincount(labels, minlength=3).tolist()


@SEEDS
def test_cuts_are_those_of_the_twin(seed):
    rng, n = np.random.default_rng(seed), 12
    parents = [None, *(int(rng.integers(0, node)) for node in range(1, n))]
    pairs = np.array(list(combinations(range(n), 2)))[rng.random(n * (n - 1) // 2) < 0.4]
    values = rng.normal(size=(len(pairs), 2))
    sums, size = np.empty((n, 2)), np.empty(n)
    above = np.array([-1, *parents[1:]])
    cut_sums(np.arange(n), above, pairs[:, 0].copy(), pairs[:, 1].copy(), values, sums, size)
    expected, expected_size = reference.cut_sums(parents, pairs, values)
    np.testing.assert_allclose(sums, expected, atol=1e-12)
    assert size.tolist() == expected_size.tolist()
