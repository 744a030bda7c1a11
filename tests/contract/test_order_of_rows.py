"""An answer means the same in whatever order the question names its rows."""

from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from tests.contract.methods import GUIDED, N, X, y

from clew import Constraints
from clew.answers import ALL_ALIKE, DONT_KNOW, FIRST, SECOND
from clew.metrics import answer_log_likelihood, n_violated
from clew.trust import ConfusionMatrices, answer_posterior

pytestmark = pytest.mark.usefixtures("small_search")

PERMUTATIONS = np.array(list(permutations(range(3))))
THREE_ROWS = [(m, kinds) for m, kinds in GUIDED if {"triplets", "odd_one_out"} & kinds]
PAIRS_ALONE = [m for m, kinds in GUIDED if "pairs" in kinds and "triplets" not in kinds]


def any_answers(seed: int, *, says_none: bool = True, n_each: int = 25) -> Constraints:
    """Mostly right answers of two annotators to questions about three rows."""
    rng = np.random.default_rng(seed)
    right = Constraints.from_labels(
        y, 0, n_triplets=n_each, n_odd_one_out=n_each, error=0.1, random_state=seed
    )
    odd = right.odd_one_out_answers
    odd = odd if says_none else np.where(odd == ALL_ALIKE, DONT_KNOW, odd)
    return Constraints(
        N,
        triplets=np.column_stack([right.triplets, right.triplet_answers]),
        odd_one_out=np.column_stack([right.odd_one_out, odd]),
        triplet_weights=rng.uniform(0.2, 1, n_each),
        odd_one_out_weights=rng.uniform(0.2, 1, n_each),
        triplet_annotators=rng.choice(["ann", "ben"], n_each),
        odd_one_out_annotators=rng.choice(["ann", "ben"], n_each),
    )


def in_another_order(known: Constraints, seed: int) -> Constraints:
    """The same answers to the same questions, the rows of each named in another order."""
    rng = np.random.default_rng(seed)
    rows, said = known.triplets.copy(), known.triplet_answers.copy()
    swapped = (rng.uniform(size=len(said)) < 0.5) if seed else said == SECOND
    rows[swapped, 1:] = rows[swapped, :0:-1]
    determined = swapped & (said != DONT_KNOW)
    said[determined] = FIRST + SECOND - said[determined]
    order = PERMUTATIONS[rng.integers(6, size=len(known.odd_one_out))]
    three = np.take_along_axis(known.odd_one_out, order, axis=1)
    odd = known.odd_one_out_answers.copy()
    named = odd >= 0
    odd[named] = np.argmax(order[named] == odd[named, None], axis=1)
    names = np.array(known.annotators)
    _, triplets, of_three = known.tables
    return Constraints(
        known.n_samples,
        pairs=np.column_stack([known.pairs[:, ::-1], known.pair_answers]),
        triplets=np.column_stack([rows, said]),
        odd_one_out=np.column_stack([three, odd]),
        pair_weights=known.pair_weights,
        triplet_weights=known.triplet_weights,
        odd_one_out_weights=known.odd_one_out_weights,
        triplet_annotators=names[triplets.annotators],
        odd_one_out_annotators=names[of_three.annotators],
    )


def found_by(model):
    """The fitted arrays, and the arrays in fitted tuples and matrices, by name."""
    found = {}
    for name, value in vars(model).items():
        if name.startswith("_") or not name.endswith("_"):
            continue
        if name == "confusion_":
            found |= {f"{name} {kind}": of for kind, of in value.matrices_.items()}
        elif isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
            found |= {f"{name} {at}": of for at, of in enumerate(value)}
        elif issparse(value):
            found[name] = value.toarray()
        elif isinstance(value, np.ndarray | float | int):
            found[name] = np.asarray(value)
    return found


@pytest.mark.parametrize(
    ("method", "kinds"),
    THREE_ROWS,
    ids=[f"{type(m).__name__}-{at}" for at, (m, _) in enumerate(THREE_ROWS)],
)
def test_methods(method, kinds):
    known = any_answers(0, says_none="pairs" in kinds)
    a = found_by(clone(method).fit(X, constraints=known))
    b = found_by(clone(method).fit(X, constraints=in_another_order(known, 1)))
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("method", PAIRS_ALONE, ids=lambda m: type(m).__name__)
def test_methods_of_pairs(method):
    known = Constraints.from_labels(y, 30, random_state=0)
    a = found_by(clone(method).fit(X, constraints=known))
    b = found_by(clone(method).fit(X, constraints=in_another_order(known, 1)))
    for name in a:
        np.testing.assert_allclose(a[name], b[name], err_msg=name)


@pytest.mark.parametrize("seed", range(4))
def test_scores(seed):
    known = any_answers(seed)
    other = in_another_order(known, seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=N)
    assert answer_log_likelihood(labels, known) == pytest.approx(
        answer_log_likelihood(labels, other)
    )
    assert n_violated(labels, known) == n_violated(labels, other)


@pytest.mark.parametrize("seed", range(4))
def test_trust(seed):
    known = any_answers(seed)
    other = in_another_order(known, seed)
    q = np.random.default_rng(seed).dirichlet(np.full(3, 0.3), N)
    a, b = (ConfusionMatrices().fit(c, q) for c in (known, other))
    for kind in a.matrices_:
        np.testing.assert_allclose(a.matrices_[kind], b.matrices_[kind], err_msg=kind)
        np.testing.assert_allclose(a.intervals_[kind], b.intervals_[kind], err_msg=kind)
    np.testing.assert_allclose(a.error_rates_, b.error_rates_)
    np.testing.assert_allclose(a.error_intervals_, b.error_intervals_)
    assert a.log_likelihood(known, q) == pytest.approx(b.log_likelihood(other, q))
    for left, right in zip(answer_posterior(known, q), answer_posterior(other, q), strict=True):
        np.testing.assert_allclose(left, right)
