"""Other groupings that features and answers support, and what is said about them."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.metrics import n_violated

pytestmark = pytest.mark.usefixtures("small_search")

X, Y = make_blobs(120, centers=6, cluster_std=0.7, random_state=3)
ANSWERS = Constraints.from_labels(Y, 240, random_state=0)


@pytest.mark.slow
def test_more_groups_than_were_wanted_are_named():
    model = GuidedClustering(3, random_state=0).fit(X, constraints=ANSWERS)
    (other,) = model.alternatives_
    assert model.n_clusters_ == 3
    assert other.n_clusters > 3
    assert other.n_violated == n_violated(other.labels, ANSWERS) < model.n_violated_
    assert other.score > 0
    assert "answers and features hold more groups than were wanted" in model.summary()
    assert GuidedClustering(6, random_state=0).fit(X, constraints=ANSWERS).alternatives_ == ()


@pytest.mark.slow
def test_alternatives_have_other_numbers_and_their_violated_answers():
    model = GuidedClustering(random_state=0).fit(X, constraints=ANSWERS)
    for other in model.alternatives_:
        assert other.n_clusters != model.n_clusters_
        assert len(np.unique(other.labels)) == other.n_clusters
        assert other.n_violated == n_violated(other.labels, ANSWERS)
        assert f"{other.n_clusters} violate {other.n_violated}" in model.summary()
    assert sum(model.n_clusters_probabilities_.values()) == pytest.approx(1)


@pytest.mark.slow
def test_cuts_of_graded_answers_are_alternatives():
    """Triplets about positions: three groups on a line, each of two near ones."""
    random = np.random.RandomState(0)
    z = np.repeat([0.0, 1.0, 6.0, 7.0, 12.0, 13.0], 6) + random.normal(scale=0.1, size=36)
    rows = np.stack([random.permutation(36)[:3] for _ in range(3000)])
    near = np.abs(z[rows[:, :1]] - z[rows[:, 1:]])
    is_second = random.rand(3000) > 1 / (1 + np.exp(2 * (near[:, 0] - near[:, 1])))
    answers = Constraints(36, triplets=np.column_stack([rows, is_second]))
    model = GuidedClustering(random_state=0).fit(constraints=answers)
    assert model.regime_ == "answers"
    numbers = {model.n_clusters_, *(one.n_clusters for one in model.alternatives_)}
    assert 3 <= model.n_clusters_ <= 6
    assert len(numbers) == 3
