"""Groups of features alone: whether there are any, how many, and which clusterings count."""

from __future__ import annotations

import numpy as np
import pytest

from clew import GuidedClustering
from clew.exceptions import NoGroupsWarning
from clew.metrics import adjusted_rand_score


def _embeddings(separation, seed):
    """220 rows of length 1 in 384 columns, in up to 12 groups of unequal sizes, beside a mean."""
    random = np.random.default_rng(seed)
    y = random.choice(12, 220, p=random.dirichlet(np.full(12, 1.5)))
    rows = separation * random.normal(size=(12, 384))[y] + random.normal(size=(220, 384))
    rows += 2 * random.normal(size=384)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), y


def _ari(rows, y):
    return adjusted_rand_score(y, GuidedClustering(random_state=0).fit(rows).labels_)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "least"), [(0, 0.9), (1, 0.85), (2, 0.9), (3, 0.75), (4, 0.8)])
def test_uneven_groups_in_many_columns_are_found(seed, least):
    """Distances are nearly equal there, and silhouettes small: .01 to .03."""
    assert _ari(*_embeddings(0.35, seed)) > least


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_clusterings_that_another_one_beats_twice_do_not_count(seed):
    """Ward's linkage finds the groups; k-means and spectral clusterings have .83 to .92."""
    assert _ari(*_embeddings(0.7, seed)) > 0.98


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(220, 20), (220, 384), (600, 20)])
@pytest.mark.parametrize("law", ["normal", "uniform", "exponential", "lognormal", "t"])
def test_data_without_groups_have_none(law, shape):
    """Rows far from all others are no groups, however large the silhouette is."""
    random = np.random.default_rng(2)
    rows = {
        "normal": lambda: random.normal(size=shape),
        "uniform": lambda: random.uniform(size=shape),
        "exponential": lambda: random.exponential(size=shape),
        "lognormal": lambda: random.lognormal(sigma=0.5, size=shape),
        "t": lambda: random.standard_t(4, size=shape),
    }[law]()
    with pytest.warns(NoGroupsWarning, match="look like data without groups"):
        model = GuidedClustering(random_state=0).fit(rows)
    assert set(model.n_clusters_probabilities_) == {1, 2}
