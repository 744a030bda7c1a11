"""Members of a user's own pool get the answers that they honor, or are refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clew import Constraints
from clew.cluster import DCRC, PCKMeans, SimilarityClustering, SpectralClustering, SSSVaD
from clew.cluster.guided._pool import checked_members, honored_answers
from clew.constraints import Support
from clew.exceptions import InvalidParameterError
from clew.similarity import ITML, LSML, AdaptiveKNN, ClustRF

pytestmark = pytest.mark.usefixtures("small_search")

WARD = ("ward", AgglomerativeClustering(3))
CUT = SpectralClustering(3, random_state=0)
MIXED = Constraints(
    60,
    pairs=[(0, 1, 1), (2, 3, 0), (4, 5, -2)],
    triplets=[(0, 1, 2, 0), (3, 4, 5, -2)],
    odd_one_out=[(6, 7, 8, 2), (9, 10, 11, -1)],
)


class Spy(PCKMeans):
    """Remembers the answers of each fit."""

    seen: list[Constraints] = []  # noqa: RUF012

    def fit(self, X, y=None, *, constraints=None, callback=None):
        self.seen.append(constraints)
        return super().fit(X, constraints=constraints)


class SpyTransformer(ITML):
    """The same for a step that transforms."""

    seen: list[Constraints] = []  # noqa: RUF012

    def fit(self, X, y=None, *, constraints=None, callback=None):
        self.seen.append(constraints)
        return super().fit(X, constraints=constraints)


@pytest.fixture
def seen():
    for spy in (Spy, SpyTransformer):
        spy.seen.clear()


@pytest.mark.parametrize("similarity", [AdaptiveKNN(), ClustRF(20, random_state=0)])
def test_a_member_whose_supports_is_empty_is_unconstrained(fitted, blobs, similarity):
    pool = [WARD, ("graph", SimilarityClustering(similarity, CUT))]
    model = fitted(blobs.X, blobs.known, pool=pool)
    assert adjusted_rand_score(model.labels_, blobs.y) > 0.4
    assert set(fitted(blobs.X, pool=pool).weights_) == {"ward", "graph"}


def test_a_member_that_honors_triplets_only_gets_them(fitted, blobs):
    known = blobs.known + Constraints.from_labels(blobs.y, 0, n_triplets=90, random_state=0)
    (member,) = checked_members([("weights", SSSVaD(3, random_state=0))])
    prepared = fitted(blobs.X, known)._fitted.prepared
    with_answers, without = (member.partition(prepared, c) for c in (known, None))
    assert adjusted_rand_score(with_answers, without) < 1


def test_a_member_that_honors_none_of_the_answers_is_refused(fitted, blobs):
    metric = SimilarityClustering(LSML(), KMeans(3, n_init=1, random_state=0))
    for member in (SSSVaD(3), metric, make_pipeline(StandardScaler(), SSSVaD(3))):
        with pytest.raises(InvalidParameterError, match=r"'mine' honors .*triplets only"):
            fitted(blobs.X, blobs.known, pool=[WARD, ("mine", member)])


def answers_are_passed_on(seen):
    return [len(answers.pairs) for answers in seen] == [120]


@pytest.mark.parametrize("enabled", [False, True])
def test_steps_of_a_pipeline_get_the_answers(fitted, blobs, seen, enabled):
    with config_context(enable_metadata_routing=enabled):
        steps = make_pipeline(
            StandardScaler(), SpyTransformer(), make_pipeline("passthrough", Spy(3, random_state=0))
        )
        fitted(blobs.X, blobs.known, pool=[("steps", steps)], random_state=int(enabled))
    for spy in (Spy, SpyTransformer):
        assert answers_are_passed_on(spy.seen)


def test_a_pipeline_with_metadata_requests_gets_the_answers(fitted, blobs, seen):
    with config_context(enable_metadata_routing=True):
        requesting = Spy(3, random_state=0).set_fit_request(constraints=True)
        pool = [("steps", make_pipeline(StandardScaler(), requesting))]
        fitted(blobs.X, blobs.known, pool=pool)
    assert answers_are_passed_on(Spy.seen)


def test_a_part_that_would_get_no_answers_is_refused():
    class Wrapped(BaggingClassifier):
        def fit_predict(self, X, y=None):
            return np.zeros(len(X))

    words = r"'mine': Wrapped passes no answers on to its estimator, a PCKMeans"
    for member in (Wrapped(PCKMeans(3)), make_pipeline(StandardScaler(), Wrapped(PCKMeans(3)))):
        with pytest.raises(InvalidParameterError, match=words):
            checked_members([("mine", member)])


def test_a_member_gets_each_kind_that_it_honors():
    everything = Support(pairs=True, triplets=True, odd_one_out=True, dont_know=True)
    assert honored_answers(MIXED, everything) == MIXED
    pairs = honored_answers(MIXED, Support(pairs=True, dont_know=True))
    assert pairs == MIXED.as_pairs()
    definite = honored_answers(MIXED, Support(pairs=True))
    assert definite.pair_answers.tolist() == pairs.pair_answers[pairs.pair_answers >= 0].tolist()
    threes = honored_answers(MIXED, Support(triplets=True))
    assert len(threes.pairs) == len(threes.odd_one_out) == 0
    assert threes.triplet_answers.tolist() == [0]
    both = honored_answers(MIXED, Support(pairs=True, triplets=True, dont_know=True))
    assert len(both.triplets) == 2
    assert len(both.pairs) == 3 + len(MIXED.select(pairs=[], triplets=[]).as_pairs().pairs)


def test_a_member_that_honors_all_kinds_gets_them_as_they_are(fitted, blobs):
    known = blobs.known + Constraints.from_labels(blobs.y, 0, n_odd_one_out=60, random_state=0)
    quick = DCRC(3, tau=1.0, lam=0.1, kernel=None, init="kmeans", n_init=1, random_state=0)
    model = fitted(blobs.X, known, pool=[WARD, ("dcrc", quick)])
    assert adjusted_rand_score(model.labels_, blobs.y) > 0.6
