"""Answers reach estimators inside scikit-learn's pipelines, by name and by routing."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from tests.contract import methods

from clew import Constraints
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.exceptions import InvalidArgumentError
from clew.similarity import COPRF

pytestmark = pytest.mark.usefixtures("small_search")

X, y = load_iris(return_X_y=True)
ANSWERS = Constraints.from_labels(y, 60, random_state=0)
SCALED = StandardScaler().fit_transform(X)


def simclust():
    return SimilarityClustering(COPRF(n_trees=30), SpectralClustering(3), random_state=0)


def pipeline(name, step):
    return Pipeline([("scaler", StandardScaler()), (name, step)])


@pytest.mark.slow
def test_clustering_gets_answers_by_the_name_of_its_step():
    model = pipeline("simclust", simclust()).fit(X, simclust__constraints=ANSWERS)
    alone = simclust().fit(SCALED, constraints=ANSWERS)
    np.testing.assert_array_equal(model[-1].labels_, alone.labels_)
    np.testing.assert_array_equal(model.predict(X), alone.predict(SCALED))
    assert model[-1].n_violated_ == alone.n_violated_
    labels = pipeline("simclust", simclust()).fit_predict(X, simclust__constraints=ANSWERS)
    np.testing.assert_array_equal(labels, alone.labels_)


@pytest.mark.slow
def test_clustering_gets_answers_by_routing():
    alone = simclust().fit(SCALED, constraints=ANSWERS)
    with sklearn.config_context(enable_metadata_routing=True):
        model = pipeline("simclust", simclust().set_fit_request(constraints=True))
        model.fit(X, constraints=ANSWERS)
    np.testing.assert_array_equal(model[-1].labels_, alone.labels_)


@pytest.mark.slow
def test_similarity_gets_answers_by_name_and_by_routing():
    alone = COPRF(n_trees=30, random_state=0).fit(SCALED, constraints=ANSWERS)
    by_name = pipeline("forest", COPRF(n_trees=30, random_state=0))
    A = by_name.fit_transform(X, forest__constraints=ANSWERS)
    np.testing.assert_array_equal(A, alone.transform(SCALED))
    with sklearn.config_context(enable_metadata_routing=True):
        forest = COPRF(n_trees=30, random_state=0).set_fit_request(constraints=True)
        routed = pipeline("forest", forest).fit(X, constraints=ANSWERS)
    np.testing.assert_array_equal(routed.transform(X), A)


def test_answers_that_nobody_asked_for_are_not_dropped():
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(UnsetMetadataPassedError, match="constraints"),
    ):
        pipeline("simclust", simclust()).fit(X, constraints=ANSWERS)


def test_a_pipeline_names_its_output():
    model = pipeline("forest", COPRF(n_trees=5, random_state=0)).set_output(transform="pandas")
    frame = load_iris(as_frame=True).data
    out = model.fit(frame, forest__constraints=ANSWERS).transform(frame)
    names = [f"coprf{row}" for row in range(150)]
    assert list(out.columns) == list(model.get_feature_names_out()) == names


#: One of each class, with answers of a kind that it honors.
EACH = {
    type(method): (method, methods.ANSWERS[min(kinds)]) for method, kinds in methods.GUIDED if kinds
}
each = pytest.mark.parametrize(
    ("method", "answers"), EACH.values(), ids=[cls.__name__ for cls in EACH]
)


@each
def test_every_method_gets_answers_behind_a_scaler(method, answers):
    scaled = StandardScaler().fit_transform(methods.X)
    alone = methods.result(clone(method).fit(scaled, constraints=answers))
    by_name = pipeline("method", clone(method)).fit(methods.X, method__constraints=answers)
    np.testing.assert_array_equal(methods.result(by_name[-1]), alone)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = pipeline("method", clone(method).set_fit_request(constraints=True))
        routed.fit(methods.X, constraints=answers)
    np.testing.assert_array_equal(methods.result(routed[-1]), alone)


@each
def test_answers_without_the_name_of_a_step_are_refused(method, answers):
    model = pipeline("method", clone(method))
    with pytest.raises(ValueError, match=r"constraints.*stepname__parameter"):
        model.fit(methods.X, constraints=answers)
    with pytest.raises(InvalidArgumentError, match="constraints=constraints"):
        model.fit(methods.X, answers)
