"""COP-RF returns the forest without distances as an alternative if distances are uninformative."""

from __future__ import annotations

import numpy as np
import pytest

from clew import Constraints
from clew.similarity import COPRF
from clew.similarity.forests import _informative_distances as module
from clew.similarity.forests._affinity import LocalGaussian
from clew.similarity.forests._informative_distances import distances_are_informative

GENERATOR = np.random.RandomState(0)
#: The first feature separates the groups of the answers, the other eight separate other groups.
TRUTH, OTHERS = GENERATOR.randint(0, 2, (2, 120))
X = np.hstack([
    GENERATOR.normal(size=(120, 1)) + 2 * TRUTH[:, None],
    0.3 * GENERATOR.normal(size=(120, 8)) + 4 * OTHERS[:, None],
])  # fmt: skip
MEANT = Constraints.from_labels(TRUTH, 150, random_state=0)
PLAIN = Constraints.from_labels(OTHERS, 150, random_state=0)


def test_alternative_is_the_same_forest_without_distances():
    model = COPRF(40, random_state=0).fit(X, constraints=MEANT)
    (alternative,) = model.alternatives()
    alone = COPRF(40, euclidean=0.0, random_state=0).fit(X, constraints=MEANT)
    np.testing.assert_array_equal(alternative.affinity_matrix_, alone.affinity_matrix_)
    np.testing.assert_array_equal(alternative.transform(X[:5]), alone.transform(X[:5]))
    assert (model.euclidean_, alternative.euclidean_) == (0.5, 0.0)
    assert abs(model.affinity_matrix_ - alone.affinity_matrix_).max() > 0.1


@pytest.mark.parametrize("parameters", [{"euclidean": 0.5}, {"euclidean": 0.0}, {"mode": "hard"}])
def test_a_given_share_of_distances_has_no_alternative(parameters):
    model = COPRF(10, random_state=0, **parameters)
    assert model.fit(X, constraints=MEANT).alternatives() == []


def test_no_alternative_if_distances_are_informative_or_all_answers_are_must_links():
    one_kind = Constraints.from_pairs(must_link=[(0, 1), (2, 3)], dont_know=[(4, 5)], n_samples=120)
    for known in (PLAIN, one_kind, None):
        assert COPRF(10, random_state=0).fit(X, constraints=known).alternatives() == []


def test_distances_are_those_of_the_gaussian_affinities():
    # The area under the curve is that of the affinities that would be mixed in.
    from sklearn.metrics import roc_auc_score

    for known in (MEANT, PLAIN):
        A = LocalGaussian(X).affinity(X)[tuple(known.pairs.T)]
        area = roc_auc_score(known.is_must_link, A, sample_weight=known.pair_weights)
        assert distances_are_informative(X, known, known.pair_weights, 0) == (
            area >= module.INFORMATIVE_AUC
        )
    assert not distances_are_informative(X, MEANT, MEANT.pair_weights, 0)


def test_answers_of_weight_0_do_not_count():
    both = MEANT + PLAIN
    for weighted, is_informative in ((MEANT, False), (PLAIN, True)):
        first = np.arange(len(both)) < len(MEANT)
        weight = np.where(first == (weighted is MEANT), 1.0, 0.0)
        assert distances_are_informative(X, both, weight, 0) == is_informative


def test_many_answers_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "MAX_ANSWERS", 60)
    assert not distances_are_informative(X, MEANT, MEANT.pair_weights, 0)
    assert distances_are_informative(X, PLAIN, PLAIN.pair_weights, 0)
