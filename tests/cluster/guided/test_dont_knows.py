"""Don't-knows about three rows: all three may differ, or people may not be able to say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.cluster import GuidedClustering

pytestmark = pytest.mark.usefixtures("fair_search")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_people_who_often_cannot_say_do_not_multiply_the_groups(seed):
    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[:120]
    X, y = StandardScaler().fit_transform(X[rows]), y[rows]
    answers = Constraints.from_labels(
        y, 0, n_odd_one_out=120, error=0.1, dont_know=0.3, random_state=seed
    )
    # About half of the don't-knows are about three rows of which one stands out.
    model = GuidedClustering(random_state=seed).fit(X, constraints=answers)
    assert model.n_clusters_ <= 4
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert model.error_rate_ < 0.18
