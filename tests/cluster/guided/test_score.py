"""The score: mean log-likelihood of held-out answers, also within scikit-learn's searches."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.cluster import GuidedClustering
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError

pytestmark = pytest.mark.usefixtures("small_search")

RNG = np.random.default_rng(0)
Y = RNG.integers(3, size=90)
X = 4 * np.eye(3)[Y] + RNG.normal(size=(90, 3))
ANSWERS = Constraints.from_labels(Y, n_pairs=400, random_state=0)


@pytest.fixture(scope="module")
def model():
    return GuidedClustering(3, random_state=0).fit(X, constraints=ANSWERS)


def test_right_answers_score_higher_than_wrong_ones(model):
    right = Constraints.from_labels(Y, n_pairs=100, random_state=1)
    wrong = Constraints.from_pairs(
        must_link=right.cannot_link, cannot_link=right.must_link, n_samples=90
    )
    scores = [model.score(X, constraints=answers) for answers in (wrong, right)]
    assert scores[0] < np.log(0.5) < scores[1] <= 0


def test_the_score_is_a_mean(model):
    once = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2)], n_samples=90)
    single = [once.select(pairs=[at]) for at in (0, 1)]
    mean = np.mean([model.score(X, constraints=one) for one in single])
    assert model.score(X, constraints=once) == pytest.approx(mean)
    assert np.isnan(model.score(X, constraints=Constraints(90)))


def test_answers_about_new_rows(model):
    new = 4 * np.eye(3) + 0.1
    answers = Constraints.from_pairs(cannot_link=[(0, 1), (1, 2)], n_samples=3)
    assert model.score(new, constraints=answers) > np.log(0.5)
    with pytest.raises(InvalidConstraintsError, match="3"):
        model.score(X, constraints=answers)
    with pytest.raises(InvalidArgumentError, match="enable_metadata_routing"):
        model.score(X)


@pytest.mark.slow
def test_a_search_over_a_pipeline_scores_by_answers():
    """All scores were NaN: `Pipeline.score` passes `sample_weight` on, even if it is None."""
    steps = make_pipeline(StandardScaler(), GuidedClustering(random_state=0))
    search = GridSearchCV(steps, {"guidedclustering__n_clusters": [2, 3]}, cv=KFold(2))
    with config_context(enable_metadata_routing=True):
        search.fit(X, constraints=ANSWERS)
    assert search.best_params_ == {"guidedclustering__n_clusters": 3}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(InvalidArgumentError, match="no sample_weight"):
        search.best_estimator_[-1].score(X, constraints=ANSWERS, sample_weight=np.ones(90))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "cv"),
    [("euclidean", KFold(2)), ("precomputed", ShuffleSplit(2, test_size=0.5, random_state=0))],
    ids=["features, folds", "distances, random"],
)
def test_a_search_finds_the_number_of_groups(metric, cv):
    data = X if metric == "euclidean" else euclidean_distances(X)
    search = GridSearchCV(
        GuidedClustering(metric=metric, random_state=0), {"n_clusters": [2, 3]}, cv=cv, refit=False
    )
    with config_context(enable_metadata_routing=True):
        search.fit(data, constraints=ANSWERS)
    scores = search.cv_results_["mean_test_score"]
    assert scores.argmax() == 1
    assert np.isfinite(scores).all()


def test_slices_keep_the_answers_within_them():
    rows = np.array([5, 3, 70, 8])
    assert ANSWERS[rows] == ANSWERS.subset(rows)
    assert ANSWERS.shape == (90,)
    with pytest.raises(TypeError):
        iter(ANSWERS)
