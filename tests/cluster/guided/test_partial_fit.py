"""Further answers about fitted rows: what is kept, what is fitted again, and what readers see."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from threading import Event, Thread
from time import sleep

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs

from clew import Constraints
from clew.cluster import GuidedClustering, PCKMeans
from clew.cluster.guided._pool import Member
from clew.exceptions import (
    InvalidArgumentError,
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.metrics import n_violated

pytestmark = pytest.mark.usefixtures("small_search")

ATTRIBUTES = ("labels_", "probabilities_")


def model(n_clusters=3, **given):
    return GuidedClustering(n_clusters, random_state=0, **given)


def parts(known, n_first):
    """Split pair answers into the first ones and the others."""
    is_first = np.arange(len(known.pairs)) < n_first
    return known.select(pairs=is_first), known.select(pairs=~is_first)


def assert_equal(one, other):
    for name in ATTRIBUTES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for doubts, others in zip(one.answer_posterior_, other.answer_posterior_, strict=True):
        np.testing.assert_array_equal(doubts, others)
    assert one.scores_ == other.scores_
    assert one.weights_ == other.weights_
    assert (one.error_rate_, one.error_interval_) == (other.error_rate_, other.error_interval_)


@pytest.fixture
def n_fits(monkeypatch):
    """Count the fits of members."""
    calls, partition = [], Member.partition

    def counted(member, prepared, answers):
        calls.append(member.name)
        return partition(member, prepared, answers)

    monkeypatch.setattr(Member, "partition", counted)
    return calls


@pytest.fixture(scope="module")
def fitted_to(blobs):
    """Return a copy of a model of the first answers, which is fitted once."""
    kept = {}

    def copy(n_first):
        if n_first not in kept:
            first, _ = parts(blobs.known, n_first)
            kept[n_first] = pickle.dumps(model().fit(blobs.X, constraints=first))
        return pickle.loads(kept[n_first])

    return copy


def mixed(y, seed):
    """Answers of all kinds by two people, one of whom errs often."""
    good, bad = (
        Constraints.from_labels(
            y, 45, n_triplets=20, n_odd_one_out=10, error=error, random_state=seed + at
        )
        for at, error in enumerate((0.05, 0.3))
    )
    return named(good, "good") + named(bad, "bad")


def named(known, name):
    return known.with_tables(known.tables, (name,))


@pytest.mark.slow
def test_members_that_are_fitted_again_are_those_of_a_new_fit():
    X, y = make_blobs(45, centers=3, cluster_std=1.0, random_state=5)
    first, more = mixed(y, 0), mixed(y, 5)
    warm = model(None).fit(X, constraints=first).partial_fit(constraints=more)
    assert_equal(warm, model(None).fit(X, constraints=first + more))
    assert warm.confusion_.annotators_ == ("good", "bad")


def test_a_live_view_follows_answers_and_says_that_it_is_not_settled(blobs, fitted_to):
    _, more = parts(blobs.known, 110)
    warm = fitted_to(110)
    assert warm.is_settled_
    warm.partial_fit(constraints=more, refit=False)
    assert not warm.is_settled_
    assert len(warm.answer_posterior_.pairs) == 120
    assert warm.n_violated_ == n_violated(warm.labels_, blobs.known)
    warm.partial_fit()
    assert warm.is_settled_
    assert_equal(warm, blobs.model)


def test_answers_in_small_parts_lead_to_the_same_groups(blobs, fitted_to):
    _, more = parts(blobs.known, 110)
    warm = fitted_to(110)
    for at in range(0, 10, 5):
        warm.partial_fit(constraints=more.select(pairs=np.arange(10) // 5 == at // 5))
    assert_equal(warm, blobs.model)


def test_later_answers_are_followed_and_judged(blobs, fitted_to):
    warm = fitted_to(110)
    before = warm.result_
    at = int(np.argmin(before.probabilities.max(axis=1)))  # the least certain row
    others = np.flatnonzero((blobs.y == blobs.y[at]) & (np.arange(60) != at))
    warm.partial_fit(
        constraints=Constraints.from_pairs(
            must_link=[(at, row) for row in others[:15]], n_samples=60
        )
    )
    same = warm.labels_[others[:15]] == warm.labels_[at]
    assert same.mean() > 0.7
    assert warm.scores_ != before.scores


def test_answers_that_are_taken_back_leave_no_trace(blobs, fitted_to):
    first, more = parts(blobs.known, 110)
    warm = fitted_to(110)
    warm.partial_fit(constraints=more).partial_fit(constraints=first, replace=True)
    assert_equal(warm, fitted_to(110))
    assert warm.result_.constraints == first


def test_a_call_without_new_answers_changes_nothing(blobs, fitted_to):
    warm = fitted_to(110)
    before = warm.result_
    for given in (None, Constraints(60)):
        assert warm.partial_fit(constraints=given).result_ is before
    assert warm.partial_fit(blobs.X).result_ is before


def test_the_first_call_is_a_fit(blobs):
    assert_equal(model().partial_fit(blobs.X, constraints=blobs.known), blobs.model)


def test_answers_may_come_after_a_fit_without_any(blobs):
    warm = model().fit(blobs.X).partial_fit(constraints=blobs.known)
    assert_equal(warm, blobs.model)


@pytest.mark.slow
def test_ids_and_annotators_are_merged_by_name(blobs):
    ids = [f"row {at}" for at in range(60)]
    first = named(blobs.known, "ann").with_ids(ids)
    more = Constraints.from_pairs(must_link=[("row 0", "row 1")], ids=ids)
    more = named(more, "ben")
    warm = model().fit(blobs.X, constraints=first).partial_fit(constraints=more)
    assert warm.confusion_.annotators_ == ("ann", "ben")
    assert "row 1" in str(warm.explain("row 0", "row 1"))


def test_other_rows_parameters_and_answers_are_refused(blobs, fitted_to):
    warm = fitted_to(110)
    before = warm.result_
    with pytest.raises(InvalidDataError, match="other rows"):
        warm.partial_fit(blobs.X[::-1])
    with pytest.raises(InvalidDataError, match="other rows"):
        warm.partial_fit(np.tile(blobs.X, (2, 1)))
    with pytest.raises(InvalidConstraintsError):
        warm.partial_fit(constraints=Constraints(61))
    with pytest.raises(InvalidArgumentError):
        warm.partial_fit(blobs.X, blobs.known)
    with pytest.raises(InvalidParameterError, match=r"n_clusters=4.*partial_fit continues a fit"):
        warm.set_params(n_clusters=4).partial_fit(constraints=blobs.known)
    assert warm.result_ is before


def test_a_result_cannot_be_changed(blobs):
    result = blobs.model.result_
    for array in (result.labels, result.probabilities, result.answer_posterior.pairs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(FrozenInstanceError):
        result.labels = None
    assert result.labels is blobs.model.labels_
    assert result.constraints == blobs.known


@pytest.mark.slow
def test_a_result_outlives_further_fits(blobs, fitted_to):
    _, more = parts(blobs.known, 60)
    warm = fitted_to(60)
    before = warm.result_
    labels, weights = before.labels.copy(), dict(before.weights)
    warm.partial_fit(constraints=more)
    assert warm.result_ is not before
    np.testing.assert_array_equal(before.labels, labels)
    assert before.weights == weights


def test_a_failed_call_leaves_the_last_result(blobs, fitted_to):
    def give_up(done, n_steps):
        raise RuntimeError

    _, more = parts(blobs.known, 60)
    warm = fitted_to(60)
    before = warm.result_
    with pytest.raises(RuntimeError):
        warm.partial_fit(constraints=more, callback=give_up)
    assert warm.result_ is before
    assert_equal(warm.partial_fit(constraints=more), blobs.model)


@pytest.mark.slow
def test_partial_fit_continues_a_saved_model(blobs, fitted_to):
    _, more = parts(blobs.known, 110)
    loaded = pickle.loads(pickle.dumps(fitted_to(110)))
    loaded.partial_fit(constraints=more)
    assert_equal(loaded, blobs.model)
    again = Constraints.from_labels(blobs.y, 60, random_state=3)
    twice = [pickle.loads(pickle.dumps(loaded)), loaded]
    assert_equal(*(one.partial_fit(constraints=again, refit=False) for one in twice))


@pytest.mark.slow
def test_a_thread_that_reads_sees_one_fit_at_a_time(blobs, fitted_to):
    _, more = parts(blobs.known, 110)
    warm, stop, faults, seen = fitted_to(110), Event(), [], set()

    def read():
        while not stop.is_set():
            result = warm.result_
            n = len(result.constraints.pairs)
            seen.add(n)
            if n != len(result.answer_posterior.pairs):
                faults.append("doubts")
            if result.n_violated != n_violated(result.labels, result.constraints):
                faults.append("violated")
            warm.summary()
            sleep(0.005)  # leaves the interpreter to the thread that fits

    reader = Thread(target=read)
    reader.start()
    try:
        for at in range(3):
            one = more.select(pairs=np.arange(10) == at)
            warm.partial_fit(constraints=one)
    finally:
        stop.set()
        reader.join()
    assert not faults
    assert len(seen) > 1


@pytest.mark.slow
def test_models_fitted_at_once_equal_models_fitted_in_turn(blobs, fitted_to):
    first, more = parts(blobs.known, 110)
    models = [fitted_to(110), model(4).fit(blobs.X, constraints=first)]
    expected = [fitted_to(110), pickle.loads(pickle.dumps(models[1]))]
    threads = [Thread(target=one.partial_fit, kwargs={"constraints": more}) for one in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(models, expected, strict=True):
        assert_equal(one, other.partial_fit(constraints=more))


@pytest.mark.slow
def test_a_pool_of_ones_own_is_kept_too(blobs, n_fits):
    pool = [("ward", AgglomerativeClustering(3)), ("pairs", PCKMeans(3))]
    first, more = parts(blobs.known, 110)
    warm = model(pool=pool).fit(blobs.X, constraints=first)
    n_fits.clear()
    warm.partial_fit(constraints=more, refit=False)
    assert n_fits == []
    warm.partial_fit()
    assert_equal(warm, model(pool=pool).fit(blobs.X, constraints=blobs.known))
