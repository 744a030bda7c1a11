"""DistanceClustering: held-out answers choose distances; refusals; new rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.cluster import ConstrainedLinkage, COPKMeans, DistanceClustering, KernelMeanShift
from clew.constraints._support import held_out_folds
from clew.exceptions import InconsistentConstraintsError, InvalidParameterError
from clew.metrics import adjusted_rand_score, answer_log_likelihood
from clew.similarity import DistLQP, ShortestPaths

X, y = make_blobs(60, 2, centers=3, cluster_std=2.5, random_state=1)
D = cdist(X, X, "cityblock")
ANSWERS = Constraints.from_labels(y, 60, random_state=0)
CLUSTERER = COPKMeans(3, metric="precomputed", n_init=2, random_state=0)


def test_the_distances_whose_groups_explain_held_out_answers_are_chosen():
    model = DistanceClustering(clusterer=CLUSTERER, n_folds=3, random_state=0).fit(
        D, constraints=ANSWERS
    )
    assert list(model.scores_) == ["given", "DistLQP", "ShortestPaths"]
    assert model.chosen_ == max(model.scores_, key=model.scores_.get)
    assert model.n_violated_ == 0
    again = DistanceClustering(clusterer=CLUSTERER, n_folds=3, random_state=0).fit(
        D, constraints=ANSWERS
    )
    assert again.scores_ == model.scores_
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_scores_are_sums_over_folds():
    seed = 5
    model = DistanceClustering(clusterer=CLUSTERER, n_folds=3, random_state=seed)
    model.fit(D, constraints=ANSWERS)
    fold_seed = int(model._parts()[2])
    total = 0.0
    for kept, held in held_out_folds(ANSWERS, 3, fold_seed):
        learned = ShortestPaths().fit(D, constraints=kept).dense_distances()
        total += answer_log_likelihood(CLUSTERER.fit_predict(learned, constraints=kept), held)
    assert model.scores_["ShortestPaths"] == pytest.approx(total)


def test_misleading_distances_are_not_chosen():
    class Shuffled(ShortestPaths):
        def dense_distances(self):
            rows = np.random.RandomState(0).permutation(60)
            return super().dense_distances()[np.ix_(rows, rows)]

    ways = [("shuffled", Shuffled())]
    model = DistanceClustering(clusterer=CLUSTERER, similarities=ways, random_state=0)
    model.fit(D, constraints=ANSWERS)
    assert model.chosen_ == "given"
    assert model.similarity_ is None


def test_answers_that_are_refused_leave_the_distances_that_take_them():
    wrong = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], n_samples=60)
    known = ANSWERS + wrong
    with pytest.raises(InconsistentConstraintsError):
        DistanceClustering(clusterer=CLUSTERER, random_state=0).fit(D, constraints=known)

    class Free(COPKMeans):
        def fit(self, X, y=None):
            return super().fit(X)

    free = Free(3, metric="precomputed", n_init=1, random_state=0)
    model = DistanceClustering(clusterer=free, random_state=0).fit(D, constraints=known)
    assert model.scores_["ShortestPaths"] == -np.inf
    assert model.chosen_ in ("given", "DistLQP")


def test_without_answers_the_given_distances_are_clustered():
    model = DistanceClustering(clusterer=CLUSTERER).fit(D)
    assert model.chosen_ == "given"
    assert model.scores_ == {}
    np.testing.assert_array_equal(model.labels_, CLUSTERER.fit_predict(D))


def test_new_rows_get_groups_from_learned_distances():
    ways = [("DistLQP", DistLQP(8))]
    model = DistanceClustering(
        clusterer=CLUSTERER, similarities=ways, metric="euclidean", random_state=0
    )
    model.fit(X, constraints=ANSWERS)
    assert adjusted_rand_score(model.predict(X), model.labels_) > 0.5


@pytest.mark.slow
def test_the_number_of_groups_is_the_first_parameter_and_reaches_the_clusterer():
    few = ANSWERS.select(pairs=np.arange(10))
    assert len(set(DistanceClustering(4, random_state=0).fit_predict(D, constraints=few))) == 4
    linkage = ConstrainedLinkage(3, metric="precomputed")
    model = DistanceClustering(5, clusterer=linkage).fit(D, constraints=few)
    assert len(set(model.labels_)) == 5
    assert linkage.n_clusters == 3
    free = KernelMeanShift()
    free.metric = "precomputed"
    with pytest.raises(InvalidParameterError, match="has no number of groups"):
        DistanceClustering(5, clusterer=free).fit(D)
    with pytest.raises(InvalidParameterError, match="n_clusters"):
        DistanceClustering(0).fit(D)
    with pytest.raises(InvalidParameterError, match="needs n_clusters"):
        DistanceClustering().fit(D)


def test_any_clusterer_of_distances_will_do_and_others_are_refused():
    linkage = ConstrainedLinkage(3, metric="precomputed")
    few = ANSWERS.select(pairs=np.arange(10))
    assert DistanceClustering(clusterer=linkage).fit(D, constraints=few).n_violated_ == 0
    with pytest.raises(InvalidParameterError, match="precomputed"):
        DistanceClustering(clusterer=COPKMeans(3)).fit(D)
    with pytest.raises(InvalidParameterError, match="name, estimator"):
        DistanceClustering(clusterer=CLUSTERER, similarities=[DistLQP()]).fit(D)
