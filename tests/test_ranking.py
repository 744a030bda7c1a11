from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from clew._ranking import weighted_auc


@pytest.mark.parametrize("n_values", [3, 10_000])
def test_area_is_scikit_learn_s(n_values):
    random = np.random.RandomState(0)
    is_positive, weight = random.rand(200) < 0.3, random.rand(200)
    score = random.randint(n_values, size=200) + 0.5 * is_positive
    expected = roc_auc_score(is_positive, score, sample_weight=weight)
    assert weighted_auc(is_positive, score, weight) == pytest.approx(expected)


def test_area_without_a_class_is_unknown():
    assert np.isnan(weighted_auc(np.ones(3, bool), np.arange(3.0), np.ones(3)))
